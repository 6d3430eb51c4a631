//! Tasks of 2026-07-28, the extension `io.modelcontextprotocol/tasks`: the server decides which call
//! becomes one, for clients that say with each request that they can take it.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::http_raw::Raw;
use crate::checks::tasks::{EXTENSION, about, are_unguessable, is_dated, told, told_tasks};
use crate::checks::tasks::{until, watch_until};
use crate::checks::{must, observed, should};
use crate::client::Client;
use crate::profile::{Ask, TaskCalls, ToolCall};
use crate::revision::{CLIENT_CAPABILITIES, MODERN, SUBSCRIPTION_ID};
use crate::transport::Transport;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) const CHECKS: &[Check] = &[
    must("S-220", MODERN, "Who declares no tasks is given none.", gives_no_stranger),
    must("S-220", MODERN, "A tool that needs a task needs a client that takes one.", needs_client),
    must("S-221", MODERN, "A call that becomes a task is answered by it, whole.", is_whole),
    observed(Level::Must, "S-221", MODERN, "Only what begins a task is answered by one."),
    must("S-222", MODERN, "A task can be asked for as soon as it is known.", is_durable),
    must("S-223", MODERN, "A task shows what belongs to its status.", shows_its_status),
    must("S-223", MODERN, "A task shows its questions, and takes their answers.", asks),
    must("S-223", MODERN, "A stream that listens to a task is told its end.", tells_listeners),
    must("S-224", MODERN, "A question answered does not come back.", asks_under_new_keys),
    must("S-225", MODERN, "Updates and cancellations are acknowledged by no more.", acknowledges),
    must("S-226", MODERN, "A task fails by an error, not by what its tool reports.", fails_rightly),
    must("S-227", MODERN, "Who declares no tasks may not ask for any.", answers_no_stranger),
    must("S-227", MODERN, "Who offers no tasks has no methods for them.", has_no_methods),
    must("S-228", MODERN, "An unknown task is an invalid parameter.", refuses_unknown),
    must("S-228", MODERN, "The header must name the task.", compares_names).over(Transport::Http),
    must("S-229", MODERN, "The ids of tasks cannot be guessed.", has_secret_ids),
    should("S-229", MODERN, "What is asked first is asked before there is a task.", asks_first),
];

/// The calls of the profile, where the server declares the extension.
fn tasks<'a>(ctx: &mut Ctx<'a>) -> Result<&'a TaskCalls, Outcome> {
    if !offers(ctx)? {
        return Err(skip("the extension for tasks is not declared"));
    }
    told_tasks(ctx)
}

fn offers(ctx: &mut Ctx<'_>) -> Result<bool, Outcome> {
    Ok(ctx.capabilities()?["extensions"].get(EXTENSION).is_some())
}

/// The parameters of a client that takes tasks, and has these capabilities besides.
fn declaring(mut params: Value, capabilities: &Value) -> Value {
    let mut capabilities = capabilities.clone();
    capabilities["extensions"] = json!({ EXTENSION: {} });
    params["_meta"] = json!({ CLIENT_CAPABILITIES: capabilities });
    params
}

fn plainly(params: Value) -> Value {
    declaring(params, &json!({}))
}

/// A request about a task by a client that takes some.
fn of(task: &Value) -> Value {
    plainly(about(task))
}

fn begin_with(client: &mut Client, params: Value) -> Result<Value, Outcome> {
    let result = client.result("tools/call", params)?;
    if result["resultType"] == "task" {
        return Ok(result);
    }
    Err(skip(format!("the server makes no task of the call: {result}")))
}

fn begin(client: &mut Client, call: &ToolCall) -> Result<Value, Outcome> {
    begin_with(client, plainly(call.params()))
}

fn gives_no_stranger(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let answer = ctx.client()?.call("tools/call", brief.params())?;
    let is_fine = answer["result"]["resultType"] == "complete" || answer["error"]["code"] == -32021;
    ensure(is_fine, || format!("a client that takes no tasks was answered {answer}"))
}

fn needs_client(ctx: &mut Ctx<'_>) -> Verdict {
    let required = told(&tasks(ctx)?.required, "required")?;
    let client = ctx.client()?;
    let error = client.refusal("tools/call", required.params(), &[-32021])?;
    let named = error["data"]["requiredCapabilities"]["extensions"].get(EXTENSION).is_some();
    ensure(named, || format!("the extension is not named: {error}"))
}

fn is_whole(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let client = ctx.client()?;
    let task = begin(client, endless)?;
    is_dated(&task, "ttlMs")?;
    let now = client.result("tasks/get", of(&task))?;
    is_dated(&now, "ttlMs")?;
    ensure(now["resultType"] == "complete", || format!("asked for, the task is {now}"))?;
    client.result("tasks/cancel", of(&task)).map(drop)
}

