//! Being told of changes: sessions that subscribe, and listen streams of 2026-07-28.

use mcp::Revision;
use mcp::client::{Answering, Client, Notification};
use serde_json::{Value, json};

use crate::fixture::{State, connect};
use crate::raw::{modern, raw};

const STATEFUL: [Revision; 4] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

async fn next(client: &Client) -> (String, Value) {
    let Notification { method, params } = client.notification().await.expect("a notification");
    (method.trim_start_matches("notifications/").to_owned(), params)
}

#[tokio::test]
async fn a_session_hears_of_what_it_subscribed_to() {
    for revision in STATEFUL {
        let client = connect(&State::new(), revision).await;
        let watched = json!({"uri": "fixture://watched"});
        client.call_tool("touch", json!({})).await.expect("call");
        assert_eq!(next(&client).await, ("resources/list_changed".to_owned(), json!({})));
        client.request("resources/subscribe", watched.clone()).await.expect("subscribe");
        client.call_tool("touch", json!({})).await.expect("call");
        assert_eq!(next(&client).await.0, "resources/list_changed");
        assert_eq!(next(&client).await, ("resources/updated".to_owned(), watched.clone()));
        client.request("resources/unsubscribe", watched).await.expect("unsubscribe");
        client.call_tool("touch", json!({})).await.expect("call");
        client.call_tool("show_secret", json!({"visible": true})).await.expect("call");
        for expected in ["resources/list_changed", "tools/list_changed", "prompts/list_changed"] {
            assert_eq!(next(&client).await.0, expected);
        }
        let unknown = client.request("resources/subscribe", json!({"uri": "no://x"})).await;
        assert_eq!(
            unknown.expect_err("refused").to_string(),
            "Resource not found: no://x (-32002)"
        );
    }
}

