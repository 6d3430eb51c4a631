//! Handshakes, the classifier, batches, and messages that are none.

use mcp::Revision;
use mcp::client::{Answering, Client, ClientError};
use serde_json::{Value, json};

use crate::fixture::{State, connect, server};
use crate::raw::{PING, initialize, modern, pong, raw};

#[tokio::test]
async fn every_revision_greets_in_its_own_words() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let greeting = client.greeting();
        assert_eq!(greeting["instructions"], "Test with it.");
        let capabilities = &greeting["capabilities"];
        assert_eq!(capabilities["tools"], json!({"listChanged": true}));
        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
        assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
        assert_eq!(capabilities["logging"], json!({}));
        assert_eq!(capabilities.get("completions").is_some(), revision > Revision::V2024_11_05);
        let info = match revision.is_stateless() {
            true => &greeting["_meta"]["io.modelcontextprotocol/serverInfo"],
            false => &greeting["serverInfo"],
        };
        let mut expected = json!({"name": "fixture", "version": "1.2.3"});
        if revision >= Revision::V2025_06_18 {
            expected["title"] = json!("Fixture");
        }
        assert_eq!(*info, expected, "{revision}");
        assert_eq!(greeting.get("resultType").is_some(), revision.is_stateless(), "{revision}");
    }
}

#[tokio::test]
async fn discover_names_only_what_its_envelope_can_speak() {
    let client = connect(&State::new(), Revision::V2026_07_28).await;
    assert_eq!(client.greeting()["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(client.greeting()["ttlMs"], 5000);
    assert_eq!(client.greeting()["cacheScope"], "public");
}

#[tokio::test]
async fn initialize_offers_the_newest_handshake_to_strangers() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let answer = raw().ask(&initialize(asked)).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}");
    }
}

/// Lines that are no request.
fn malformed() -> Vec<(&'static str, i64, Value)> {
    vec![
        ("not json", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, -32700, json!(7)),
        (r#"{"jsonrpc":"2.0","method":"ping","params":{"id":3},"id":"x""#, -32700, json!("x")),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}"#, -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7F,"method":"ping"}"#, -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"a\u{1}\",\"method\":\"ping\"}", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[1]}"#, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":1}"#, -32600, json!(7)),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":1}}"#,
            -32602,
            json!(7),
        ),
    ]
}

/// Requests that cannot be served.
fn unservable() -> Vec<(&'static str, i64, Value)> {
    vec![
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, -32601, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#, -32601, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#, -32602, json!(7)),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#,
            -32602,
            json!(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"x"}}"#,
            -32602,
            json!(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"x"}}"#,
            -32602,
            json!(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}"#,
            -32602,
            json!(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"no://x"}}"#,
            -32002,
            json!(7),
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#, -32600, json!(7)),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600, Value::Null),
        ("5", -32600, Value::Null),
    ]
}

/// Bytes in, code and id out; the connection lives on.
#[tokio::test]
async fn what_is_no_request_is_refused() {
    let mut peer = raw();
    peer.initialize(Revision::V2025_11_25).await;
    for (line, code, id) in malformed().into_iter().chain(unservable()) {
        let answer = peer.ask(line).await;
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer.get("id").cloned().unwrap_or_default(), id, "{line}: {answer}");
        assert_eq!(peer.ask(PING).await, pong(), "after {line}");
    }
}

#[tokio::test]
async fn what_needs_no_answer_gets_none() {
    let mut peer = raw();
    peer.initialize(Revision::V2025_11_25).await;
    for line in [
        "",
        " \r",
        r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"touch"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
    ] {
        peer.send(line).await;
        assert_eq!(peer.ask(PING).await, pong(), "after {line}");
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were() {
    let mut peer = raw();
    for id in ["9007199254740993", "123456789012345678901234567890", "-1", r#""ä\"\\""#, r#""""#] {
        peer.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        let answer = peer.receive().await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).expect("id"), "{answer}");
    }
}

#[tokio::test]
async fn before_initialize_only_ping_and_envelopes_are_served() {
    let mut peer = raw();
    assert_eq!(peer.ask(PING).await, pong());
    let early = peer.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(early["error"]["code"], -32602);
    assert_eq!(early["error"]["data"]["missing"][0], "io.modelcontextprotocol/protocolVersion");
    let unknown = peer.ask(r#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let listed = peer.ask(&modern(json!(3), "tools/list", json!({}))).await;
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(
        peer.initialize(Revision::V2025_06_18).await["result"]["protocolVersion"],
        "2025-06-18"
    );
    let again = peer.ask(&initialize("2025-06-18")).await;
    assert_eq!(again["error"]["code"], -32600);
    let interleaved = peer.ask(&modern(json!(4), "tools/list", json!({}))).await;
    assert_eq!(interleaved["result"]["resultType"], "complete");
}

#[tokio::test]
async fn broken_envelopes_are_refused_not_served_as_something_older() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let level = "io.modelcontextprotocol/logLevel";
    let cases = [
        (json!({version: "2026-07-28"}), -32602),
        (json!({capabilities: {}}), -32602),
        (json!({version: 5, capabilities: {}}), -32602),
        (json!({version: null, capabilities: {}}), -32602),
        (json!({version: "2026-07-28", capabilities: []}), -32602),
        (json!({version: "2025-11-25", capabilities: {}}), -32022),
        (json!({version: "v999", capabilities: {}}), -32022),
        (json!({version: "2026-07-28", capabilities: {}, level: "shouting"}), -32602),
    ];
    let mut peer = raw();
    peer.initialize(Revision::V2025_11_25).await;
    for (meta, code) in cases {
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let answer = peer.ask(&request.to_string()).await;
        assert_eq!(answer["error"]["code"], code, "{meta}");
    }
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
    {
        let answer = peer.ask(&modern(json!(2), method, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn a_batch_is_answered_as_one_array_and_only_in_its_revision() {
    let mut peer = raw();
    peer.initialize(Revision::V2025_03_26).await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},
        {"jsonrpc":"2.0","method":"notifications/unknown"},
        {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"blocking"}},
        5,
        {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}]"#;
    let answers = peer.ask(&batch.replace('\n', "")).await;
    let mut answers = answers.as_array().expect("an array").clone();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32600), None, None, Some(-32600)], "{answers:?}");
    assert_eq!(answers[0]["id"], Value::Null);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "true");

    peer.send(r#"[{"jsonrpc":"2.0","method":"notifications/unknown"}]"#).await;
    assert_eq!(peer.ask(PING).await, pong());
    let envelope = format!("[{}]", modern(json!(1), "tools/list", json!({})));
    for refused in ["[]", envelope.as_str()] {
        let answer = peer.ask(refused).await;
        assert_eq!(answer["error"]["code"], -32600, "{refused}: {answer}");
    }
}

#[tokio::test]
async fn a_table_of_contents_with_mistakes_does_not_start() {
    let broken = server(State::new()).hide_tool("no such tool").complete_prompt(
        "greet",
        "no such argument",
        |_, _| async { Ok(Vec::new()) },
    );
    assert_eq!(
        Client::in_memory(broken, Revision::V2025_11_25, Answering::nothing()).await.map(|_| ()),
        Err(ClientError::Closed)
    );
}
