//! Retries in 2026-07-28 that are not the next one in turn: early, partial, elsewhere, or never.

use crate::check::{Check, Ctx, Verdict, ensure};
use crate::checks::asks::askable;
use crate::checks::replays::{asked, is_completed, params, retry, state};
use crate::checks::{must, should};
use crate::profile::{Asks, told};
use crate::revision::{CLIENT_CAPABILITIES, MODERN};
use serde_json::{Map, Value, json};

/// Questions left open before the server is asked whether it is still well.
const ABANDONED: usize = 1_000;

pub(super) const CHECKS: &[Check] = &[
    should(
        "S-185",
        MODERN,
        "A state is refused by another method.",
        refuses_state_of_another_method,
    ),
    must("S-187", MODERN, "Questions nobody comes back to harm nobody.", outlives_the_abandoned),
    should(
        "S-188",
        MODERN,
        "Answers without a state are taken, or asked for again.",
        takes_early_answers,
    ),
    should(
        "S-188",
        MODERN,
        "Of several questions an answer to one is kept.",
        keeps_partial_answers,
    ),
];

fn refuses_state_of_another_method(ctx: &mut Ctx<'_>) -> Verdict {
    let mut prompt = told(&ctx.profile()?.prompt, "prompt")?.params();
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (result, key) = asked(client, &ask)?;
        prompt["requestState"] = json!(state(&result)?);
        prompt["inputResponses"] = json!({ key: ask.answer });
        client.refusal("prompts/get", prompt.clone(), &[-32602, -32600])?;
    }
    Ok(())
}

fn outlives_the_abandoned(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let mut client = ctx.fresh()?;
        for _ in 0..ABANDONED {
            asked(&mut client, &ask)?;
        }
        let (result, key) = asked(&mut client, &ask)?;
        let answer = client.call("tools/call", retry(&ask, &result, json!({ key: ask.answer })))?;
        ensure(is_completed(&answer, &ask), || format!("after {ABANDONED} others: {answer}"))?;
    }
    Ok(())
}

fn takes_early_answers(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let client = ctx.client()?;
        let (_, key) = asked(client, &ask)?;
        let mut early = params(&ask);
        early["inputResponses"] = json!({ key.clone(): ask.answer });
        let answer = client.call("tools/call", early)?;
        let again = answer["result"]["inputRequests"].get(&key).is_some();
        ensure(again || is_completed(&answer, &ask), || format!("the answer came to {answer}"))?;
    }
    Ok(())
}

/// Answers one question a round. Whether what is known is asked for again is the server's choice,
/// as long as the call comes to its end.
fn keeps_partial_answers(ctx: &mut Ctx<'_>) -> Verdict {
    let asks = told(&ctx.profile()?.asks_together, "asks_together")?;
    let mut params = asks.call.params();
    params["_meta"] = json!({ CLIENT_CAPABILITIES: asks.capabilities });
    let client = ctx.client()?;
    let mut result = client.result("tools/call", params.clone())?;
    for round in 0..=asks.answers.len() {
        if result["resultType"] == "complete" {
            let is_used = result["content"].to_string().contains(&asks.expect);
            return ensure(is_used, || format!("it came to {result}"));
        }
        let open = open_questions(&result, asks);
        let expected = asks.answers.len().saturating_sub(round);
        ensure(open.len() == expected, || format!("{expected} are open in {result}"))?;
        params["inputResponses"] = open.into_iter().take(1).collect::<Map<_, _>>().into();
        params["requestState"] = result["requestState"].clone();
        result = client.result("tools/call", params.clone())?;
    }
    ensure(false, || format!("after an answer to each question: {result}"))
}

/// What is asked, with the answer it will get.
fn open_questions(result: &Value, asks: &Asks) -> Map<String, Value> {
    let requests = result["inputRequests"].as_object().into_iter().flatten();
    let answer = |request: &Value| asks.answers.get(request["method"].as_str()?).cloned();
    requests.filter_map(|(key, request)| Some((key.clone(), answer(request)?))).collect()
}