#[tokio::test]
async fn listen_streams_are_acknowledged_filtered_and_tagged() {
    let mut peer = raw();
    let filter = json!({
        "toolsListChanged": true,
        "resourceSubscriptions": ["fixture://watched", "no://x"],
    });
    let listen = |id: Value| modern(id, "subscriptions/listen", json!({"notifications": filter}));
    for id in [json!("s"), json!(0)] {
        let acknowledged = peer.ask(&listen(id.clone())).await;
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        let honoured =
            json!({"toolsListChanged": true, "resourceSubscriptions": ["fixture://watched"]});
        assert_eq!(acknowledged["params"]["notifications"], honoured);
        assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    // Not asked for: changes of the resource list. Both streams get their own copy of the rest.
    peer.ask(&modern(json!(1), "tools/call", json!({"name": "touch"}))).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let updated = peer.receive().await;
        assert_eq!(updated["method"], "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], "fixture://watched");
        ids.push(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string());
    }
    ids.sort();
    assert_eq!(ids, [r#""s""#, "0"]);
    // Cancelled: nothing more for that one, not even an answer.
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#)
        .await;
    let show = json!({"name": "show_secret", "arguments": {"visible": true}});
    peer.ask(&modern(json!(2), "tools/call", show)).await;
    let changed = peer.receive().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 0);
    // The server ends the other in both ways the specification names.
    let mut peer = peer.close_writing().await;
    let ended = peer.receive().await;
    assert_eq!(
        (&ended["method"], &ended["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(0))
    );
    let result = peer.receive().await;
    assert_eq!((&result["id"], &result["result"]["resultType"]), (&json!(0), &json!("complete")));
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 0);
    assert_eq!(peer.receive().await, Value::Null);
}

/// A call that goes on after the client has closed may change something, too.
#[tokio::test]
async fn a_session_hears_of_changes_until_the_last_call_is_done() {
    let state = State::new();
    let server = crate::fixture::server(state.clone());
    let changes = server.changes();
    let mut peer = crate::raw::raw_with(server);
    peer.initialize(Revision::V2025_11_25).await;
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#).await;
    state.on_start.notified().await;
    let listen = modern(json!("s"), "subscriptions/listen", json!({"notifications": {}}));
    peer.ask(&listen).await;
    let mut peer = peer.close_writing().await;
    // Its stream ends when the server has seen that the client is gone.
    assert_eq!(peer.receive().await["params"]["requestId"], "s");
    assert_eq!(peer.receive().await["id"], "s");
    changes.resource_list_changed();
    assert_eq!(peer.receive().await["method"], "notifications/resources/list_changed");
    state.go_on.add_permits(1);
    assert_eq!(peer.receive().await["id"], 1);
    assert_eq!(peer.receive().await, Value::Null);
}

#[tokio::test]
async fn without_a_session_nothing_is_said_unasked() {
    let mut peer = raw();
    peer.ask(&modern(json!(1), "tools/call", json!({"name": "touch"}))).await;
    let answer = peer.ask(&modern(json!(2), "tools/list", json!({}))).await;
    assert_eq!(answer["id"], 2);
}

#[tokio::test]
async fn an_id_that_listens_is_in_flight() {
    let mut peer = raw();
    let listen = modern(json!(1), "subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(peer.ask(&listen).await["params"]["notifications"], json!({}));
    assert_eq!(peer.ask(&listen).await["error"]["code"], -32600);
    let broken = modern(json!(2), "subscriptions/listen", json!({}));
    assert_eq!(peer.ask(&broken).await["error"]["code"], -32602);
}

/// Changes to somebody who does not read are kept once each, not queued.
#[tokio::test]
async fn changes_wait_for_a_reader_without_growing() {
    let server = crate::fixture::server(State::new());
    let changes = server.changes();
    let mut peer = crate::raw::raw_with(server);
    let filter = json!({"notifications": {"resourceSubscriptions": ["fixture://watched"]}});
    peer.ask(&modern(json!(1), "subscriptions/listen", filter)).await;
    for _ in 0..20_000 {
        changes.resource_updated("fixture://watched");
        tokio::task::yield_now().await;
    }
    peer.send(&modern(json!(2), "tools/list", json!({}))).await;
    let mut updates = 0;
    while peer.receive().await["id"] != 2 {
        updates += 1;
    }
    // What fits into the pipe and the mark, some hundreds, and not all of them.
    assert!((1..2_000).contains(&updates), "{updates}");
}

/// What a watcher has to watch, from the first subscription to the end of the last.
#[tokio::test]
async fn a_server_knows_what_is_subscribed_to() {
    let server = crate::fixture::server(State::new());
    let changes = server.changes();
    let mut peer = crate::raw::raw_with(server);
    let watched = || changes.subscribed().into_iter().collect::<Vec<_>>();
    assert_eq!(watched(), Vec::<String>::new());
    let filter = json!({"resourceSubscriptions": ["fixture://watched"]});
    let listen = modern(json!("s"), "subscriptions/listen", json!({"notifications": filter}));
    peer.ask(&listen).await;
    changes.subscriptions_changed().await;
    assert_eq!(watched(), ["fixture://watched"]);
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#)
        .await;
    changes.subscriptions_changed().await;
    assert_eq!(watched(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_watched_is_looked_at_when_asked_for_and_when_subscriptions_change() {
    let (asks, looks) = (std::sync::mpsc::channel(), tokio::sync::mpsc::unbounded_channel());
    let ((waker, wakers), (seen, mut looks)) = (asks, looks);
    let state = State::new();
    let server = crate::fixture::server(state.clone());
    let changes = server.changes();
    changes.watch(std::time::Duration::from_millis(1), |wake| {
        waker.send(wake).expect("a test");
        move |uris: &std::collections::BTreeSet<String>| {
            seen.send(uris.clone()).expect("a test");
            uris.clone()
        }
    });
    let wake = wakers.recv().expect("what to call");
    let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await;
    let client = client.expect("connect");
    let watched = "fixture://watched";
    client.request("resources/subscribe", json!({"uri": watched})).await.expect("subscribe");
    while looks.recv().await.expect("a look").is_empty() {}
    assert_eq!(next(&client).await, ("resources/updated".to_owned(), json!({"uri": watched})));
    wake();
    assert!(looks.recv().await.expect("a look").contains(watched));
    assert_eq!(next(&client).await.0, "resources/updated");
    client.request("resources/unsubscribe", json!({"uri": watched})).await.expect("unsubscribe");
    while !looks.recv().await.expect("a look").is_empty() {}
}
