//! A call of 2026-07-28 that outlives the process it began in, and log lines that name the trace
//! they belong to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::built::{CHARGER, binary};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

/// Asks a fresh process one thing and kills it once it has answered.
fn ask_and_kill(key_file: &Path, params: &Value) -> Value {
    let mut server = Command::new(binary(CHARGER))
        .arg("--state-key-file")
        .arg(key_file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{}", request(params)).unwrap();
    let mut answer = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    serde_json::from_str(&answer).unwrap()
}

fn request(params: &Value) -> Value {
    let mut params = params.clone();
    let meta = params["_meta"].take();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "traceparent": meta["traceparent"],
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

#[test]
fn a_call_goes_on_in_another_process_and_its_effects_happen_once() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("keys");
    let charges = folder.path().join("charges");
    std::fs::write(&key_file, KEY).unwrap();
    let mut params = json!({"name": "charge", "arguments": {"file": charges}});
    for key in ["sure", "really"] {
        let asked = ask_and_kill(&key_file, &params);
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        assert!(result["inputRequests"].get(key).is_some(), "{asked}");
        params["requestState"] = result["requestState"].clone();
        let yes = json!({"action": "accept", "content": {"yes": true}});
        params["inputResponses"] = json!({ key: yes });
    }
    let done = ask_and_kill(&key_file, &params);
    assert_eq!(done["result"]["content"][0]["text"], "charged", "{done}");
    assert_eq!(std::fs::read_to_string(&charges).unwrap(), "first\nsecond\n");

    // With another key the state is worthless.
    std::fs::write(&key_file, KEY.replace("AAEC", "CAEC")).unwrap();
    let refused = ask_and_kill(&key_file, &params);
    assert_eq!(refused["error"]["message"], "Invalid or expired `requestState`", "{refused}");
}

#[test]
fn a_key_file_that_holds_no_keys_stops_the_start_and_is_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("keys");
    for text in ["", "# nothing\n", "c2VjcmV0\n", "not base64 secret\n"] {
        std::fs::write(&key_file, text).unwrap();
        let Output { status, stderr, .. } = Command::new(binary(CHARGER))
            .arg("--state-key-file")
            .arg(&key_file)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("--state-key-file") && !stderr.contains("secret"), "{stderr}");
    }
}

#[test]
fn a_log_line_names_the_trace_of_its_request() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (sent, logged) in [(TRACE, true), ("00-short-00f067aa0ba902b7-01", false)] {
        let mut server = Command::new(binary(CHARGER))
            .args(["--log-format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A folder cannot be appended to, so the tool fails and says why in the log.
        let call =
            json!({"name": "charge", "arguments": {"file": "/"}, "_meta": {"traceparent": sent}});
        writeln!(server.stdin.take().unwrap(), "{}", request(&call)).unwrap();
        let finished = server.wait_with_output().unwrap();
        let line: Value = serde_json::from_slice(&finished.stderr).unwrap();
        assert_eq!(line["level"], "WARN", "{line}");
        let trace = line["span"]["traceparent"].as_str();
        assert_eq!(trace, logged.then_some(TRACE), "{line}");
        let answer: Value = serde_json::from_slice(&finished.stdout).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, "The charge could not be written.");
    }
}
