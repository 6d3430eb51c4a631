//! Subscriptions: what a client may hear of, in both eras.

use super::calls::Calls;
use crate::call::Origin;
use crate::changes::Interest;
use crate::error::Error;
use crate::jsonrpc::Id;
use crate::params::{self, Params};
use crate::registry::Registry;
use crate::wire::{self, ListenFilter};

/// Longest URI kept; a limit of their number alone would not limit the memory they take.
const MAX_URI_BYTES: usize = 8 * 1024;

/// What a stateful session hears of without asking.
pub(crate) fn unsolicited(registry: &Registry) -> Interest {
    Interest {
        tool_list: registry.tools_change,
        prompt_list: registry.prompts_change,
        resource_list: registry.list_resources.is_some(),
        ..Interest::default()
    }
}

/// Opens a `subscriptions/listen` stream: the acknowledgement now, changes later.
pub(crate) fn open(
    calls: &Calls,
    id: &Id<'_>,
    params: &Params<'_>,
    origin: &Origin,
) -> Result<(), Error> {
    let Origin { registry, stream, client, owner, .. } = origin;
    let filter: ListenFilter = params::required(params.notifications, "notifications")?;
    if filter.task_ids.is_some() && registry.has_tasks() && !wire::declares_tasks(client) {
        return Err(wire::tasks_needed());
    }
    let asked = Interest::from(filter);
    asked.resources.iter().try_for_each(|uri| can_be_kept(uri))?;
    if asked.resources.len() + asked.tasks.len() > registry.limits.max_subscriptions {
        return Err(too_many(registry));
    }
    let offered = unsolicited(registry);
    let honoured = Interest {
        tool_list: asked.tool_list && offered.tool_list,
        prompt_list: asked.prompt_list && offered.prompt_list,
        resource_list: asked.resource_list && offered.resource_list,
        resources: asked
            .resources
            .into_iter()
            .filter(|uri| registry.reader(uri).is_some())
            .collect(),
        tasks: asked
            .tasks
            .into_iter()
            .filter(|id| registry.tasks.find(id, owner).is_ok())
            .collect(),
    };
    let subscriber = registry.changes.subscribe(honoured.clone(), stream);
    let subjects = honoured.resources.len() + honoured.tasks.len();
    calls.listen(id.clone().into_owned(), subscriber, subjects)?;
    stream.push(|out| wire::write_acknowledged(out, id, &honoured));
    Ok(())
}

/// Whether a subscription to `uri` is short enough.
pub(crate) fn can_be_kept(uri: &str) -> Result<(), Error> {
    if uri.len() <= MAX_URI_BYTES {
        return Ok(());
    }
    Err(Error::invalid_params(format!("A URI of a subscription has at most {MAX_URI_BYTES} bytes")))
}

pub(crate) fn too_many(registry: &Registry) -> Error {
    let most = registry.limits.max_subscriptions;
    Error::invalid_params(format!("More than {most} subscriptions"))
}
