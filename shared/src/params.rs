//! The parameters of a request, one level deep and still raw.
//!
//! One struct for all methods: a single pass over the bytes finds the members any method knows,
//! and which era the message belongs to. Each method then parses the few it needs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::{memchr, memmem};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::jsonrpc::{Message, Text, present, without_position};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) level: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) client_info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) task: Option<&'a RawValue>,
}

/// The members of `_meta` the protocol itself reads; all others pass by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "present"
    )]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "present"
    )]
    pub(crate) client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    pub(crate) client_info: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Self, Error> {
        let Some(raw) = raw else {
            return Ok(Self::default());
        };
        serde_json::from_str(raw.get())
            .map_err(|error| Error::invalid_params(format!("`params`: {error}")))
    }

    pub(crate) fn meta(&self) -> Result<Meta<'a>, Error> {
        let Some(raw) = self.meta else {
            return Ok(Meta::default());
        };
        serde_json::from_str(raw.get())
            .map_err(|error| Error::invalid_params(format!("`params._meta`: {error}")))
    }

    /// `arguments` as the JSON text of an object; an absent one is empty.
    pub(crate) fn arguments_object(&self) -> Result<&'a str, Error> {
        match self.arguments.map(RawValue::get) {
            None => Ok("{}"),
            Some(raw) if raw.starts_with('{') => Ok(raw),
            Some(_) => Err(Error::invalid_params("`params.arguments` must be an object")),
        }
    }

    /// `arguments` as named strings, which is what prompts take.
    pub(crate) fn arguments_strings(&self) -> Result<Vec<(String, String)>, Error> {
        let Some(raw) = self.arguments else {
            return Ok(Vec::new());
        };
        let arguments: BTreeMap<String, String> =
            serde_json::from_str(raw.get()).map_err(|error| {
                Error::invalid_params(format!("`params.arguments` must hold strings only: {error}"))
            })?;
        Ok(arguments.into_iter().collect())
    }
}

/// Whether a message is a request that claims to be of the stateless era.
pub(crate) fn claims_stateless(message: &Message<'_>) -> bool {
    let Message::Request { params: Some(params), .. } = message else {
        return false;
    };
    let text = params.get().as_bytes();
    // A key that is not there as it is written is there in escapes, or not at all.
    if memmem::find(text, b"io.modelcontextprotocol/").is_none() && memchr(b'\\', text).is_none() {
        return false;
    }
    Params::read(Some(params))
        .and_then(|params| params.meta())
        .is_ok_and(|meta| meta.claims_stateless())
}

impl<'a> Meta<'a> {
    /// The request claims to be of the stateless era. A broken claim is still one: it is refused,
    /// not served as something else.
    pub(crate) fn claims_stateless(&self) -> bool {
        self.protocol_version.is_some() || self.client_capabilities.is_some()
    }

    /// The W3C trace context, if it is well formed; otherwise it is ignored, as the standard says.
    pub(crate) fn trace_parent(&self) -> Option<&'a str> {
        let text = self.traceparent?.get().strip_prefix('"')?.strip_suffix('"')?;
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, parent, flags] = parts.as_slice() else {
            return None;
        };
        let is_hex = |part: &str, length: usize| {
            part.len() == length
                && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_valid =
            is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
        is_valid.then_some(text)
    }

    /// The token as raw JSON: a string or an integer.
    pub(crate) fn progress_token(&self) -> Result<Option<&'a str>, Error> {
        let Some(raw) = self.progress_token.map(RawValue::get) else {
            return Ok(None);
        };
        match crate::jsonrpc::Id::parse(raw) {
            Some(_) => Ok(Some(raw)),
            None => {
                Err(Error::invalid_params("`_meta.progressToken` must be a string or an integer"))
            }
        }
    }
}

/// A required string member.
pub(crate) fn string<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Cow<'a, str>, Error> {
    required(raw, name).map(|Text(text)| text)
}

/// A required member of any shape.
pub(crate) fn required<'a, T: Deserialize<'a>>(
    raw: Option<&'a RawValue>,
    name: &str,
) -> Result<T, Error> {
    let raw = raw.ok_or_else(|| Error::invalid_params(format!("`params.{name}` is missing")))?;
    serde_json::from_str(raw.get()).map_err(|error| {
        Error::invalid_params(format!("`params.{name}`: {}", without_position(&error)))
    })
}
