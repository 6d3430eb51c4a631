//! The adapters: from the one domain model to the words of each revision, and nowhere else.
//!
//! This file holds the shape of messages all revisions share; `results.rs` and `items.rs` write
//! answers and list entries, asking the revision what it can express; `legacy.rs` and `modern.rs`
//! hold what belongs to one side of the divide only: handshake and error codes of the stateful
//! revisions, envelope and listen streams of 2026-07-28.

mod headers;
mod items;
mod legacy;
mod modern;
mod object;
mod results;
mod tasks;

use serde::Serialize;
use serde_json::Value;

use crate::answer::{Answer, Outcome};
use crate::call::Level;
use crate::changes::Interest;
use crate::error::Error;
use crate::jsonrpc::{Id, Refusal};
use crate::registry::Registry;
use crate::revision::Revision;
use crate::tasks::Task;

#[cfg(feature = "http")]
pub(crate) use headers::unclaimed;
pub(crate) use headers::{HeaderParameter, RoutingHeaders, header_parameters};
pub(crate) use items::{prompt_item, resource_item, template_item, tool_item};
pub(crate) use legacy::{Handshake, refusal_of_client};
pub(crate) use modern::{
    ENVELOPE_KEYS, Envelope, ListenFilter, write_acknowledged, write_listen_cancelled,
};
use object::Object;
pub(crate) use tasks::{declares_tasks, related_task, tasks_needed};

/// Appends the response to request `id`.
pub(crate) fn write_outcome(
    out: &mut Vec<u8>,
    registry: &Registry,
    revision: Revision,
    id: &Id<'_>,
    outcome: &Outcome,
) {
    if let Ok(Answer::TaskResult(task)) = outcome {
        return write_task_result(out, registry, revision, id, task);
    }
    message(out, |message| {
        message.raw("id", id.as_str());
        match outcome {
            Ok(answer) => message.object("result", |result| {
                results::write(result, registry, revision, id, answer);
            }),
            Err(error) => message.object("error", |object| write_error(object, revision, error)),
        }
    });
}

/// Appends the response a task's first request would have had.
fn write_task_result(
    out: &mut Vec<u8>,
    registry: &Registry,
    revision: Revision,
    id: &Id<'_>,
    task: &Task,
) {
    match tasks::outcome_of(task).as_deref() {
        Ok(Ok(answer)) => message(out, |message| {
            message.raw("id", id.as_str());
            message.object("result", |result| {
                tasks::write_result(result, registry, revision, id, task, answer);
            });
        }),
        Ok(Err(error)) | Err(error) => message(out, |message| {
            message.raw("id", id.as_str());
            message.object("error", |object| write_error(object, revision, error));
        }),
    }
}

/// What never became a request.
pub(crate) const HTTP_BAD_REQUEST: u16 = 400;

/// The HTTP status of an answer that comes as one JSON body. The stateful revisions know success
/// only; in 2026-07-28 what is wrong with a request as such shows in the status, too.
pub(crate) fn http_status(revision: Revision, outcome: &Outcome) -> u16 {
    match outcome {
        Ok(_) => 200,
        Err(Error::InvalidRequest(_)) => HTTP_BAD_REQUEST,
        Err(_) if !revision.is_stateless() => 200,
        Err(Error::RateLimited { .. }) => 429,
        Err(Error::MethodNotFound(_)) => 404,
        Err(
            Error::MissingEnvelope(_)
            | Error::UnsupportedVersion(_)
            | Error::HeaderMismatch(_)
            | Error::MissingCapability(_),
        ) => HTTP_BAD_REQUEST,
        Err(_) => 200,
    }
}

/// Appends the answer to a message that never became a request.
pub(crate) fn write_refusal(out: &mut Vec<u8>, revision: Option<Revision>, refusal: &Refusal) {
    message(out, |message| {
        match &refusal.id {
            Some(id) => message.raw("id", id.as_str()),
            None if revision.is_some_and(|revision| !revision.omits_unknown_id()) => {
                message.raw("id", "null")
            }
            None => {}
        }
        message.object("error", |error| {
            error.field("code", &refusal.code);
            error.field("message", &refusal.message);
        });
    });
}