fn is_durable(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    for _ in 0..5 {
        let task = begin(client, brief)?;
        let now = client.result("tasks/get", of(&task))?;
        ensure(now["taskId"] == task["taskId"], || format!("asked for {task}: {now}"))?;
    }
    Ok(())
}

/// Whether a task has what belongs to its status, and nothing else.
fn fits(task: &Value) -> Verdict {
    let due = match task["status"].as_str() {
        Some("completed") => Some("result"),
        Some("failed") => Some("error"),
        Some("input_required") => Some("inputRequests"),
        _ => None,
    };
    let parts = ["result", "error", "inputRequests"];
    let holds = parts.iter().all(|part| task[part].is_object() == (due == Some(part)));
    ensure(holds, || format!("its status does not fit what it has: {task}"))
}

fn shows_its_status(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    for call in [&calls.brief, &calls.failing, &calls.breaking].into_iter().flatten() {
        let task = begin(client, call)?;
        watch_until(client, &of(&task), |_| false)?.iter().try_for_each(fits)?;
    }
    Ok(())
}

/// The task's open questions, once it has some.
fn questions(client: &mut Client, task: &Value) -> Result<Vec<(String, Value)>, Outcome> {
    let waiting = until(client, &of(task), "input_required")?;
    fits(&waiting)?;
    let requests = waiting["inputRequests"].as_object().cloned().unwrap_or_default();
    ensure(!requests.is_empty(), || format!("nothing is asked: {waiting}"))?;
    Ok(requests.into_iter().collect())
}

fn update(client: &mut Client, task: &Value, responses: Value) -> Result<Value, Outcome> {
    let mut params = of(task);
    params["inputResponses"] = responses;
    client.result("tasks/update", params)
}

fn begin_asking(client: &mut Client, ask: &Ask) -> Result<Value, Outcome> {
    begin_with(client, declaring(ask.call.params(), &ask.capabilities))
}

fn asks(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = told(&tasks(ctx)?.asks, "asks")?;
    let client = ctx.client()?;
    let task = begin_asking(client, ask)?;
    let questions = questions(client, &task)?;
    for (key, question) in &questions {
        let known = question["method"] == ask.method.as_str() && question.get("id").is_none();
        ensure(known, || format!("instead of {} under {key}: {question}", ask.method))?;
    }
    // What nobody asked for changes nothing.
    update(client, &task, json!({"nobody-asked": ask.answer}))?;
    until(client, &of(&task), "input_required")?;
    let answers: Value = questions.into_iter().map(|(key, _)| (key, ask.answer.clone())).collect();
    update(client, &task, answers)?;
    let done = watch_until(client, &of(&task), |now| now["status"] == "completed")?;
    let done = done.last().cloned().unwrap_or_default();
    let used = done["result"]["content"].to_string().contains(&ask.expect);
    ensure(used, || format!("answered {}, the task came to {done}", ask.answer))
}

fn tells_listeners(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let mut client = ctx.fresh()?;
    let (task, other) = (begin(&mut client, endless)?, begin(&mut client, endless)?);
    let filter = json!({"notifications": {"taskIds": [task["taskId"]]}});
    let id = client.request("subscriptions/listen", plainly(filter));
    let about_it =
        |message: &Value| message["params"]["_meta"][SUBSCRIPTION_ID] == id || message["id"] == id;
    let first = client.wait_for("an acknowledgement", about_it)?;
    if first["params"]["notifications"]["taskIds"].is_null() {
        return Err(skip("the server's streams do not tell of tasks"));
    }
    for task in [&other, &task] {
        client.result("tasks/cancel", of(task))?;
    }
    let told = client.wait_for("word of the task", about_it)?;
    let params = &told["params"];
    let is_it = told["method"] == "notifications/tasks" && params["taskId"] == task["taskId"];
    ensure(is_it && params["status"] == "cancelled", || format!("the stream says {told}"))?;
    is_dated(params, "ttlMs")?;
    fits(params)
}

fn asks_under_new_keys(ctx: &mut Ctx<'_>) -> Verdict {
    /// More questions than any call of a profile asks.
    const MOST: usize = 20;
    let ask = told(&tasks(ctx)?.asks_twice, "asks_twice")?;
    let client = ctx.client()?;
    let task = begin_asking(client, ask)?;
    let mut answered = BTreeSet::new();
    for _ in 0..MOST {
        let asks_or_ends = |now: &Value| now["status"] == "input_required";
        let seen = watch_until(client, &of(&task), asks_or_ends)?;
        let now = seen.last().cloned().unwrap_or_default();
        let Some(open) = now["inputRequests"].as_object() else {
            let enough = answered.len() >= 2 && now["status"] == "completed";
            return ensure(enough, || format!("after {answered:?} the task is {now}"));
        };
        let again = open.keys().find(|key| answered.contains(*key));
        ensure(again.is_none(), || format!("{again:?} was answered and is there again: {now}"))?;
        // One at a time: the others stay open under their keys.
        let key = open.keys().next().ok_or_else(|| fail(format!("nothing is asked: {now}")))?;
        update(client, &task, json!({ key.clone(): ask.answer }))?;
        answered.insert(key.clone());
    }
    Err(fail(format!("the task asks on and on: {answered:?}")))
}

