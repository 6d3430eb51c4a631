//! The headers that say a second time what a message of 2026-07-28 says. A server on standard
//! streams never sees them, so the bridge compares.

use crate::revision::PROTOCOL_VERSION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use serde_json::{Number, Value};
use std::collections::HashMap;

pub(super) const VERSION: &str = "mcp-protocol-version";

/// The headers that begin with `mcp-`. One that comes twice has no value.
pub(super) struct Routing {
    pub(super) version: Option<String>,
    values: HashMap<String, Option<String>>,
}

impl Routing {
    pub(super) fn read(headers: &HeaderMap) -> Routing {
        let names = headers.keys().map(|name| name.as_str()).filter(|it| it.starts_with("mcp-"));
        let value = |name: &str| only(headers, name).map(str::to_owned);
        let values: HashMap<_, _> = names.map(|name| (name.to_owned(), value(name))).collect();
        Routing { version: value(VERSION), values }
    }

    /// What contradicts the message; `parameters` are the names and places of the arguments that
    /// are to be repeated.
    pub(super) fn check(
        &self,
        message: &Value,
        parameters: &[(String, String)],
    ) -> Result<(), String> {
        let params = &message["params"];
        self.agree(VERSION, &params["_meta"][PROTOCOL_VERSION])?;
        self.agree("mcp-method", &message["method"])?;
        let subject = match message["method"].as_str().unwrap_or_default() {
            "tools/call" | "prompts/get" => &params["name"],
            "resources/read" => &params["uri"],
            "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
            _ => &Value::Null,
        };
        // One that is no string is for the server to refuse.
        if subject.is_string() {
            self.agree("mcp-name", subject)?;
        }
        for (name, place) in parameters {
            let header = format!("mcp-param-{}", name.to_ascii_lowercase());
            let argument = params["arguments"].pointer(place).unwrap_or(&Value::Null);
            self.agree(&header, argument)?;
        }
        Ok(())
    }

    /// A header is there if and only if the value is, and says the same.
    fn agree(&self, header: &str, expected: &Value) -> Result<(), String> {
        match (self.values.get(header), expected) {
            (None, Value::Null) => Ok(()),
            (None, _) => Err(format!("The header {header} is missing")),
            (Some(None), _) => Err(format!("The header {header} is not there once, in ASCII")),
            (Some(Some(given)), expected) => match decoded(given) {
                Some(given) if is_same(expected, &given) => Ok(()),
                Some(_) => Err(format!("The header {header} is not what the body says")),
                None => Err(format!("The header {header} is not the base64 it says it is")),
            },
        }
    }
}

/// The value of a header that may come once only.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then(|| value.trim_ascii())
}

/// The value itself, or what stands for it in base64.
fn decoded(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(encoded) = encoded else { return Some(value.to_owned()) };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn is_same(expected: &Value, given: &str) -> bool {
    match expected {
        Value::String(text) => text == given,
        Value::Bool(flag) => given == flag.to_string(),
        Value::Number(number) => {
            given.parse::<Number>().is_ok_and(|given| given.as_f64() == number.as_f64())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_header_says_what_the_body_says_or_is_refused() {
        let message = json!({"method": "tools/call", "params": {
            "name": "né", "arguments": {"n": 1, "b": true},
            "_meta": {PROTOCOL_VERSION: "2026-07-28"},
        }});
        let parameters =
            [("N", "/n"), ("B", "/b"), ("X", "/x")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let good = [
            (VERSION, "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?bsOp?="),
            ("mcp-param-n", "1.0"),
            ("mcp-param-b", "true"),
        ];
        let check = |changed: &str, value: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in good.iter().filter(|(name, _)| *name != changed) {
                headers.insert(*name, value.parse().unwrap());
            }
            if let Some(value) = value {
                headers.insert(
                    hyper::header::HeaderName::from_bytes(changed.as_bytes()).unwrap(),
                    value.parse().unwrap(),
                );
            }
            Routing::read(&headers).check(&message, &parameters).is_ok()
        };
        assert!(check("none", None));
        for (name, _) in good {
            assert!(!check(name, None), "without {name}");
            assert!(!check(name, Some("2")), "{name} is another");
        }
        assert!(!check("mcp-name", Some("=?base64?!?=")), "not base64");
        assert!(!check("mcp-param-x", Some("1")), "a header without its argument");
    }
}
