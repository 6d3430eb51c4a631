//! What the answer to a request may hold, by method and revision.

use crate::findings::Findings;
use crate::revision::Revision;
use serde_json::{Map, Value};

type Faults = Vec<(&'static str, String)>;

/// Values that belong to the server's own domain, where the protocol's words mean nothing.
const OPAQUE_KEYS: &[&str] =
    &["structuredContent", "data", "arguments", "inputSchema", "outputSchema"];
/// The most values one completion may return.
const COMPLETION_VALUES: usize = 100;
const CACHEABLE: &[&str] = &[
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// Judges a response to `method` in `revision`.
pub(super) fn faults(
    revision: Revision,
    method: &str,
    takes_tasks: bool,
    message: &Value,
    findings: &Findings,
) -> Faults {
    let mut rules = Rules { findings, faults: Faults::new() };
    if let Some(error) = message.get("error") {
        rules.error(revision, error);
    } else if let Some(result) = message.get("result") {
        rules.kind(revision, method, takes_tasks, result);
        rules.content(revision, method, result);
        rules.structure(revision, method, result);
    }
    rules.faults
}

/// Calls `visit` on every object of a message, but not inside what belongs to the server.
pub(super) fn walk(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            let open = object.iter().filter(|(key, _)| !OPAQUE_KEYS.contains(&key.as_str()));
            open.for_each(|(_, child)| walk(child, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

struct Rules<'a> {
    findings: &'a Findings,
    faults: Faults,
}

impl Rules<'_> {
    fn require(&mut self, id: &'static str, holds: bool, fault: impl FnOnce() -> String) {
        self.findings.judged(id);
        if !holds {
            self.faults.push((id, fault()));
        }
    }

    fn error(&mut self, revision: Revision, error: &Value) {
        let Some(code) = error["code"].as_i64() else {
            return;
        };
        if !revision.is_modern() {
            if revision == Revision::V2025_11_25 && code == -32042 {
                self.url_elicitations(&error["data"]["elicitations"]);
            }
            return;
        }
        let retired = [-32002, -32042].contains(&code);
        self.require("S-016", !retired, || format!("code {code} is gone from this revision"));
        let defined = [-32020, -32021, -32022].contains(&code);
        let free = !(-32099..=-32000).contains(&code);
        self.require("S-015", defined || free || retired, || format!("code {code} is reserved"));
    }

    /// What the error lists that sends a person to a page first (2025-11-25).
    fn url_elicitations(&mut self, listed: &Value) {
        let is_whole = |listed: &Value| {
            let has = |name: &str| listed[name].as_str().is_some_and(|text| !text.is_empty());
            listed["mode"] == "url" && ["elicitationId", "url", "message"].into_iter().all(has)
        };
        let all = listed.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_whole));
        self.require("S-195", all, || format!("its elicitations are {listed}"));
    }

    /// `resultType` and the caching hints: required in the newest revision, unknown before.
    fn kind(&mut self, revision: Revision, method: &str, takes_tasks: bool, result: &Value) {
        if !revision.is_modern() {
            let modern = ["resultType", "ttlMs", "cacheScope"].into_iter();
            let leaked: Vec<_> = modern.filter(|key| result.get(key).is_some()).collect();
            self.require("S-033", leaked.is_empty(), || {
                format!("{} belong to 2026-07-28", leaked.join(", "))
            });
            return;
        }
        let kind = result["resultType"].as_str();
        self.require("S-013", kind.is_some(), || "a result without `resultType`".to_owned());
        let Some(kind) = kind else { return };
        let is_task = kind == "task";
        if is_task || method.starts_with("tasks/") {
            let fault = || format!("{method} is answered by a result of type \"{kind}\"");
            self.require("S-221", is_task == (method == "tools/call"), fault);
        }
        let core = ["complete", "input_required"].contains(&kind) || is_task && takes_tasks;
        for id in ["S-014", "S-060"] {
            self.require(id, core, || {
                format!("resultType \"{kind}\" needs an extension no one declared")
            });
        }
        let hinted = result.get("ttlMs").is_some() || result.get("cacheScope").is_some();
        if kind == "input_required" {
            self.require("S-173", !hinted, || "caching hints on input_required".to_owned());
        } else if CACHEABLE.contains(&method) {
            let scope = result["cacheScope"].as_str();
            let valid = result["ttlMs"].is_u64() && matches!(scope, Some("public" | "private"));
            self.require("S-172", valid, || {
                "`ttlMs` or `cacheScope` is missing or invalid".to_owned()
            });
        }
    }

    fn content(&mut self, revision: Revision, method: &str, result: &Value) {
        match method {
            "tools/call" => {
                for block in items(&result["content"]) {
                    let fault = block_fault(revision, block);
                    self.require("S-146", fault.is_none(), || fault.unwrap_or_default());
                }
            }
            "prompts/get" => {
                for message in items(&result["messages"]) {
                    let fault = block_fault(revision, &message["content"]);
                    self.require("S-162", fault.is_none(), || fault.unwrap_or_default());
                }
            }
            "resources/read" => {
                for blob in items(&result["contents"]).filter_map(|content| content.get("blob")) {
                    self.require("S-156", is_base64(blob), || "`blob` is not base64".to_owned());
                }
            }
            "completion/complete" => {
                let count = items(&result["completion"]["values"]).count();
                self.require("S-165", count <= COMPLETION_VALUES, || format!("{count} values"));
            }
            _ => {}
        }
    }

    fn structure(&mut self, revision: Revision, method: &str, result: &Value) {
        if !matches!(revision, Revision::V2025_06_18 | Revision::V2025_11_25) {
            return;
        }
        if let Some(structured) = result.get("structuredContent").filter(|_| method == "tools/call")
        {
            self.require("S-145", structured.is_object(), || {
                "`structuredContent` is not an object".to_owned()
            });
        }
        for tool in items(&result["tools"]).filter(|tool| tool.get("outputSchema").is_some()) {
            self.require("S-145", tool["outputSchema"]["type"] == "object", || {
                format!("the outputSchema of {} is not rooted in an object", tool["name"])
            });
        }
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn block_fault(revision: Revision, block: &Value) -> Option<String> {
    let kind = block["type"].as_str().unwrap_or_default();
    let since = match kind {
        "text" | "image" | "resource" => Revision::V2024_11_05,
        "audio" => Revision::V2025_03_26,
        "resource_link" => Revision::V2025_06_18,
        _ => return Some(format!("content of the unknown type \"{kind}\"")),
    };
    if revision < since {
        return Some(format!("content of type \"{kind}\" came with {since}"));
    }
    let resource = &block["resource"];
    let (valid, what) = match kind {
        "text" => (block["text"].is_string(), "text content without text"),
        "image" | "audio" => {
            let valid = is_base64(&block["data"]) && is_mime(&block["mimeType"]);
            (valid, "media without base64 data and a MIME type")
        }
        "resource" => {
            let held = resource["text"].is_string() || is_base64(&resource["blob"]);
            (resource["uri"].is_string() && held, "an embedded resource without uri and content")
        }
        _ => (block["uri"].is_string() && block["name"].is_string(), "a link without uri and name"),
    };
    (!valid).then(|| what.to_owned())
}

fn is_mime(value: &Value) -> bool {
    let parts = value.as_str().and_then(|text| text.split_once('/'));
    parts.is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty())
}

fn is_base64(value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64() {
        let table = [("", true), ("QQ==", true), ("QUI=", true), ("QUJD", true), ("QQ", false)];
        for (text, valid) in table.into_iter().chain([("QQ-_", false), ("Q===", false)]) {
            assert_eq!(is_base64(&json!(text)), valid, "{text}");
        }
    }

    #[test]
    fn blocks_by_revision() {
        let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
        let audio = json!({"type": "audio", "data": "QQ==", "mimeType": "audio/wav"});
        let table = [
            (Revision::V2024_11_05, &audio, false),
            (Revision::V2025_03_26, &audio, true),
            (Revision::V2025_03_26, &link, false),
            (Revision::V2025_06_18, &link, true),
        ];
        for (revision, block, valid) in table {
            assert_eq!(block_fault(revision, block).is_none(), valid, "{revision} {block}");
        }
    }

    #[test]
    fn url_elicitations_in_an_error_are_whole() {
        let whole =
            json!({"mode": "url", "elicitationId": "1", "url": "https://a", "message": "m"});
        let form =
            json!({"mode": "form", "elicitationId": "1", "url": "https://a", "message": "m"});
        let table = [
            (json!({"elicitations": [whole]}), true),
            (json!({"elicitations": [whole, form]}), false),
            (json!({"elicitations": []}), false),
            (json!(null), false),
        ];
        for (data, valid) in table {
            let error = json!({"code": -32042, "message": "m", "data": data});
            let message = json!({"error": error});
            let faults =
                faults(Revision::V2025_11_25, "tools/call", false, &message, &Findings::default());
            assert_eq!(faults.is_empty(), valid, "{message}");
        }
    }

    #[test]
    fn codes_of_the_newest_revision() {
        let table: &[(i64, &[&str])] = &[
            (-32602, &[]),
            (-32022, &[]),
            (-32099, &["S-015"]),
            (-32001, &["S-015"]),
            (-32002, &["S-016"]),
            (-32042, &["S-016"]),
            (7, &[]),
        ];
        for (code, expected) in table {
            let message = json!({"error": {"code": code, "message": "m"}});
            let faults =
                faults(Revision::V2026_07_28, "ping", false, &message, &Findings::default());
            let ids: Vec<_> = faults.into_iter().map(|(id, _)| id).collect();
            assert_eq!(ids, *expected, "{code}");
        }
    }
}
