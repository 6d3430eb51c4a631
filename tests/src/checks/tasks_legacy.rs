//! Tasks of 2025-11-25: the client asks for a task instead of an answer, and then for its result.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, fail, skip};
use crate::checks::asks::session;
use crate::checks::tasks::{about, are_unguessable, is_dated, is_terminal, told, told_tasks};
use crate::checks::tasks::{until, watch_until};
use crate::checks::{list, must};
use crate::client::Client;
use crate::profile::{self, TaskCalls, ToolCall};
use crate::revision::ONLY_2025_11;
use crate::transport::Transport;
use serde_json::{Value, json};

const RELATED: &str = "io.modelcontextprotocol/related-task";
const PROGRESS_TOKEN: &str = "of a task";

pub(super) const CHECKS: &[Check] = &[
    must("S-210", ONLY_2025_11, "Who declares no tasks ignores the wish for one.", ignores_wish),
    must("S-210", ONLY_2025_11, "Who declares no tasks has no methods for them.", has_no_methods),
    must("S-210", ONLY_2025_11, "Who declares tasks of calls begins them.", begins_tasks),
    must("S-211", ONLY_2025_11, "A task begins working, under an id of its own.", begins_working),
    must("S-211", ONLY_2025_11, "Its status changes as allowed, and never at the end.", moves_on),
    must("S-212", ONLY_2025_11, "A task says when it was made and how long it is kept.", dates),
    must("S-213", ONLY_2025_11, "The result is waited for.", waits_for_result),
    must("S-213", ONLY_2025_11, "The result is what the call had been answered.", keeps_results),
    must("S-214", ONLY_2025_11, "What belongs to a task names it.", names_the_task),
    must("S-214", ONLY_2025_11, "A question of a task names it, and can be answered.", asks),
    must("S-215", ONLY_2025_11, "A cancelled task is and stays so.", cancels),
    must("S-215", ONLY_2025_11, "What is over cannot be cancelled.", cancels_nothing_over),
    must("S-216", ONLY_2025_11, "Unknown tasks and cursors are invalid.", refuses_the_unknown),
    must("S-216", ONLY_2025_11, "What is listed can be asked for, and vice versa.", lists),
    must("S-217", ONLY_2025_11, "Another session finds no task, or has to guess.", is_private)
        .over(Transport::Http),
    must("S-218", ONLY_2025_11, "Progress goes on with the task and ends with it.", progresses),
];

/// The calls of the profile, where the server declares that calls can be tasks.
fn tasks<'a>(ctx: &mut Ctx<'a>) -> Result<&'a TaskCalls, Outcome> {
    ctx.need("tasks.requests.tools.call")?;
    told_tasks(ctx)
}

fn wish(call: &ToolCall) -> Value {
    let mut params = call.params();
    params["task"] = json!({"ttl": 60_000});
    params
}

fn begin_with(client: &mut Client, params: Value) -> Result<Value, Outcome> {
    let mut result = client.result("tools/call", params)?;
    ensure(result["task"]["taskId"].is_string(), || format!("no task but {result}"))?;
    Ok(result["task"].take())
}

fn begin(client: &mut Client, call: &ToolCall) -> Result<Value, Outcome> {
    begin_with(client, wish(call))
}

fn ignores_wish(ctx: &mut Ctx<'_>) -> Verdict {
    needs_none(ctx)?;
    let quick = profile::told(&ctx.profile()?.quick_call, "quick_call")?;
    let result = ctx.client()?.result("tools/call", wish(quick))?;
    let is_answer = result["content"].is_array() && result.get("task").is_none();
    ensure(is_answer, || format!("the call came to {result}"))
}

fn has_no_methods(ctx: &mut Ctx<'_>) -> Verdict {
    needs_none(ctx)?;
    let client = ctx.client()?;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        client.refusal(method, json!({"taskId": "no-such-task"}), &[-32601])?;
    }
    client.refusal("tasks/list", json!({}), &[-32601]).map(drop)
}

/// The server declares nothing about tasks.
fn needs_none(ctx: &mut Ctx<'_>) -> Verdict {
    match ctx.capabilities()?.get("tasks") {
        None => Ok(()),
        Some(_) => Err(skip("`tasks` is declared")),
    }
}

