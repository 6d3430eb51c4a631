//! Whatever bytes come, the server answers the next request, says nothing that is not JSON-RPC,
//! and gives each request that is one exactly one answer.

use mcp::Revision;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{State, server};
use crate::raw::{PING, modern, pong, raw_with};

fn messages() -> Vec<String> {
    let call = |name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
            .to_string()
    };
    vec![
        call("number", json!({})),
        call("strict", json!({"count": 1, "corner": {"x": -5}})),
        call("fail", json!({})),
        r#"{"jsonrpc":"2.0","id":"a\"b","method":"resources/read","params":{"uri":"fixture://files/%41/b"}}"#.to_owned(),
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"greet","arguments":{"name":"é"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}"#.to_owned(),
        modern(json!(9), "tools/list", json!({"cursor": "AAAA"})),
        modern(json!(10), "completion/complete", json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}})),
        modern(json!(11), "tools/call", json!({"name": "number", "requestState": "AAAA", "inputResponses": {}})),
    ]
}

/// One of the messages with some bytes changed, dropped or put in.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..3u8, any::<u8>());
    (prop::sample::select(messages()), prop::collection::vec(change, 0..6)).prop_map(
        |(message, changes)| {
            let mut bytes = message.into_bytes();
            for (index, kind, byte) in changes {
                let at = index.index(bytes.len().max(1)).min(bytes.len());
                match kind {
                    0 if at < bytes.len() => bytes[at] = byte,
                    1 if at < bytes.len() => drop(bytes.remove(at)),
                    _ => bytes.insert(at, byte),
                }
            }
            bytes.retain(|byte| *byte != b'\n');
            bytes
        },
    )
}

async fn survives(revision: Revision, lines: Vec<Vec<u8>>) -> Result<(), TestCaseError> {
    let mut peer = raw_with(server(State::new()));
    peer.initialize(revision).await;
    for line in lines {
        peer.send_bytes(&line).await;
    }
    peer.send(PING).await;
    loop {
        let message = peer.receive().await;
        if message == pong() {
            return Ok(());
        }
        for message in message.as_array().cloned().unwrap_or_else(|| vec![message]) {
            prop_assert_eq!(&message["jsonrpc"], "2.0", "{}", message);
            let parts =
                ["result", "error", "method"].iter().filter(|key| message.get(key).is_some());
            prop_assert_eq!(parts.count(), 1, "{}", message);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_leave_the_server_alive(
        lines in prop::collection::vec(mutated(), 1..8),
        revision in prop::sample::select(Revision::ALL[..4].to_vec()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(survives(revision, lines))?;
    }
}
