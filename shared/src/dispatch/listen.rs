//! Subscriptions: what a client may hear of, in both eras.

use std::sync::Arc;

use super::calls::Calls;
use crate::changes::Interest;
use crate::error::Error;
use crate::jsonrpc::Id;
use crate::outbox::Outbox;
use crate::params::{self, Params};
use crate::registry::Registry;
use crate::wire::{self, ListenFilter};

/// What a stateful session hears of without asking.
pub(crate) fn unsolicited(registry: &Registry) -> Interest {
    Interest {
        tool_list: registry.tools_change,
        prompt_list: registry.prompts_change,
        resource_list: registry.list_resources.is_some(),
        resources: Default::default(),
    }
}

/// Opens a `subscriptions/listen` stream: the acknowledgement now, changes later.
pub(crate) fn open(
    registry: &Registry,
    calls: &Calls,
    outbox: &Arc<Outbox>,
    id: &Id<'_>,
    params: &Params<'_>,
) -> Result<(), Error> {
    let filter: ListenFilter = params::required(params.notifications, "notifications")?;
    let asked = Interest::from(filter);
    if asked.resources.len() > registry.limits.max_subscriptions {
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
    };
    let subscriber = registry.changes.subscribe(honoured.clone(), outbox);
    calls.listen(id.clone().into_owned(), subscriber)?;
    outbox.push(|out| wire::write_acknowledged(out, id, &honoured));
    Ok(())
}

pub(crate) fn too_many(registry: &Registry) -> Error {
    let most = registry.limits.max_subscriptions;
    Error::invalid_params(format!("More than {most} resource subscriptions"))
}
