//! Standard output carries the protocol and nothing else, whatever a server's own code prints.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::built::{NOISY, binary};

#[test]
fn nothing_a_handler_prints_reaches_the_protocol_stream() {
    let mut server = Command::new(binary(NOISY))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |message: Value| -> Value {
        writeln!(input, "{message}").unwrap();
        serde_json::from_str(&output.next().unwrap().unwrap()).unwrap()
    };
    let client = json!({"name": "test", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    ask(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    for kind in ["print", "partial", "thread", "child", "panic"] {
        let params = json!({"name": "noise", "arguments": {"kind": kind}});
        let answer =
            ask(json!({"jsonrpc": "2.0", "id": kind, "method": "tools/call", "params": params}));
        assert_eq!(answer["id"], kind);
        assert_eq!(answer["result"]["isError"] == true, kind == "panic", "{answer}");
    }
    drop(input);
    let finished = server.wait_with_output().unwrap();
    assert!(finished.status.success());
    // It was printed all the same: to standard error, where it does no harm.
    let stderr = String::from_utf8_lossy(&finished.stderr);
    for noise in ["while the server is built", "a handler", "a thread", "a child", "a panic"] {
        assert!(stderr.contains(noise), "{noise}: {stderr}");
    }
}
