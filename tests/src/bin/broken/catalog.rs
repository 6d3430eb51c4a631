//! What the server serves: its tools, a resource, a template, a prompt.

use serde_json::{Value, json};

pub(crate) const COUNTER: &str = "memory:counter";
/// A page for hosts to show.
pub(crate) const PAGE: &str = "ui://counter";
pub(crate) const PAGE_TYPE: &str = "text/html;profile=mcp-app";
/// The header that repeats an argument of `add`.
pub(crate) const UNIT_HEADER: &str = "mcp-param-unit";

/// Every capability, in the form all revisions share.
pub(crate) fn capabilities() -> Value {
    json!({
        "tools": {},
        "resources": {"subscribe": true},
        "prompts": {},
        "completions": {},
        "logging": {},
    })
}

pub(crate) fn tools() -> Value {
    let number = json!({"type": "number"});
    let unit = json!({"type": "string", "x-mcp-header": "Unit"});
    let mut add = object(json!({"a": number, "b": number, "unit": unit}), &["a", "b"]);
    add["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    let whole = json!({"type": "integer", "minimum": 0});
    let steps = json!({"type": "integer", "minimum": 1, "maximum": 3600});
    json!([
        {
            "name": "add",
            "description": "Adds two numbers.",
            "_meta": {"ui": {"resourceUri": PAGE}},
            "inputSchema": add,
            "outputSchema": object(json!({"sum": number}), &["sum"]),
        },
        {
            "name": "count",
            "description": "Counts up, one step per tick.",
            "inputSchema": object(json!({"steps": steps, "tick_ms": steps}), &["steps", "tick_ms"]),
            "outputSchema": object(json!({"steps": {"type": "integer"}}), &["steps"]),
        },
        {
            "name": "fail",
            "description": "Fails.",
            "inputSchema": object(json!({}), &[]),
        },
        {
            "name": "confirm",
            "description": "Asks the user.",
            "inputSchema": object(json!({"number": whole, "once": {"type": "boolean"}}), &["number"]),
        },
        {
            "name": "consult",
            "description": "Asks the model.",
            "inputSchema": object(json!({"number": whole}), &["number"]),
        },
        {
            "name": "confer",
            "description": "Asks the user and the model.",
            "inputSchema": object(json!({"number": whole}), &["number"]),
        },
        {
            "name": "visit",
            "description": "Asks the user to open a page.",
            "inputSchema": object(json!({"number": whole}), &["number"]),
        },
        {
            "name": "work",
            "description": "Works, as a task if that is wanted.",
            "inputSchema": object(json!({"how": {"type": "string"}}), &["how"]),
            "execution": {"taskSupport": "optional"},
        },
        {
            "name": "must",
            "description": "Works, as a task.",
            "inputSchema": object(json!({"how": {"type": "string"}}), &[]),
            "execution": {"taskSupport": "required"},
        },
    ])
}

pub(crate) fn resources() -> Value {
    json!([
        {"uri": COUNTER, "name": "counter", "mimeType": "text/plain"},
        {"uri": PAGE, "name": "page", "mimeType": PAGE_TYPE},
    ])
}

pub(crate) fn templates() -> Value {
    json!([{"uriTemplate": "memory:square/{number}", "name": "square"}])
}

pub(crate) fn prompts() -> Value {
    json!([{"name": "greet", "arguments": [{"name": "name", "required": true}]}])
}

/// The result of a tool that failed in a way its caller can mend.
pub(crate) fn tool_error(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// The result of a tool, as text and as data.
pub(crate) fn tool_result(structured: Value) -> Value {
    let text = structured.to_string();
    json!({"content": [{"type": "text", "text": text}], "structuredContent": structured})
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
