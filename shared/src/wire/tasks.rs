//! Tasks, in the words of 2025-11-25 and of the extension of 2026-07-28.

use std::time::SystemTime;

use serde_json::json;

use super::object::Object;
use super::results;
use super::write_error;
use crate::answer::Answer;
use crate::call::Client;
use crate::error::Error;
use crate::jsonrpc::Id;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::tasks::{POLL_INTERVAL, Status, Task};

/// How the extension is called where it is declared.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Whether the client has declared the extension, with this request.
pub(crate) fn declares_tasks(client: &Client) -> bool {
    let capabilities = client.info().capabilities;
    capabilities.get("extensions").is_some_and(|extensions| extensions.get(EXTENSION).is_some())
}

/// The client would have to declare the extension.
pub(crate) fn tasks_needed() -> Error {
    Error::MissingCapability(json!({"extensions": {EXTENSION: {}}}))
}

/// What a message belongs to, as `_meta` (2025-11-25).
pub(crate) fn related_task(task: &Task) -> serde_json::Value {
    json!({RELATED: {"taskId": task.id}})
}

/// The answer to the request that became a task.
pub(super) fn created(result: &mut Object<'_>, revision: Revision, task: &Task) {
    if revision.is_stateless() {
        members(result, revision, task);
    } else {
        result.object("task", |object| members(object, revision, task));
    }
}

/// The answer to `tasks/get`: in 2026-07-28 with all there is to say.
pub(super) fn shown(result: &mut Object<'_>, registry: &Registry, revision: Revision, task: &Task) {
    members(result, revision, task);
    if !revision.is_stateless() {
        return;
    }
    let now = task.snapshot();
    if now.status == Status::InputRequired {
        results::input_requests(result, &now.questions);
    }
    match now.outcome.as_deref() {
        // The id is of no use inside: nothing of an answer that can get here tells it.
        Some(Ok(answer)) => result.object("result", |inner| {
            results::write(inner, registry, revision, &Id::none(), answer);
        }),
        Some(Err(error)) => result.object("error", |object| write_error(object, revision, error)),
        None => {}
    }
}

pub(super) fn members(object: &mut Object<'_>, revision: Revision, task: &Task) {
    let now = task.snapshot();
    let time = |time: SystemTime| humantime::format_rfc3339_millis(time).to_string();
    let (ttl, poll_interval) =
        if revision.is_stateless() { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
    object.field("taskId", &task.id);
    object.field("status", now.status.as_str());
    object.optional("statusMessage", now.message.as_ref());
    object.field("createdAt", &time(task.created_at));
    object.field("lastUpdatedAt", &time(now.updated_at));
    object.field(ttl, &u64::try_from(task.ttl.as_millis()).unwrap_or(u64::MAX));
    object.field(poll_interval, &u64::try_from(POLL_INTERVAL.as_millis()).unwrap_or(u64::MAX));
}

/// The result of the call a task began as (2025-11-25). `Err` if it has none but an error.
pub(super) fn outcome_of(task: &Task) -> Result<std::sync::Arc<crate::answer::Outcome>, Error> {
    let outcome = task.snapshot().outcome;
    outcome.ok_or_else(|| Error::InvalidRequest("The task was cancelled".into()))
}

/// The result itself, and which task it is of.
pub(super) fn write_result(
    result: &mut Object<'_>,
    registry: &Registry,
    revision: Revision,
    id: &Id<'_>,
    task: &Task,
    answer: &Answer,
) {
    results::write(result, registry, revision, id, answer);
    result.field("_meta", &related_task(task));
}
