//! The methods of tasks, in both eras that have some.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::pages::{cursor_purpose, open_cursor};
use super::route::{Routed, start};
use crate::answer::{Answer, Outcome};
use crate::call::{Asks, Beginning, Kind, Origin};
use crate::error::Error;
use crate::params::{self, Meta, Params};
use crate::registry::{Registry, Tool};
use crate::revision::Revision;
use crate::tasks::{Begins, Owner, Task, TaskPlan};
use crate::tool::Tasks;
use crate::wire;

/// Tasks on a page.
const PAGE: usize = 100;

/// Methods of 2025-11-25 alone; 2026-07-28 has the others, too, as an extension.
const STATEFUL_ONLY: [&str; 2] = ["tasks/result", "tasks/list"];

pub(super) fn serve(
    method: &str,
    params: &Params<'_>,
    meta: &Meta<'_>,
    origin: Origin,
) -> Result<Routed, Error> {
    let revision = origin.revision;
    let unknown = || Err(Error::MethodNotFound(method.to_owned()));
    let is_here = match method {
        "tasks/update" => revision.is_stateless(),
        _ if STATEFUL_ONLY.contains(&method) => revision == Revision::V2025_11_25,
        _ => revision.has_tasks(),
    };
    if !is_here || !origin.registry.has_tasks() {
        return unknown();
    }
    if revision.is_stateless() && !wire::declares_tasks(&origin.client) {
        return Err(wire::tasks_needed());
    }
    let registry = Arc::clone(&origin.registry);
    if method == "tasks/list" {
        return Ok(Routed::Now(list(&registry, params, &origin.owner)));
    }
    let id = params::string(params.task_id, "taskId")?;
    let task = registry.tasks.find(&id, &origin.owner)?;
    match method {
        "tasks/get" => Ok(Routed::Now(Ok(Answer::Task(task)))),
        "tasks/cancel" => Ok(Routed::Now(cancel(task, revision))),
        "tasks/update" => {
            let answers: Map<String, Value> =
                params::required(params.input_responses, "inputResponses")?;
            task.update(answers);
            Ok(Routed::Now(Ok(Answer::Done)))
        }
        _ => result(task, meta, origin),
    }
}

fn cancel(task: Arc<Task>, revision: Revision) -> Outcome {
    let was_running = task.cancel();
    if revision.is_stateless() {
        return Ok(Answer::Done);
    }
    if was_running {
        Ok(Answer::Task(task))
    } else {
        Err(Error::invalid_params("The task is over already"))
    }
}

/// Waits for the task, and says what the call it began as would have said.
fn result(task: Arc<Task>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    let beginning = Beginning::of(Kind::TaskResult, task.id.clone(), "", meta)?;
    task.answer_on(Arc::clone(&origin.stream));
    Ok(start(origin, beginning, Asks::None, |call| {
        Box::pin(async move {
            // The client waits for the task, not for us.
            let _waiting = call.waiting().begin();
            task.over().await;
            Ok(Answer::TaskResult(task))
        })
    }))
}

fn list(registry: &Registry, params: &Params<'_>, owner: &Owner) -> Outcome {
    let tasks = registry.tasks.of(owner);
    let purpose = cursor_purpose("tasks/list", owner.principal.as_deref());
    let after = match params.cursor {
        None => None,
        cursor => Some(open_cursor(registry, &purpose, &params::string(cursor, "cursor")?)?),
    };
    // A task that has gone meanwhile was older than all that are left.
    let start = after.and_then(|id| tasks.iter().position(|task| task.id == id));
    let rest = tasks.get(start.map_or(0, |last| last + 1)..).unwrap_or_default();
    let page = rest.get(..PAGE).unwrap_or(rest);
    let next_cursor = match page.last() {
        Some(last) if page.len() < rest.len() => registry.seal.seal(&purpose, last.id.as_bytes()),
        _ => None,
    };
    Ok(Answer::Tasks { tasks: page.to_vec(), next_cursor })
}

/// Whether a call of this tool may turn into a task, or must.
pub(super) fn plan(
    tool: &Tool,
    params: &Params<'_>,
    origin: &Origin,
) -> Result<Option<TaskPlan>, Error> {
    let plan = |begins, ttl| {
        let (owner, standing) = (origin.owner.clone(), origin.standing.clone());
        Some(TaskPlan { owner, ttl, begins, standing })
    };
    let tasks = tool.options.tasks;
    if origin.revision.is_stateless() {
        return match tasks {
            Tasks::Never => Ok(None),
            _ if wire::declares_tasks(&origin.client) => Ok(match tasks {
                Tasks::Only => plan(Begins::Always, None),
                _ => plan(Begins::WhenItWaits, None),
            }),
            Tasks::Only => Err(wire::tasks_needed()),
            Tasks::Also => Ok(None),
        };
    }
    if !origin.revision.has_tasks() || !origin.registry.has_tasks() {
        return Ok(None);
    }
    match (params.task, tasks) {
        (None, Tasks::Only) => Err(Error::MethodNotFound(
            "tools/call without `task`, for a tool that needs one".into(),
        )),
        (None, _) => Ok(None),
        (Some(_), Tasks::Never) => {
            Err(Error::MethodNotFound("tools/call with `task`, for a tool that has none".into()))
        }
        (wanted, _) => {
            #[derive(Deserialize)]
            struct Wanted {
                ttl: Option<u64>,
            }
            let Wanted { ttl } = params::required(wanted, "task")?;
            Ok(plan(Begins::AtOnce, ttl.map(Duration::from_millis)))
        }
    }
}
