//! The headers a client puts beside a message, by revision.

use crate::revision::{self, Revision};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Mutex;

/// The session `initialize` has opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) id: Option<String>,
    /// The revision agreed on.
    pub(crate) version: Option<String>,
}

/// Which arguments of which tool are to be repeated in headers: the name after `Mcp-Param-`, and
/// where the argument is.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Mutex<HashMap<String, Vec<(String, String)>>>);

impl Parameters {
    /// Learns from any list of tools that comes by.
    pub(crate) fn learn(&self, message: &Value) {
        let tools = message["result"]["tools"].as_array();
        for tool in tools.into_iter().flatten() {
            let found = annotations(&tool["inputSchema"]);
            if let (Some(name), false) = (tool["name"].as_str(), found.is_empty()) {
                let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                known.insert(name.to_owned(), found);
            }
        }
    }

    pub(crate) fn of(&self, tool: &str) -> Vec<(String, String)> {
        let known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get(tool).cloned().unwrap_or_default()
    }
}

/// The properties of an input schema that carry `x-mcp-header`: name and JSON pointer.
pub(crate) fn annotations(schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        if let Some(header) = property["x-mcp-header"].as_str() {
            found.push((header.to_owned(), place.clone()));
        }
        let inner = annotations(property).into_iter();
        found.extend(inner.map(|(header, rest)| (header, format!("{place}{rest}"))));
    }
    found
}

/// Whether a message says of itself that it is of the newest revision.
pub(crate) fn claims_modern(message: &Value) -> bool {
    let meta = &message["params"]["_meta"];
    let keys = [revision::PROTOCOL_VERSION, revision::CLIENT_CAPABILITIES];
    keys.iter().any(|key| meta.get(key).is_some())
}

/// Whether a message goes without a session.
pub(crate) fn is_modern(revision: Revision, session: &Session, message: &Value) -> bool {
    let is_request = message.get("id").is_some();
    let handshake = is_request && message["method"] == "initialize" && !claims_modern(message);
    revision.is_modern() && !handshake && (claims_modern(message) || session.version.is_none())
}

/// What goes beside `message`, apart from the media types.
pub(crate) fn headers(
    revision: Revision,
    session: &Session,
    parameters: &Parameters,
    message: &Value,
) -> Vec<(String, String)> {
    if is_modern(revision, session, message) {
        return modern(parameters, message);
    }
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    if let Some(id) = &session.id {
        add("mcp-session-id", id);
    }
    if let Some(version) = session.version.as_deref().filter(|version| *version >= "2025-06-18") {
        add("mcp-protocol-version", version);
    }
    headers
}

fn modern(parameters: &Parameters, message: &Value) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
    let params = &message["params"];
    let claimed = params["_meta"][revision::PROTOCOL_VERSION].as_str();
    add("mcp-protocol-version", claimed.unwrap_or(Revision::V2026_07_28.date()).to_owned());
    let Some(method) = message["method"].as_str().filter(|_| message.get("id").is_some()) else {
        return headers;
    };
    add("mcp-method", method.to_owned());
    let subject = match method {
        "tools/call" | "prompts/get" => &params["name"],
        "resources/read" => &params["uri"],
        "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
        _ => &Value::Null,
    };
    if let Some(subject) = subject.as_str() {
        add("mcp-name", encoded(subject));
    }
    if method == "tools/call" {
        for (name, place) in parameters.of(subject.as_str().unwrap_or_default()) {
            if let Some(value) = params["arguments"].pointer(&place).and_then(plain) {
                add(&format!("mcp-param-{}", name.to_ascii_lowercase()), encoded(&value));
            }
        }
    }
    headers
}

/// An argument as a header says it; `None` where no header is due.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The text itself, or in base64 where it could not be a header or would be taken for base64.
pub(crate) fn encoded(text: &str) -> String {
    let visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if visible && text.trim() == text && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    sentinel(text)
}

/// The text in base64, marked as such.
pub(crate) fn sentinel(text: &str) -> String {
    format!("=?base64?{}?=", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_a_header_is_encoded() {
        for (text, header) in [
            ("add", "add"),
            ("two words", "two words"),
            (" edge", "=?base64?IGVkZ2U=?="),
            ("né", "=?base64?bsOp?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encoded(text), header, "{text}");
        }
    }

    #[test]
    fn annotated_arguments_are_repeated() {
        let parameters = Parameters::default();
        let inner = json!({"type": "object", "properties": {"b": {"x-mcp-header": "Bee"}}});
        let properties = json!({"a": inner, "c": {"x-mcp-header": "Sea"}, "d": {}});
        let tool = json!({"name": "t", "inputSchema": {"properties": properties}});
        parameters.learn(&json!({"result": {"tools": [tool]}}));
        let call = json!({
            "id": 1, "method": "tools/call",
            "params": {"name": "t", "arguments": {"a": {"b": true}, "c": null, "d": 1}},
        });
        let headers = headers(Revision::V2026_07_28, &Session::default(), &parameters, &call);
        let has = |name: &str, value: &str| headers.contains(&(name.to_owned(), value.to_owned()));
        assert!(has("mcp-param-bee", "true") && has("mcp-name", "t"), "{headers:?}");
        assert_eq!(headers.len(), 4, "{headers:?}");
    }
}
