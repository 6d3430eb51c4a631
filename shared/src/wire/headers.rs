//! The headers in which a 2026-07-28 request over HTTP says a second time what its body says, so
//! that proxies can route it without reading the body: `MCP-Protocol-Version`, `Mcp-Method`,
//! `Mcp-Name` and `Mcp-Param-*`. What contradicts the body is refused, or a proxy and this server
//! could take one request for two different ones.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::jsonrpc::Text;
use crate::params::Params;
use crate::registry::Tool;

/// As they came, white space around the values removed.
#[derive(Debug, Default)]
pub(crate) struct RoutingHeaders<'a> {
    pub(crate) version: Option<&'a str>,
    pub(crate) method: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    /// What follows `mcp-param-`, in lower case, with the value.
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
}

impl RoutingHeaders<'_> {
    /// Compares with the version of the envelope, the method, and what the method is about.
    pub(crate) fn check(
        &self,
        version: &str,
        method: &str,
        params: &Params<'_>,
    ) -> Result<(), Error> {
        agree("MCP-Protocol-Version", self.version, version)?;
        agree("Mcp-Method", self.method, method)?;
        let subject = match method {
            "tools/call" | "prompts/get" => params.name,
            "resources/read" => params.uri,
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id,
            _ => return Ok(()),
        };
        // A subject that is no string is refused later, for what it is.
        match subject.and_then(|raw| serde_json::from_str::<Text<'_>>(raw.get()).ok()) {
            None => Ok(()),
            Some(Text(subject)) => {
                let name = self.name.map(decoded).transpose()?;
                agree("Mcp-Name", name.as_deref(), &subject)
            }
        }
    }

    /// Compares with the arguments that a tool wants repeated in headers.
    pub(crate) fn check_arguments(
        &self,
        tool: &Tool,
        arguments: Option<&RawValue>,
    ) -> Result<(), Error> {
        if tool.header_parameters.is_empty() {
            return Ok(());
        }
        let arguments: Value =
            arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        for HeaderParameter { suffix, pointer } in &tool.header_parameters {
            let header = format!("Mcp-Param-{suffix}");
            let mut given = self.parameters.iter().filter(|(name, _)| *name == suffix.as_str());
            let given = given.next().map(|(_, value)| decoded(value)).transpose()?;
            match (arguments.pointer(pointer), given) {
                (None | Some(Value::Null), None) => {}
                (None | Some(Value::Null), Some(_)) => {
                    return Err(mismatch(&header, "is there, but the argument is not"));
                }
                (Some(_), None) => return Err(mismatch(&header, "is missing")),
                (Some(value), Some(given)) if is_same(value, &given) => {}
                (Some(_), Some(_)) => return Err(mismatch(&header, "is not what the body says")),
            }
        }
        Ok(())
    }
}

/// What a request of 2026-07-28 lacks when it came as one by its headers alone.
#[cfg(feature = "http")]
pub(crate) fn unclaimed(method: &str) -> Error {
    if method == "initialize" {
        return mismatch("MCP-Protocol-Version", "names a revision that has no `initialize`");
    }
    Error::MissingEnvelope(super::ENVELOPE_KEYS.to_vec())
}

/// An argument a tool wants repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderParameter {
    /// What the header's name ends with, in lower case.
    suffix: String,
    /// Where the argument is, as a JSON pointer.
    pointer: String,
}

/// The properties of an input schema that carry `x-mcp-header`.
pub(crate) fn header_parameters(schema: &Value) -> Vec<HeaderParameter> {
    let mut found = Vec::new();
    collect(schema, "", &mut found);
    found
}

fn collect(schema: &Value, pointer: &str, found: &mut Vec<HeaderParameter>) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        if let Some(Value::String(suffix)) = property.get("x-mcp-header") {
            let suffix = suffix.to_ascii_lowercase();
            found.push(HeaderParameter { suffix, pointer: pointer.clone() });
        }
        collect(property, &pointer, found);
    }
}

fn agree(header: &str, given: Option<&str>, expected: &str) -> Result<(), Error> {
    match given {
        Some(given) if given == expected => Ok(()),
        Some(_) => Err(mismatch(header, "is not what the body says")),
        None => Err(mismatch(header, "is missing")),
    }
}

fn mismatch(header: &str, problem: &str) -> Error {
    Error::HeaderMismatch(format!("The header {header} {problem}"))
}

/// The value itself, or what stands for it in base64 where it could not be a header.
fn decoded(value: &str) -> Result<String, Error> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD.decode(encoded).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Error::HeaderMismatch(format!("Not base64 in a header: {value}")))
}

fn is_same(argument: &Value, header: &str) -> bool {
    match argument {
        Value::String(text) => text == header,
        Value::Bool(flag) => header == if *flag { "true" } else { "false" },
        Value::Number(number) => header.parse::<serde_json::Number>().is_ok_and(|given| {
            given == *number || given.as_f64().is_some() && given.as_f64() == number.as_f64()
        }),
        _ => false,
    }
}
