//! Requests as byte templates and replies as bytes scanned for a few marks. The driver shares two
//! cores with the server under test, so it must cost far less than any server it measures.

use std::sync::LazyLock;

use memchr::memmem::{Finder, find};

use super::subject::MODERN;

const CLIENT: &str = r#"{"name":"bench","version":"1.0.0"}"#;
/// Capabilities of a client that can be asked nothing, and of one that fills in forms.
const NOTHING: &str = "{}";
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

/// The first request of a conversation: `initialize`, or `server/discover` where there is no
/// handshake.
pub(crate) fn hello(revision: &str) -> Vec<u8> {
    let (method, params) = if revision == MODERN {
        ("server/discover", envelope(NOTHING))
    } else {
        let params = format!(
            r#""protocolVersion":"{revision}","capabilities":{FORMS},"clientInfo":{CLIENT}"#
        );
        ("initialize", params)
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"{method}\",\"params\":{{{params}}}}}\n")
        .into_bytes()
}

pub(crate) const INITIALIZED: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// A `tools/call` cut at the two places that change from call to call.
pub(crate) struct Call {
    before_id: Vec<u8>,
    before_value: Vec<u8>,
    after_value: Vec<u8>,
}

impl Call {
    /// `calculate_sum {a: value, b: 1}`
    pub(crate) fn sum(revision: &str) -> Self {
        Self::new(revision, NOTHING, "calculate_sum", r#"{"a":"#, r#","b":1}"#)
    }

    /// `echo {message: value}`
    pub(crate) fn echo(revision: &str) -> Self {
        Self::new(revision, NOTHING, "echo", r#"{"message":""#, r#""}"#)
    }

    /// `calculate_power {base: 10, exponent: value}`
    pub(crate) fn power(revision: &str) -> Self {
        Self::new(revision, FORMS, "calculate_power", r#"{"base":10,"exponent":"#, "}")
    }

    /// The same again with exponent 40 and an answer to what was asked; the value is the state.
    pub(crate) fn power_again(answer: &str) -> Self {
        let open = format!(
            r#"{{"base":10,"exponent":40}},"inputResponses":{{"large":{answer}}},"requestState":""#
        );
        Self::new(MODERN, FORMS, "calculate_power", &open, "\"")
    }

    fn new(revision: &str, client: &str, tool: &str, open: &str, close: &str) -> Self {
        let meta =
            if revision == MODERN { format!(",{}", envelope(client)) } else { String::new() };
        let head =
            format!(r#","method":"tools/call","params":{{"name":"{tool}","arguments":{open}"#);
        Self {
            before_id: br#"{"jsonrpc":"2.0","id":"#.to_vec(),
            before_value: head.into_bytes(),
            after_value: format!("{close}{meta}}}}}\n").into_bytes(),
        }
    }

    pub(crate) fn write(&self, id: u64, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before_id);
        out.extend_from_slice(id.to_string().as_bytes());
        out.extend_from_slice(&self.before_value);
        out.extend_from_slice(value);
        out.extend_from_slice(&self.after_value);
    }
}

fn envelope(capabilities: &str) -> String {
    let key = "io.modelcontextprotocol";
    format!(
        r#""_meta":{{"{key}/protocolVersion":"{MODERN}","{key}/clientInfo":{CLIENT},"{key}/clientCapabilities":{capabilities}}}"#
    )
}

/// Whether a line answers a request and does so with success.
pub(crate) fn is_success(line: &[u8]) -> bool {
    static RESULT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""result":"#));
    RESULT.find(line).is_some() && find(line, br#""isError":true"#).is_none()
}

/// Whether a line carries no `method`, so that it answers a request.
pub(crate) fn is_reply(line: &[u8]) -> bool {
    static METHOD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""method":"#));
    // A long reply begins with its envelope; its payload need not be searched.
    METHOD.find(line.get(..256).unwrap_or(line)).is_none()
}

/// The sealed state of a call that waits for answers: letters that need no unescaping.
pub(crate) fn request_state(line: &[u8]) -> Option<&[u8]> {
    let before = br#""requestState":""#;
    let state = line.get(find(line, before)? + before.len()..)?;
    state.get(..memchr::memchr(b'"', state)?)
}

/// The number after the first `"id":`.
pub(crate) fn id(line: &[u8]) -> Option<u64> {
    static ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""id":"#));
    let digits = line.get(ID.find(line)? + 5..)?.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |id, digit| Some(id.unwrap_or(0) * 10 + u64::from(digit - b'0')))
}

/// Whether `calculate_sum` gave this sum: in its structured content, or, in revisions that have
/// none, in its text.
pub(crate) fn has_sum(line: &[u8], sum: u64) -> bool {
    let forms = [format!(r#""sum":{sum}"#), format!(r#"\"sum\":{sum}"#)];
    forms.iter().any(|form| find(line, form.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_json_with_the_values_in_place() {
        for revision in ["2025-11-25", MODERN] {
            let mut line = Vec::new();
            Call::sum(revision).write(7, b"41", &mut line);
            let request: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(request["id"], 7);
            assert_eq!(request["params"]["arguments"], serde_json::json!({"a": 41, "b": 1}));
            assert_eq!(request["params"].get("_meta").is_some(), revision == MODERN);
            serde_json::from_slice::<serde_json::Value>(&hello(revision)).unwrap();
        }
        let mut line = Vec::new();
        Call::power_again("{}").write(8, b"abc", &mut line);
        let request: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(request["params"]["requestState"], "abc");
        assert_eq!(request_state(&line), Some(b"abc".as_slice()));
    }

    #[test]
    fn replies_are_told_apart() {
        for (line, reply, success, number) in [
            (r#"{"jsonrpc":"2.0","id":12,"result":{}}"#, true, true, Some(12)),
            (r#"{"jsonrpc":"2.0","id":12,"result":{"isError":true}}"#, true, false, Some(12)),
            (r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603}}"#, true, false, Some(3)),
            (r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, false, false, None),
        ] {
            assert_eq!(is_reply(line.as_bytes()), reply, "{line}");
            assert_eq!(is_success(line.as_bytes()), success, "{line}");
            assert_eq!(id(line.as_bytes()), number, "{line}");
        }
    }
}
