//! What can be said of a message without knowing what was asked.

use crate::watch::result::walk;
use serde_json::Value;

type Faults = Vec<(&'static str, String)>;

/// Reads one line of the server's stdout.
pub(super) fn parse(line: &[u8]) -> Result<Value, Faults> {
    let Ok(text) = std::str::from_utf8(line) else {
        let fault = "the line is not UTF-8".to_owned();
        return Err(vec![("S-001", fault.clone()), ("S-071", fault)]);
    };
    serde_json::from_str(text).map_err(|error| {
        let mut faults =
            vec![("S-071", format!("stdout carries a line that is not JSON ({error})"))];
        let fragment = text.trim_start().starts_with(['{', '[', '}', ']']);
        if text.trim().is_empty() || error.is_eof() || fragment {
            faults.push(("S-070", "a message does not fill exactly one line".to_owned()));
        }
        faults
    })
}

/// Judges a parsed message alone.
pub(super) fn faults(message: &Value) -> Faults {
    let mut faults = Faults::new();
    if !message.is_object() {
        return vec![("S-071", "not a JSON-RPC message of this revision".to_owned())];
    }
    if message["jsonrpc"] != "2.0" {
        faults.push(("S-001", "`jsonrpc` is not \"2.0\"".to_owned()));
    }
    let (result, error) = (message.get("result"), message.get("error"));
    match message.get("method") {
        Some(Value::String(method)) => {
            if method.starts_with("notifications/") && message.get("id").is_some() {
                faults.push(("S-007", "a notification carries an id".to_owned()));
            }
            if message.get("params").is_some_and(|params| !params.is_object()) {
                faults.push(("S-071", "`params` is not an object".to_owned()));
            }
        }
        Some(_) => faults.push(("S-071", "`method` is not a string".to_owned())),
        None if result.is_none() && error.is_none() => {
            faults.push(("S-071", "neither request, notification nor response".to_owned()));
        }
        None => faults.extend(response_faults(result, error)),
    }
    meta_faults(message, &mut faults);
    faults
}

/// True when the message holds `_meta` anywhere.
pub(super) fn has_meta(message: &Value) -> bool {
    let mut found = false;
    walk(message, &mut |object| found |= object.contains_key("_meta"));
    found
}

fn response_faults(result: Option<&Value>, error: Option<&Value>) -> Faults {
    let mut faults = Faults::new();
    if result.is_some() && error.is_some() {
        faults.push(("S-003", "carries both `result` and `error`".to_owned()));
    }
    if result.is_some_and(|result| !result.is_object()) {
        faults.push(("S-003", "`result` is not an object".to_owned()));
    }
    if error.is_some_and(|error| !error["code"].is_i64() || !error["message"].is_string()) {
        faults.push(("S-003", "`error` lacks an integer code or a message".to_owned()));
    }
    faults
}

fn meta_faults(message: &Value, faults: &mut Faults) {
    walk(message, &mut |object| {
        let Some(meta) = object.get("_meta").and_then(Value::as_object) else {
            return;
        };
        for (key, value) in meta {
            if let Some(fault) = key_fault(key) {
                faults.push(("S-018", format!("`_meta` key \"{key}\" {fault}")));
            }
            if key == "traceparent" && !value.as_str().is_some_and(is_traceparent) {
                faults.push(("S-019", format!("traceparent {value} is not W3C trace context")));
            }
        }
    });
}

/// Keys the specification itself puts under its reserved prefix.
const DEFINED_KEYS: &[&str] = &[
    "protocolVersion",
    "clientCapabilities",
    "clientInfo",
    "logLevel",
    "serverInfo",
    "subscriptionId",
    "related-task",
    "model-immediate-response",
];

fn key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if !is_name(name) {
        return Some("has a malformed name");
    }
    let labels: Vec<&str> = prefix?.split('.').collect();
    if !labels.iter().all(|label| is_label(label)) {
        return Some("has a malformed prefix");
    }
    let reserved =
        labels.get(1).is_some_and(|label| ["modelcontextprotocol", "mcp"].contains(label));
    (reserved && !DEFINED_KEYS.contains(&name)).then_some("is not one the specification defines")
}

fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn is_name(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.is_empty()
        || name.starts_with(alphanumeric) && name.ends_with(alphanumeric) && name.chars().all(inner)
}

fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [2, 32, 16, 2] && parts.iter().all(|part| hex(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_keys() {
        let table = [
            ("progressToken", None),
            ("io.modelcontextprotocol/serverInfo", None),
            ("io.modelcontextprotocol/homemade", Some("is not one the specification defines")),
            ("tools.mcp.com/anything", Some("is not one the specification defines")),
            ("com.example/own_key.v1", None),
            ("com.example/", None),
            ("1com.example/x", Some("has a malformed prefix")),
            ("com..example/x", Some("has a malformed prefix")),
            ("with space", Some("has a malformed name")),
        ];
        for (key, expected) in table {
            assert_eq!(key_fault(key), expected, "{key}");
        }
    }

    #[test]
    fn lines() {
        let ids = |line: &[u8]| match parse(line) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.into_iter().map(|(id, _)| id).collect(),
        };
        assert_eq!(ids(b"{\"a\":1}"), Vec::<&str>::new());
        assert_eq!(ids(b"starting up"), ["S-071"]);
        assert_eq!(ids(b"{"), ["S-071", "S-070"]);
        assert_eq!(ids(b""), ["S-071", "S-070"]);
        assert_eq!(ids(b"\xff"), ["S-001", "S-071"]);
    }
}