fn acknowledges(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let client = ctx.client()?;
    let task = begin(client, endless)?;
    let updated = update(client, &task, json!({}))?;
    let cancelled = client.result("tasks/cancel", of(&task))?;
    let again = client.result("tasks/cancel", of(&task))?;
    for result in [updated, cancelled, again] {
        let mut members = result.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let is_empty = members.all(|name| ["resultType", "_meta"].contains(&name));
        ensure(is_empty, || format!("acknowledged by {result}"))?;
    }
    Ok(())
}

fn fails_rightly(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    let failing = told(&calls.failing, "failing")?;
    let task = begin(client, failing)?;
    let reported = until(client, &of(&task), "completed")?;
    ensure(reported["result"]["isError"] == true, || format!("the tool reports {reported}"))?;
    let breaking = told(&calls.breaking, "breaking")?;
    let task = begin(client, breaking)?;
    let failed = until(client, &of(&task), "failed")?;
    let has_error = failed["error"]["code"].is_i64() && failed["error"]["message"].is_string();
    ensure(has_error && failed.get("result").is_none(), || format!("the request failed: {failed}"))
}

fn answers_no_stranger(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let client = ctx.client()?;
    let task = begin(client, endless)?;
    let mut answers = about(&task);
    answers["inputResponses"] = json!({});
    client.refusal("tasks/get", about(&task), &[-32021])?;
    client.refusal("tasks/update", answers, &[-32021])?;
    client.refusal("tasks/cancel", about(&task), &[-32021])?;
    let filter = json!({"notifications": {"taskIds": [task["taskId"]]}});
    client.refusal("subscriptions/listen", filter, &[-32021])?;
    client.result("tasks/cancel", of(&task)).map(drop)
}

fn has_no_methods(ctx: &mut Ctx<'_>) -> Verdict {
    if offers(ctx)? {
        return Err(skip("the extension for tasks is declared"));
    }
    let client = ctx.client()?;
    let unknown = json!({"taskId": "no-such-task"});
    client.refusal("tasks/get", plainly(unknown.clone()), &[-32601])?;
    client.refusal("tasks/cancel", plainly(unknown.clone()), &[-32601])?;
    let update = json!({"taskId": "no-such-task", "inputResponses": {}});
    client.refusal("tasks/update", plainly(update), &[-32601]).map(drop)
}

fn refuses_unknown(ctx: &mut Ctx<'_>) -> Verdict {
    if !offers(ctx)? {
        return Err(skip("the extension for tasks is not declared"));
    }
    let unknown = plainly(json!({"taskId": "no-such-task"}));
    ctx.client()?.refusal("tasks/get", unknown, &[-32602]).map(drop)
}

fn compares_names(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let task = begin(ctx.client()?, endless)?;
    let raw = Raw::open(ctx)?;
    let ask = raw.request(ctx, 2, "tasks/get", of(&task));
    let others = [ask.clone().without("mcp-name"), ask.with("mcp-name", "another")];
    for ask in others {
        let reply = ctx.http(&ask)?;
        let status = reply.status();
        let answer = reply.message()?;
        ensure(status == 400 && answer["error"]["code"] == -32020, || {
            format!("a header that does not name the task is answered {status} {answer}")
        })?;
    }
    ctx.client()?.result("tasks/cancel", of(&task)).map(drop)
}

fn has_secret_ids(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    let (first, second) = (begin(client, brief)?, begin(client, brief)?);
    let (first, second) = (&first["taskId"], &second["taskId"]);
    ensure(are_unguessable(first, second), || format!("after {first} comes {second}"))
}

fn asks_first(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = told(&tasks(ctx)?.asks_first, "asks_first")?;
    let client = ctx.client()?;
    let params = declaring(ask.call.params(), &ask.capabilities);
    let asked = client.result("tools/call", params.clone())?;
    let requests = asked["inputRequests"].as_object().cloned().unwrap_or_default();
    ensure(asked["resultType"] == "input_required" && !requests.is_empty(), || {
        format!("instead of asking, the call came to {asked}")
    })?;
    let mut retry = params;
    retry["inputResponses"] =
        requests.into_iter().map(|(key, _)| (key, ask.answer.clone())).collect();
    if let Some(state) = asked.get("requestState") {
        retry["requestState"] = state.clone();
    }
    let task = begin_with(client, retry)?;
    let done = until(client, &of(&task), "completed")?;
    let used = done["result"]["content"].to_string().contains(&ask.expect);
    ensure(used, || format!("answered {}, the task came to {done}", ask.answer))
}