fn begins_tasks(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    let known = list(client, "tools/list")?;
    let supports = |call: &ToolCall| {
        let tool = known.iter().find(|tool| tool["name"] == call.name.as_str());
        let support = tool.map(|tool| &tool["execution"]["taskSupport"]);
        support.is_some_and(|support| *support == "optional" || *support == "required")
    };
    for call in [&calls.brief, &calls.failing, &calls.required].into_iter().flatten() {
        ensure(supports(call), || format!("{} is not listed as one for tasks", call.name))?;
        begin(client, call)?;
    }
    Ok(())
}

fn begins_working(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    let (first, second) = (begin(client, brief)?, begin(client, brief)?);
    for task in [&first, &second] {
        ensure(task["status"] == "working", || format!("a new task is {task}"))?;
    }
    ensure(first["taskId"] != second["taskId"], || format!("two tasks are both {first}"))
}

fn moves_on(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    for call in [&calls.brief, &calls.failing].into_iter().flatten() {
        let task = begin(client, call)?;
        let seen = watch_until(client, &about(&task), |_| false)?;
        let last = seen.last().cloned().unwrap_or_default();
        // Until then every status but a terminal one may follow every other.
        let known = |now: &Value| {
            ["working", "input_required"].iter().any(|status| now["status"] == *status)
                || is_terminal(&now["status"])
        };
        ensure(seen.iter().all(known), || format!("a status nobody knows: {seen:?}"))?;
        client.call("tasks/cancel", about(&task))?;
        let again = client.result("tasks/get", about(&task))?;
        ensure(again["status"] == last["status"], || format!("after {last} it is {again}"))?;
    }
    Ok(())
}

fn dates(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let client = ctx.client()?;
    let task = begin(client, endless)?;
    is_dated(&task, "ttl")?;
    is_dated(&client.result("tasks/get", about(&task))?, "ttl")?;
    is_dated(&client.result("tasks/cancel", about(&task))?, "ttl")
}

fn waits_for_result(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    if let Some(endless) = &calls.endless {
        let task = begin(client, endless)?;
        let id = client.request("tasks/result", about(&task));
        client.barrier()?;
        let early = client.take(|message| message["id"] == id && message["method"].is_null());
        ensure(early.is_none(), || format!("a task that runs was answered {early:?}"))?;
        client.result("tasks/cancel", about(&task))?;
        client.answer(&id)?;
    }
    let brief = told(&calls.brief, "brief")?;
    let task = begin(client, brief)?;
    client.result("tasks/result", about(&task))?;
    let now = client.result("tasks/get", about(&task))?;
    ensure(is_terminal(&now["status"]), || format!("with its result known, a task is {now}"))
}

/// A tool's failure is a result as well; a request's is an error, by `tasks/result` too.
fn keeps_results(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = tasks(ctx)?;
    let client = ctx.client()?;
    for (call, status) in
        [(&calls.brief, "completed"), (&calls.failing, "failed"), (&calls.breaking, "failed")]
    {
        let Some(call) = call else { continue };
        let task = begin(client, call)?;
        let by_task = client.call("tasks/result", about(&task))?;
        until(client, &about(&task), status)?;
        let plainly = client.call("tools/call", call.params())?;
        let needs_task = plainly["error"]["code"] == -32601;
        let same = |member: &str, key: &str| plainly[member][key] == by_task[member][key];
        let kept = same("result", "content")
            && same("result", "structuredContent")
            && same("error", "code");
        ensure(needs_task || kept, || format!("{plainly} is as a task {by_task}"))?;
        let fails = by_task["result"]["isError"] == true || by_task.get("error").is_some();
        ensure(fails == (status == "failed"), || format!("{} came to {by_task}", call.name))?;
    }
    Ok(())
}

fn related(message: &Value, part: &str) -> Value {
    message[part]["_meta"][RELATED]["taskId"].clone()
}

fn names_the_task(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    let mut params = wish(brief);
    params["_meta"] = json!({"progressToken": "named"});
    let task = begin_with(client, params)?;
    let result = client.call("tasks/result", about(&task))?;
    ensure(related(&result, "result") == task["taskId"], || format!("the result is {result}"))?;
    client.barrier()?;
    let said = client.take_inbox().into_iter().find(|message| {
        message["params"]["progressToken"] == "named"
            && related(message, "params") != task["taskId"]
    });
    ensure(said.is_none(), || format!("of task {} came {said:?}", task["taskId"]))
}

