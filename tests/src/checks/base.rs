//! JSON-RPC itself: what a message is, ids, batches, codes, `_meta`.

use crate::check::{Check, Ctx, Level, Verdict, ensure, fail};
use crate::checks::{list, must, observed, should};
use crate::client::call;
use crate::revision::{ALL, LEGACY, MODERN, ONLY_2025_03, SINCE_2025_06, SINCE_2025_11};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-001", ALL, "Every message is JSON-RPC 2.0 in UTF-8."),
    must("S-002", ALL, "An answer has the id of its request, in value and type.", echoes_ids),
    observed(Level::Must, "S-002", ALL, "Every answer belongs to one request."),
    observed(Level::Must, "S-003", ALL, "An answer has a result or an error, well formed."),
    must("S-006", ALL, "Notifications are never answered.", notifications_stay_unanswered),
    observed(Level::Must, "S-007", ALL, "Notifications carry no id."),
    observed(Level::Must, "S-008", LEGACY, "The server's own requests have fresh, valid ids."),
    must("S-009", ONLY_2025_03, "Batches are served.", serves_batches),
    must(
        "S-010",
        ONLY_2025_03,
        "`initialize` inside a batch is refused.",
        refuses_batched_initialize,
    ),
    must("S-011", SINCE_2025_06, "Arrays are refused and not carried out.", refuses_arrays),
    must(
        "S-012",
        ALL,
        "Requests with an invalid id are refused, not carried out.",
        refuses_invalid_ids,
    ),
    observed(Level::Must, "S-013", MODERN, "Every result has `resultType`."),
    observed(Level::Must, "S-014", MODERN, "Only result types of the core come unasked."),
    observed(Level::Must, "S-015", MODERN, "Reserved error codes are used as defined."),
    observed(Level::Must, "S-016", MODERN, "Retired error codes are not used."),
    observed(
        Level::Must,
        "S-018",
        ALL,
        "`_meta` keys follow the grammar; reserved ones are known.",
    ),
    observed(Level::Must, "S-019", MODERN, "Trace context in `_meta` follows W3C."),
    must("S-020", SINCE_2025_11, "Own schemas are valid in their dialect.", schemas_are_valid),
    observed(Level::Must, "W-001", ALL, "Every message of the server fits the official schema."),
    observed(Level::Should, "W-002", ALL, "Every request of this engine fits the official schema."),
    should("S-012", ALL, "An invalid id is refused as an invalid request.", invalid_id_code),
];

fn echoes_ids(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    let long = "x".repeat(1000);
    let ids = [
        json!(0),
        json!(1),
        json!("1"),
        json!(""),
        json!("kebab-and/slash é 😀"),
        json!(long),
        json!(u64::from(u32::MAX) + 1),
        // The largest JSON is sure to keep; beyond them is P-010.
        json!(9_007_199_254_740_991_u64),
        json!(-9_007_199_254_740_991_i64),
    ];
    let method = client.revision.harmless_method();
    for id in &ids {
        client.request_as(id.clone(), method, Value::Null);
    }
    for id in &ids {
        let answer = client.answer(id)?;
        ensure(answer.get("result").is_some(), || format!("id {id} was answered {answer}"))?;
    }
    Ok(())
}

fn notifications_stay_unanswered(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    client.notify("notifications/cancelled", json!({"requestId": 424_242, "reason": "a test"}));
    let odd = [
        call(None, "notifications/unheard_of", None),
        call(None, "tools/list", None),
        call(None, "tools/call", Some(json!({"name": "no_such_tool"}))),
        call(None, "no/such", Some(json!({"_meta": {}}))),
        call(None, "initialize", Some(json!({}))),
    ];
    odd.iter().for_each(|message| client.send_odd(message));
    client.barrier()?;
    let answered = client.take_inbox().into_iter().find(|message| message.get("method").is_none());
    if let Some(message) = answered {
        return Err(fail(format!("a notification was answered {message}")));
    }
    // One that is no good message may be called so, without an id.
    client.send_odd(&call(None, "notifications/initialized", Some(json!([]))));
    client.barrier()?;
    let answers = client.take_inbox().into_iter().filter(|message| message.get("method").is_none());
    let odd = answers
        .into_iter()
        .find(|message| message.get("error").is_none() || !message["id"].is_null());
    ensure(odd.is_none(), || format!("a notification was answered {odd:?}"))
}

fn serves_batches(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    let (first, second) = (json!(client.reserve_id()), json!(client.reserve_id()));
    let batch = json!([
        call(Some(first.clone()), "ping", None),
        call(None, "notifications/unheard_of", None),
        call(Some(second.clone()), "ping", None),
    ]);
    client.send_odd(&batch);
    for id in [first, second] {
        let answer = client.answer(&id)?;
        ensure(answer["result"].is_object(), || format!("a ping was answered {answer}"))?;
    }
    client.barrier()
}

fn refuses_batched_initialize(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.unopened()?;
    let params = crate::revision::initialize_params("2025-03-26");
    client.send_odd(&json!([call(Some(json!(1)), "initialize", Some(params))]));
    let answer = client.wait_for("an error", |message| message.get("error").is_some());
    let answer = answer?;
    ensure(answer["error"]["code"] == -32600, || format!("answered {answer}"))?;
    // The connection must still be able to open properly.
    client.open()
}

fn refuses_arrays(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    let id = json!(client.reserve_id());
    let method = client.revision.harmless_method();
    let params = client.revision.envelope(Value::Null);
    client.send_odd(&json!([call(Some(id.clone()), method, params)]));
    let answer = client.wait_for("a refusal", |message| message.get("method").is_none())?;
    ensure(answer["error"]["code"] == -32600, || format!("an array was answered {answer}"))?;
    client.barrier()
}

fn refuses_invalid_ids(ctx: &mut Ctx<'_>) -> Verdict {
    let answers = answers_to_invalid_ids(ctx)?;
    match answers.into_iter().find(|answer| answer.get("error").is_none()) {
        Some(answer) => {
            Err(fail(format!("a request with an invalid id was carried out: {answer}")))
        }
        None => Ok(()),
    }
}

fn invalid_id_code(ctx: &mut Ctx<'_>) -> Verdict {
    let answers = answers_to_invalid_ids(ctx)?;
    ensure(answers.len() == 3, || format!("{} of 3 were answered", answers.len()))?;
    match answers.into_iter().find(|answer| answer["error"]["code"] != -32600) {
        Some(answer) => Err(fail(format!("answered {answer}"))),
        None => Ok(()),
    }
}

fn answers_to_invalid_ids(ctx: &mut Ctx<'_>) -> Result<Vec<Value>, crate::check::Outcome> {
    let client = ctx.client()?;
    let method = client.revision.harmless_method();
    for id in [Value::Null, json!(2.5), json!([])] {
        let params = client.revision.envelope(Value::Null);
        client.send_odd(&call(Some(id), method, params));
    }
    client.barrier()?;
    // An answer to a request of the engine that came late is none of these.
    let is_theirs = |message: &&Value| message.get("method").is_none() && !message["id"].is_u64();
    client.gather(|inbox| inbox.iter().filter(is_theirs).count() >= 3);
    Ok(client.take_inbox().into_iter().filter(|message| is_theirs(&message)).collect())
}

fn schemas_are_valid(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    for tool in list(ctx.client()?, "tools/list")? {
        for key in ["inputSchema", "outputSchema"] {
            let Some(schema) = tool.get(key) else {
                continue;
            };
            if let Err(error) = jsonschema::validator_for(schema) {
                return Err(fail(format!("the {key} of {} is invalid: {error}", tool["name"])));
            }
        }
    }
    Ok(())
}
