//! Questions to the client in a session: elicitation, sampling and roots as requests of the server.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, fail, skip};
use crate::checks::must;
use crate::client::Client;
use crate::profile::Ask;
use crate::revision::{LEGACY, MIDDLE, ONLY_2025_11, Revision};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-201", LEGACY, "A client that declared it is asked, and its answer is used.", asks),
    must("S-201", LEGACY, "A client that did not declare it is not asked.", asks_no_stranger),
    must("S-196", MIDDLE, "Declining, cancelling and failing to answer end the call.", takes_a_no),
    must(
        "S-196",
        LEGACY,
        "An answer that makes no sense does not hang the call.",
        survives_nonsense,
    ),
    must("S-192", MIDDLE, "Forms are flat objects of simple fields.", forms_are_flat),
    must("S-191", ONLY_2025_11, "`elicitation: {}` means forms only.", asks_by_form),
    must("S-037", LEGACY, "A call cancelled while it asks is not answered.", cancel_while_asking),
];

/// The questions of the profile that this revision has.
pub(super) fn askable(ctx: &Ctx<'_>) -> Result<Vec<Ask>, Outcome> {
    let has =
        |ask: &&Ask| ask.method != "elicitation/create" || ctx.revision >= Revision::V2025_06_18;
    let asks: Vec<Ask> = ctx.profile()?.asks.iter().filter(has).cloned().collect();
    if asks.is_empty() {
        Err(skip("the profile has no `asks` for this revision"))
    } else {
        Ok(asks)
    }
}

fn elicitations(ctx: &Ctx<'_>) -> Result<Vec<Ask>, Outcome> {
    let mut asks = askable(ctx)?;
    asks.retain(|ask| ask.method == "elicitation/create");
    if asks.is_empty() { Err(skip("the profile has no elicitation")) } else { Ok(asks) }
}

/// A session of its own whose client declares and answers as told.
pub(super) fn session(
    ctx: &Ctx<'_>,
    ask: &Ask,
    declared: Value,
    answer: Value,
) -> Result<Client, Outcome> {
    let mut client = ctx.unopened()?;
    client.script(&ask.method, answer);
    client.open_with(declared)?;
    Ok(client)
}

/// The question the server put, and what the call came to.
pub(super) fn call(client: &mut Client, ask: &Ask) -> Result<(Option<Value>, Value), Outcome> {
    let answer = client.call("tools/call", ask.call.params())?;
    let question = client.take(|message| message["method"] == ask.method.as_str());
    Ok((question, answer))
}

fn asks(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let answer = json!({"result": ask.answer});
        let mut client = session(ctx, &ask, ask.capabilities.clone(), answer)?;
        let (question, answer) = call(&mut client, &ask)?;
        ensure(question.is_some(), || format!("{} was not asked", ask.method))?;
        let text = answer["result"]["content"].to_string();
        let used = answer["result"]["isError"] != true && text.contains(&ask.expect);
        ensure(used, || format!("answered {}, the call came to {answer}", ask.answer))?;
    }
    Ok(())
}

fn asks_no_stranger(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let mut client = session(ctx, &ask, json!({}), json!({"result": ask.answer}))?;
        let (question, answer) = call(&mut client, &ask)?;
        ensure(question.is_none(), || format!("{question:?} without the capability"))?;
        let refused = answer["result"]["isError"] == true || answer.get("error").is_some();
        ensure(refused, || format!("without the capability the call came to {answer}"))?;
    }
    Ok(())
}

fn takes_a_no(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in elicitations(ctx)? {
        let error = json!({"error": {"code": -1, "message": "rejected"}});
        for no in [
            json!({"result": {"action": "decline"}}),
            json!({"result": {"action": "cancel"}}),
            error,
        ] {
            let mut client = session(ctx, &ask, ask.capabilities.clone(), no)?;
            call(&mut client, &ask)?;
            client.barrier()?;
        }
    }
    Ok(())
}

fn survives_nonsense(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        for nonsense in [json!({"result": {}}), json!({"result": {"action": 5, "content": []}})] {
            let mut client = session(ctx, &ask, ask.capabilities.clone(), nonsense)?;
            call(&mut client, &ask)?;
            client.barrier()?;
        }
    }
    Ok(())
}

fn forms_are_flat(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in elicitations(ctx)? {
        let answer = json!({"result": {"action": "cancel"}});
        let mut client = session(ctx, &ask, ask.capabilities.clone(), answer)?;
        let (question, _) = call(&mut client, &ask)?;
        let question = question.ok_or_else(|| fail("nothing was asked"))?;
        flat(&question["params"], ctx.revision)?;
    }
    Ok(())
}

/// What a form may hold in this revision.
pub(super) fn flat(params: &Value, revision: Revision) -> Verdict {
    let schema = &params["requestedSchema"];
    ensure(schema["type"] == "object", || format!("the form is {schema}"))?;
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let kind = field["type"].as_str().unwrap_or_default();
        let is_list = kind == "array" && revision >= Revision::V2025_11_25;
        let simple = ["string", "number", "integer", "boolean"].contains(&kind) || is_list;
        let nested = field.get("properties").is_some() || field.get("pattern").is_some();
        ensure(simple && !nested, || format!("the field {name} is {field}"))?;
    }
    Ok(())
}

fn asks_by_form(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in elicitations(ctx)? {
        let answer = json!({"result": {"action": "cancel"}});
        let mut client = session(ctx, &ask, json!({"elicitation": {}}), answer)?;
        let (question, _) = call(&mut client, &ask)?;
        let mode = question.unwrap_or_default()["params"]["mode"].take();
        ensure(mode != "url", || "a URL was sent to a client of forms".to_owned())?;
    }
    Ok(())
}

fn cancel_while_asking(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in askable(ctx)? {
        let mut client = session(ctx, &ask, ask.capabilities.clone(), Value::Null)?;
        let id = client.request("tools/call", ask.call.params());
        let question = client.wait_for("the question", |m| m["method"] == ask.method.as_str())?;
        client.notify("notifications/cancelled", json!({"requestId": id}));
        client.barrier()?;
        client.linger();
        let inbox = client.take_inbox();
        let answered = inbox.iter().find(|message| message["id"] == id);
        ensure(answered.is_none(), || format!("cancelled, and yet {answered:?}"))?;
        // If the server takes its question back, it is its own question.
        let taken_back = inbox.iter().filter(|m| m["method"] == "notifications/cancelled");
        for notice in taken_back {
            let named = &notice["params"]["requestId"];
            ensure(*named == question["id"], || format!("{notice} after {question}"))?;
        }
    }
    Ok(())
}
