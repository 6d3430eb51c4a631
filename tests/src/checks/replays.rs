//! Questions to the client in 2026-07-28: `input_required` results, and the retries that answer
//! them, to the same process or to another.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, fail, skip};
use crate::checks::asks::{askable, flat};
use crate::checks::secret::SecretFile;
use crate::checks::{must, should};
use crate::client::Client;
use crate::profile::{Ask, told};
use crate::revision::{CLIENT_CAPABILITIES, MODERN};
use serde_json::{Value, json};

/// The key the one question of a call goes under is the server's choice.
pub(super) type Key = String;

const KEYS: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
const QUESTIONS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

pub(super) const CHECKS: &[Check] = &[
    must("S-180", MODERN, "A call that asks is answered by an `input_required` result.", asks),
    must("S-180", MODERN, "The retry with the answers completes the call.", completes),
    must("S-181", MODERN, "Lists and completion ask nothing.", lists_ask_nothing),
    must("S-182", MODERN, "It has `inputRequests`, `requestState` or both.", has_substance),
    must("S-183", MODERN, "Only elicitation, sampling and roots are asked for.", asks_known_kinds),
    must("S-184", MODERN, "A client is asked only for what this request declared.", no_stranger),
    must("S-192", MODERN, "Forms are flat objects of simple fields.", forms_are_flat),
    must("S-185", MODERN, "A state that was tampered with is refused.", refuses_tampered),
    must("S-185", MODERN, "A state is refused for other arguments.", refuses_other_arguments),
    must("S-185", MODERN, "A state is refused for another tool.", refuses_other_tool),
    must("S-196", MODERN, "Declining and cancelling end the call.", takes_a_no),
    must("S-186", MODERN, "An answer that counts once is refused the second time.", counts_once),
    should("S-188", MODERN, "Answers nobody asked for are ignored.", ignores_extra),
    should("S-188", MODERN, "A question whose answer is missing is asked again.", asks_again),
    should(
        "S-188",
        MODERN,
        "An answer of the wrong type is refused or asked for again.",
        checks_type,
    ),
    must("S-189", MODERN, "Another process with the same keys goes on.", another_goes_on),
];

pub(super) fn params(ask: &Ask) -> Value {
    let mut params = ask.call.params();
    params["_meta"] = json!({ CLIENT_CAPABILITIES: ask.capabilities });
    params
}

/// The result that asks, and the key of its question.
pub(super) fn asked(client: &mut Client, ask: &Ask) -> Result<(Value, Key), Outcome> {
    let result = client.result("tools/call", params(ask))?;
    let requests = result["inputRequests"].as_object();
    let found = requests
        .into_iter()
        .flatten()
        .find(|(_, request)| request["method"] == ask.method.as_str())
        .map(|(key, _)| key.clone());
    match found {
        Some(key) if result["resultType"] == "input_required" => Ok((result, key)),
        _ => Err(fail(format!("instead of asking: {result}"))),
    }
}

/// The retry: the same call with answers and whatever state there was.
pub(super) fn retry(ask: &Ask, asked: &Value, responses: Value) -> Value {
    let mut params = params(ask);
    params["inputResponses"] = responses;
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    params
}

pub(super) fn is_completed(answer: &Value, ask: &Ask) -> bool {
    answer["result"]["resultType"] == "complete"
        && answer["result"]["content"].to_string().contains(&ask.expect)
}

fn asks(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        asked(ctx.client()?, &ask)?;
    }
    Ok(())
}

fn completes(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        let answer = client.call("tools/call", retry(&ask, &result, json!({ key: ask.answer })))?;
        ensure(is_completed(&answer, &ask), || format!("the retry came to {answer}"))?;
    }
    Ok(())
}

fn lists_ask_nothing(ctx: &mut Ctx<'_>) -> Verdict {
    askable(ctx)?;
    for method in ["tools/list", "prompts/list", "resources/list"] {
        let answer = ctx.client()?.call(method, json!({}))?;
        let asks = answer["result"]["resultType"] == "input_required";
        ensure(!asks, || format!("{method} asks: {answer}"))?;
    }
    Ok(())
}

fn has_substance(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let result = ctx.client()?.result("tools/call", params(&ask))?;
        let some = ["inputRequests", "requestState"].iter().any(|key| result.get(key).is_some());
        ensure(some, || format!("{result}"))?;
    }
    Ok(())
}

fn asks_known_kinds(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let (result, _) = asked(ctx.client()?, &ask)?;
        for (key, request) in result["inputRequests"].as_object().into_iter().flatten() {
            let known = request["method"].as_str().is_some_and(|m| QUESTIONS.contains(&m));
            let bare = request.get("id").is_none() && request.get("jsonrpc").is_none();
            ensure(known && bare, || format!("{key}: {request}"))?;
        }
    }
    Ok(())
}

fn no_stranger(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let answer = ctx.client()?.call("tools/call", ask.call.params())?;
        let asks = answer["result"]["resultType"] == "input_required";
        ensure(!asks, || format!("asked for what was not declared: {answer}"))?;
        let error = &answer["error"];
        let named = error["code"] != -32021 || error["data"]["requiredCapabilities"].is_object();
        ensure(named, || format!("the capabilities are not named in an object: {answer}"))?;
    }
    Ok(())
}

