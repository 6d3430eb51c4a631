//! What only 2026-07-28 has: the envelope in `_meta` of every request, its error codes, and the
//! frame of `subscriptions/listen` streams.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::Object;
use super::{message, notification};
use crate::call::{Client, Level};
use crate::changes::Interest;
use crate::error::Error;
use crate::jsonrpc::{Id, Text, code};
use crate::params::Meta;
use crate::revision::Revision;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// What the envelope of every request must hold.
pub(crate) const ENVELOPE_KEYS: [&str; 2] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES];
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The envelope of one request, checked.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) client: Client,
    pub(crate) log_level: Option<Level>,
}

impl Envelope {
    /// `check` is asked about the version once the envelope is whole, before the version itself
    /// is looked at: what contradicts itself is told so first.
    pub(crate) fn read(
        meta: &Meta<'_>,
        check: impl FnOnce(&str) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut missing = Vec::new();
        let version =
            meta.protocol_version.and_then(|raw| serde_json::from_str::<Text<'_>>(raw.get()).ok());
        if version.is_none() {
            missing.push(PROTOCOL_VERSION);
        }
        let capabilities =
            meta.client_capabilities.map(RawValue::get).filter(|raw| raw.starts_with('{'));
        if capabilities.is_none() {
            missing.push(CLIENT_CAPABILITIES);
        }
        let (Some(Text(version)), Some(capabilities)) = (version, capabilities) else {
            return Err(Error::MissingEnvelope(missing));
        };
        check(&version)?;
        if Revision::parse(&version) != Some(Revision::V2026_07_28) {
            return Err(Error::UnsupportedVersion(version.into_owned()));
        }
        let log_level = match meta.log_level {
            None => None,
            Some(raw) => Some(serde_json::from_str(raw.get()).map_err(|_| unknown_level(raw))?),
        };
        let info = meta.client_info.map(|raw| raw.get().into());
        Ok(Self { client: Client::Envelope { info, capabilities: capabilities.into() }, log_level })
    }
}

fn unknown_level(raw: &RawValue) -> Error {
    Error::invalid_params(format!("Unknown log level: {}", raw.get()))
}

pub(super) fn code(error: &Error) -> i32 {
    match error {
        Error::MethodNotFound(_) => code::METHOD_NOT_FOUND,
        Error::InvalidRequest(_) => code::INVALID_REQUEST,
        Error::InvalidParams(_) | Error::MissingEnvelope(_) => code::INVALID_PARAMS,
        Error::UnsupportedVersion(_) => code::UNSUPPORTED_VERSION,
        Error::ResourceNotFound(_) => code::INVALID_PARAMS,
        Error::HeaderMismatch(_) => code::HEADER_MISMATCH,
        Error::MissingCapability(_) => code::MISSING_CAPABILITY,
        Error::Refused(_) | Error::RateLimited { .. } | Error::TimedOut(_) | Error::Internal(_) => {
            code::INTERNAL_ERROR
        }
    }
}

/// What `subscriptions/listen` asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListenFilter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
    /// Of the extension.
    pub(crate) task_ids: Option<Vec<String>>,
}

impl From<ListenFilter> for Interest {
    fn from(filter: ListenFilter) -> Self {
        Self {
            tool_list: filter.tools_list_changed,
            prompt_list: filter.prompts_list_changed,
            resource_list: filter.resources_list_changed,
            resources: filter.resource_subscriptions.into_iter().collect(),
            tasks: filter.task_ids.unwrap_or_default().into_iter().collect(),
        }
    }
}

/// Appends the first message of a listen stream: what of the filter is honoured.
pub(crate) fn write_acknowledged(out: &mut Vec<u8>, listen: &Id<'_>, honoured: &Interest) {
    notification(out, "notifications/subscriptions/acknowledged", |params| {
        params.object("notifications", |filter| {
            if honoured.tool_list {
                filter.field("toolsListChanged", &true);
            }
            if honoured.prompt_list {
                filter.field("promptsListChanged", &true);
            }
            if honoured.resource_list {
                filter.field("resourcesListChanged", &true);
            }
            if !honoured.resources.is_empty() {
                filter.field("resourceSubscriptions", &honoured.resources);
            }
            if !honoured.tasks.is_empty() {
                filter.field("taskIds", &honoured.tasks);
            }
        });
        write_subscription_id(params, listen);
    });
}

/// Appends the notice that the server ends a listen stream; its result follows.
pub(crate) fn write_listen_cancelled(out: &mut Vec<u8>, listen: &Id<'_>) {
    message(out, |message| {
        message.field("method", "notifications/cancelled");
        message.object("params", |params| {
            params.raw("requestId", listen.as_str());
            params.field("reason", "the server is shutting down");
        });
    });
}

pub(super) fn write_subscription_id(params: &mut Object<'_>, listen: &Id<'_>) {
    params.object("_meta", |meta| meta.raw(SUBSCRIPTION_ID, listen.as_str()));
}

/// The `_meta` of every result: who answered, and for a listen stream which one ends.
pub(super) fn write_result_meta(
    result: &mut Object<'_>,
    implementation: impl FnOnce(&mut Object<'_>),
    listen: Option<&Id<'_>>,
) {
    result.object("_meta", |meta| {
        meta.object(SERVER_INFO, implementation);
        if let Some(id) = listen {
            meta.raw(SUBSCRIPTION_ID, id.as_str());
        }
    });
}
