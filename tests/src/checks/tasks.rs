//! What the checks of both kinds of tasks share: waiting for a task, and how one is judged.

use crate::check::{Ctx, Outcome, Verdict, ensure, fail, skip};
use crate::client::Client;
use crate::clock::{Instant, PATIENCE};
use crate::profile::TaskCalls;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// The extension of 2026-07-28.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a server wants to be asked at most is seconds; what it can stand is more.
const POLL: Duration = Duration::from_millis(20);

/// Ids that nobody can guess are at least this long, and two of them differ in half as many places.
const UNGUESSABLE_CHARS: usize = 16;

pub(super) fn told_tasks<'a>(ctx: &Ctx<'a>) -> Result<&'a TaskCalls, Outcome> {
    ctx.profile()?.tasks.as_ref().ok_or_else(|| skip("the profile has no `tasks`"))
}

pub(super) fn told<'a, T>(call: &'a Option<T>, name: &str) -> Result<&'a T, Outcome> {
    call.as_ref().ok_or_else(|| skip(format!("the profile has no `tasks.{name}`")))
}

/// The parameters of a request about a task.
pub(super) fn about(task: &Value) -> Value {
    json!({"taskId": task["taskId"]})
}

pub(super) fn is_terminal(status: &Value) -> bool {
    ["completed", "failed", "cancelled"].iter().any(|terminal| status == terminal)
}

/// Asks for a task until it is over, or until `wanted` accepts it; all that was seen on the way.
pub(super) fn watch_until(
    client: &mut Client,
    about: &Value,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, Outcome> {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    loop {
        let now = client.result("tasks/get", about.clone())?;
        let is_over = wanted(&now) || is_terminal(&now["status"]);
        seen.push(now);
        if is_over {
            return Ok(seen);
        }
        if Instant::now() > deadline {
            return Err(fail(format!("the task does not end: {seen:?}")));
        }
        thread::sleep(POLL);
    }
}

/// Asks for a task until it has this status.
pub(super) fn until(client: &mut Client, about: &Value, status: &str) -> Result<Value, Outcome> {
    let seen = watch_until(client, about, |now| now["status"] == status)?;
    let last = seen.into_iter().next_back().unwrap_or_default();
    ensure(last["status"] == status, || format!("the task is not {status}: {last}"))?;
    Ok(last)
}

/// Whether a task has all that says when it was made and how long it is kept, `ttl` being called
/// another way in each revision.
pub(super) fn is_dated(task: &Value, ttl: &str) -> Verdict {
    let is_time = |key: &str| {
        let text = task[key].as_str().unwrap_or_default();
        text.len() >= 20 && text.as_bytes().get(10).is_some_and(|t| t.eq_ignore_ascii_case(&b'T'))
    };
    let kept = task.get(ttl).is_some_and(|ttl| ttl.is_null() || ttl.is_u64());
    let whole = task["taskId"].is_string() && task["status"].is_string();
    ensure(whole && kept && is_time("createdAt") && is_time("lastUpdatedAt"), || {
        format!("a task without its times or its `{ttl}`: {task}")
    })
}

/// Whether two ids look as if nobody could guess a third.
pub(super) fn are_unguessable(first: &Value, second: &Value) -> bool {
    let (first, second) = (first.as_str().unwrap_or_default(), second.as_str().unwrap_or_default());
    let differing = first.bytes().zip(second.bytes()).filter(|(a, b)| a != b).count();
    first.len().min(second.len()) >= UNGUESSABLE_CHARS && differing >= UNGUESSABLE_CHARS / 2
}