fn forms_are_flat(ctx: &mut Ctx<'_>) -> Verdict {
    let mut seen = false;
    for ask in askable(ctx)?.iter().filter(|ask| ask.method == "elicitation/create") {
        let (result, key) = asked(ctx.client()?, ask)?;
        flat(&result["inputRequests"][key]["params"], ctx.revision)?;
        seen = true;
    }
    if seen { Ok(()) } else { Err(skip("the profile has no elicitation")) }
}

/// The text of the state, or the reason why nothing can be done to it.
pub(super) fn state(result: &Value) -> Result<&str, Outcome> {
    result["requestState"].as_str().ok_or_else(|| skip("the server sends no `requestState`"))
}

fn refuses_tampered(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        let state = state(&result)?;
        let middle = state.len() / 2;
        let flip = if state.as_bytes().get(middle) == Some(&b'A') { "B" } else { "A" };
        let head = state.get(..middle).unwrap_or_default();
        let tail = state.get(middle + 1..).unwrap_or_default();
        for wrong in [format!("{state}-TAMPERED"), head.to_owned(), format!("{head}{flip}{tail}")] {
            let mut params = retry(&ask, &result, json!({ key.clone(): ask.answer }));
            params["requestState"] = json!(wrong);
            client.refusal("tools/call", params, &[-32602, -32600])?;
        }
    }
    Ok(())
}

fn counts_once(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = told(&ctx.profile()?.single_use, "single_use")?;
    let client = ctx.client()?;
    let (result, key) = asked(client, ask)?;
    state(&result)?;
    let again = retry(ask, &result, json!({ key: ask.answer }));
    let answer = client.call("tools/call", again.clone())?;
    ensure(is_completed(&answer, ask), || format!("the retry came to {answer}"))?;
    client.refusal("tools/call", again, &[-32602, -32600]).map(drop)
}

fn refuses_other_arguments(ctx: &mut Ctx<'_>) -> Verdict {
    // Where there are none, there are no others.
    let has_some = |ask: &Ask| ask.call.arguments.as_object().is_some_and(|all| !all.is_empty());
    for ask in askable(ctx)?.into_iter().filter(has_some) {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        state(&result)?;
        let mut params = retry(&ask, &result, json!({ key: ask.answer }));
        let arguments = params["arguments"].as_object_mut().into_iter().flatten();
        // The same kind of value, and another one.
        for (_, value) in arguments.take(1) {
            *value = value.as_u64().map_or(json!("another"), |number| json!(number + 1));
        }
        client.refusal("tools/call", params, &[-32602, -32600])?;
    }
    Ok(())
}

fn refuses_other_tool(ctx: &mut Ctx<'_>) -> Verdict {
    let asks = askable(ctx)?;
    let [first, second, ..] = asks.as_slice() else {
        return Err(skip("the profile has only one tool that asks"));
    };
    let client = ctx.client()?;
    let (result, key) = asked(client, first)?;
    state(&result)?;
    let params = retry(second, &result, json!({ key: second.answer }));
    client.refusal("tools/call", params, &[-32602, -32600]).map(drop)
}

fn takes_a_no(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)?.iter().filter(|ask| ask.method == "elicitation/create") {
        for action in ["decline", "cancel"] {
            let client = ctx.client()?;
            let (result, key) = asked(client, ask)?;
            let params = retry(ask, &result, json!({ key: {"action": action} }));
            let result = client.result("tools/call", params)?;
            ensure(result["resultType"] == "complete", || format!("{action}: {result}"))?;
        }
    }
    Ok(())
}

fn ignores_extra(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        let responses = json!({ key: ask.answer, "nobody-asked": {"action": "decline"} });
        let answer = client.call("tools/call", retry(&ask, &result, responses))?;
        ensure(is_completed(&answer, &ask), || format!("the retry came to {answer}"))?;
    }
    Ok(())
}

fn asks_again(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        let answer = client.call("tools/call", retry(&ask, &result, json!({})))?;
        let again = answer["result"]["inputRequests"].get(&key).is_some();
        ensure(again, || format!("without an answer the retry came to {answer}"))?;
    }
    Ok(())
}

fn checks_type(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        let answer = client.call_oddly("tools/call", retry(&ask, &result, json!({ key: 5 })))?;
        let asked_again = answer["result"]["resultType"] == "input_required";
        let refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        ensure(asked_again || refused, || format!("the number 5 came to {answer}"))?;
    }
    Ok(())
}

fn another_goes_on(ctx: &mut Ctx<'_>) -> Verdict {
    let Some(flag) = ctx.profile()?.state_key_flag.clone() else {
        return Err(skip("the profile has no `state_key_flag`"));
    };
    let keys = SecretFile::write(KEYS)?;
    let arguments = [flag, keys.path()];
    for ask in askable(ctx)? {
        let (result, key) = asked(&mut ctx.replica(&arguments)?, &ask)?;
        let params = retry(&ask, &result, json!({ key: ask.answer }));
        let answer = ctx.replica(&arguments)?.call("tools/call", params)?;
        ensure(is_completed(&answer, &ask), || format!("another process answered {answer}"))?;
    }
    Ok(())
}