fn asks(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = told(&tasks(ctx)?.asks, "asks")?;
    let answer = json!({"result": ask.answer});
    let mut client = session(ctx, ask, ask.capabilities.clone(), answer)?;
    let task = begin(&mut client, &ask.call)?;
    let result = client.call("tasks/result", about(&task))?;
    let used = result["result"]["content"].to_string().contains(&ask.expect);
    ensure(used, || format!("answered {}, the task came to {result}", ask.answer))?;
    let question = client.take(|message| message["method"] == ask.method.as_str());
    let question = question.ok_or_else(|| fail(format!("{} was not asked", ask.method)))?;
    ensure(related(&question, "params") == task["taskId"], || format!("the question {question}"))
}

fn cancels(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tasks.cancel")?;
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let client = ctx.client()?;
    let task = begin(client, endless)?;
    let cancelled = client.result("tasks/cancel", about(&task))?;
    let later = client.result("tasks/get", about(&task))?;
    for now in [&cancelled, &later] {
        ensure(now["status"] == "cancelled", || format!("a cancelled task is {now}"))?;
    }
    client.refusal("tasks/cancel", about(&task), &[-32602]).map(drop)
}

fn cancels_nothing_over(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tasks.cancel")?;
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    let task = begin(client, brief)?;
    until(client, &about(&task), "completed")?;
    client.refusal("tasks/cancel", about(&task), &[-32602])?;
    until(client, &about(&task), "completed").map(drop)
}

fn refuses_the_unknown(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tasks")?;
    let capabilities = ctx.capabilities()?;
    let client = ctx.client()?;
    let unknown = json!({"taskId": "no-such-task"});
    client.refusal("tasks/get", unknown.clone(), &[-32602])?;
    client.refusal("tasks/result", unknown.clone(), &[-32602])?;
    if capabilities["tasks"]["cancel"].is_object() {
        client.refusal("tasks/cancel", unknown, &[-32602])?;
    }
    if capabilities["tasks"]["list"].is_object() {
        client.refusal("tasks/list", json!({"cursor": "no-such-cursor"}), &[-32602])?;
    }
    Ok(())
}

fn lists(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tasks.list")?;
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let client = ctx.client()?;
    let task = begin(client, brief)?;
    let listed = list(client, "tasks/list")?;
    let is_listed = listed.iter().any(|one| one["taskId"] == task["taskId"]);
    ensure(is_listed, || format!("{task} is not listed: {listed:?}"))?;
    for one in listed.iter().rev().take(10) {
        client.result("tasks/get", about(one))?;
    }
    Ok(())
}

fn is_private(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&tasks(ctx)?.endless, "endless")?;
    let capabilities = ctx.capabilities()?;
    let (mut owner, mut other) = (ctx.fresh()?, ctx.fresh()?);
    let (first, second) = (begin(&mut owner, endless)?, begin(&mut owner, endless)?);
    let found = other.call("tasks/get", about(&first))?;
    let is_listed = capabilities["tasks"]["list"].is_object()
        && list(&mut other, "tasks/list")?.iter().any(|one| one["taskId"] == first["taskId"]);
    for task in [&first, &second] {
        owner.call("tasks/cancel", about(task))?;
    }
    ensure(!is_listed, || format!("another session is shown {first}"))?;
    let is_bound = found["error"]["code"] == -32602;
    ensure(is_bound || are_unguessable(&first["taskId"], &second["taskId"]), || {
        format!("another session that guesses {} is answered {found}", first["taskId"])
    })
}

fn progresses(ctx: &mut Ctx<'_>) -> Verdict {
    let brief = told(&tasks(ctx)?.brief, "brief")?;
    let meta = json!({"progressToken": PROGRESS_TOKEN});
    let is_progress = |message: &Value| message["params"]["progressToken"] == PROGRESS_TOKEN;
    let client = ctx.client()?;
    client.call("tools/call", brief.params_with(meta.clone()))?;
    client.barrier()?;
    if client.take(is_progress).is_none() {
        return Err(skip("the call reports no progress"));
    }
    let client = &mut ctx.fresh()?;
    let mut params = wish(brief);
    params["_meta"] = meta;
    let task = begin_with(client, params)?;
    until(client, &about(&task), "completed")?;
    client.gather(|inbox| inbox.iter().any(is_progress));
    ensure(client.take(is_progress).is_some(), || "as a task it reports no progress".to_owned())?;
    client.barrier()?;
    client.take_inbox();
    client.result("tasks/get", about(&task))?;
    client.barrier()?;
    let late = client.take(is_progress);
    ensure(late.is_none(), || format!("after the end came {late:?}"))
}
