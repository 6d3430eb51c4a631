//! Messages are judged by the definition that fits them, in the revision they belong to.
//!
//! The official schemas are not in this repository, so these tests bring small ones of their own;
//! with `MCP_SCHEMA_DIR` set, `defects.rs` judges real traffic by the real ones.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use workspace_tests::revision::{ALL, Revision};
use workspace_tests::schema::Schemas;

use Revision::{V2024_11_05, V2025_11_25, V2026_07_28};

#[test]
fn calls_are_judged_by_method() {
    let schemas = sample("calls");
    let table = [
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}), true),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}), false),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "unheard/of"}), true),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "unheard/of"}), false),
        (
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}),
            true,
        ),
        (json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}), false),
    ];
    for (message, fits) in table {
        for revision in [V2024_11_05, V2026_07_28] {
            let judged = schemas.check_call(revision, &message);
            assert_eq!(judged.is_ok(), fits, "{revision} {message} {judged:?}");
        }
    }
}

#[test]
fn results_are_judged_by_the_method_they_answer() {
    let schemas = sample("results");
    let result = |value: Value| json!({"jsonrpc": "2.0", "id": 1, "result": value});
    let table = [
        ("tools/call", result(json!({"content": []})), true),
        ("tools/call", result(json!({})), false),
        ("tools/list", result(json!({})), true),
        ("", result(json!({})), true),
        ("tools/call", result(json!({"resultType": "input_required"})), true),
        ("tools/call", json!({"jsonrpc": "2.0", "result": {"content": []}}), false),
    ];
    for (method, message, fits) in table {
        let judged = schemas.check_response(V2025_11_25, method, &message);
        assert_eq!(judged.is_ok(), fits, "{method} {message} {judged:?}");
    }
}

#[test]
fn an_error_about_an_unreadable_message_may_lack_its_id() {
    let schemas = sample("errors");
    let error = json!({"code": -32700, "message": "m"});
    let table = [
        (V2024_11_05, json!({"jsonrpc": "2.0", "id": null, "error": error}), true),
        (V2024_11_05, json!({"jsonrpc": "2.0", "error": error}), true),
        (V2025_11_25, json!({"jsonrpc": "2.0", "error": error}), true),
        (V2025_11_25, json!({"jsonrpc": "2.0", "id": null, "error": error}), false),
        (
            V2025_11_25,
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1.5, "message": "m"}}),
            false,
        ),
    ];
    for (revision, message, fits) in table {
        let judged = schemas.check_response(revision, "ping", &message);
        assert_eq!(judged.is_ok(), fits, "{revision} {message} {judged:?}");
    }
}

#[test]
fn a_folder_without_schemas_is_an_error() {
    let error = Schemas::load(Path::new("/nonexistent")).err().unwrap();
    assert!(format!("{error:#}").contains("2024-11-05"), "{error:#}");
}

/// A folder of small schemas with the names the official ones use.
fn sample(test: &str) -> Schemas {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schemas").join(test);
    for &revision in ALL {
        let path = folder.join(revision.date());
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("schema.json"), definitions(revision).to_string()).unwrap();
    }
    Schemas::load(&folder).unwrap()
}

fn definitions(revision: Revision) -> Value {
    let old = revision < V2025_11_25;
    let id = json!({"type": ["string", "integer"]});
    let rpc = json!({"const": "2.0"});
    let object = |required: &[&str]| json!({"type": "object", "required": required});
    let params = |required: &[&str]| json!({"properties": {"params": object(required)}});
    let envelope = |required: &[&str]| json!({"type": "object", "required": required, "properties": {"jsonrpc": rpc, "id": id}});
    let mut error = envelope(if old { &["jsonrpc", "id", "error"] } else { &["jsonrpc", "error"] });
    error["properties"]["error"] = json!({"properties": {"code": {"type": "integer"}}});
    let key = if old { "definitions" } else { "$defs" };
    json!({ key: {
        "JSONRPCRequest": envelope(&["jsonrpc", "id", "method"]),
        "JSONRPCNotification": envelope(&["jsonrpc", "method"]),
        if old { "JSONRPCError" } else { "JSONRPCErrorResponse" }: error,
        if old { "JSONRPCResponse" } else { "JSONRPCResultResponse" }: envelope(&["jsonrpc", "id", "result"]),
        "CallToolRequest": params(&["name"]),
        "ProgressNotification": params(&["progress"]),
        "CallToolResult": object(&["content"]),
        "InputRequiredResult": object(&["resultType"]),
    }})
}