fn write_error(object: &mut Object<'_>, revision: Revision, error: &Error) {
    let code = if revision.is_stateless() { modern::code(error) } else { legacy::code(error) };
    object.field("code", &code);
    object.field("message", &error.to_string());
    match error {
        Error::ResourceNotFound(uri) => object.object("data", |data| data.field("uri", uri)),
        Error::MissingEnvelope(keys) => object.object("data", |data| {
            data.field("missing", keys);
            data.field("hint", "send `initialize` first, or the `_meta` envelope of 2026-07-28");
        }),
        Error::UnsupportedVersion(requested) => object.object("data", |data| {
            data.field("supported", &[Revision::V2026_07_28]);
            data.field("requested", requested);
        }),
        Error::MissingCapability(capabilities) => {
            object.object("data", |data| data.field("requiredCapabilities", capabilities));
        }
        Error::RateLimited { retry_after } => object.object("data", |data| {
            data.field("retryAfterMs", &(retry_after.as_millis() + 1));
        }),
        _ => {}
    }
}

/// Appends a request of ours to the client of a stateful session.
pub(crate) fn write_request(out: &mut Vec<u8>, id: u64, method: &str, params: &Value) {
    message(out, |message| {
        message.field("id", &id);
        message.field("method", method);
        message.field("params", params);
    });
}

/// Appends the notice that request `id` of ours needs no answer any more.
pub(crate) fn write_cancelled(out: &mut Vec<u8>, id: u64) {
    notification(out, "notifications/cancelled", |params| params.field("requestId", &id));
}

pub(crate) fn write_progress(
    out: &mut Vec<u8>,
    token: &str,
    done: u64,
    total: Option<u64>,
    text: Option<&str>,
    task: Option<&Task>,
) {
    notification(out, "notifications/progress", |params| {
        params.raw("progressToken", token);
        params.field("progress", &done);
        params.optional("total", total.as_ref());
        params.optional("message", text);
        params.optional("_meta", task.map(related_task).as_ref());
    });
}

pub(crate) fn write_log(
    out: &mut Vec<u8>,
    level: Level,
    data: &impl Serialize,
    task: Option<&Task>,
) {
    notification(out, "notifications/message", |params| {
        params.field("level", &level);
        params.field("data", data);
        params.optional("_meta", task.map(related_task).as_ref());
    });
}

/// Appends one notification for each change. `listen` is the id of the `subscriptions/listen`
/// request the changes are for; a stateful session has none.
pub(crate) fn write_changes(out: &mut Vec<u8>, changes: &Interest, listen: Option<&Id<'_>>) {
    let mut change = |method: &str, uri: Option<&str>| {
        notification(out, method, |params| {
            params.optional("uri", uri);
            if let Some(id) = listen {
                modern::write_subscription_id(params, id);
            }
        });
    };
    if changes.tool_list {
        change("notifications/tools/list_changed", None);
    }
    if changes.prompt_list {
        change("notifications/prompts/list_changed", None);
    }
    if changes.resource_list {
        change("notifications/resources/list_changed", None);
    }
    for uri in &changes.resources {
        change("notifications/resources/updated", Some(uri));
    }
}

/// Appends what a task that a listen stream hears of is like now.
pub(crate) fn write_task(out: &mut Vec<u8>, registry: &Registry, task: &Task, listen: &Id<'_>) {
    notification(out, "notifications/tasks", |params| {
        tasks::shown(params, registry, Revision::V2026_07_28, task);
        modern::write_subscription_id(params, listen);
    });
}

fn notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Object<'_>)) {
    message(out, |message| {
        message.field("method", method);
        message.object("params", params);
    });
}

fn message(out: &mut Vec<u8>, members: impl FnOnce(&mut Object<'_>)) {
    Object::write(out, |message| {
        message.raw("jsonrpc", r#""2.0""#);
        members(message);
    });
    out.push(b'\n');
}
