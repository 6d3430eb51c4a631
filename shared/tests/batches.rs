//! JSON-RPC batches (2025-03-26) whose calls take their time: one that asks, one that is cancelled,
//! one that fails. The answers come as one array, and nothing else is in it.

use std::sync::atomic::Ordering;

use mcp::Revision;
use serde_json::{Value, json};

use crate::asking::{Effects, KEY, everything};
use crate::fixture::{State, server};
use crate::raw::{PING, pong, raw_with};

fn call(id: u64, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}})
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn ids(answers: &Value) -> Vec<u64> {
    let answers = answers.as_array().expect("an array");
    let mut ids: Vec<_> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_question_goes_out_by_itself_and_its_call_is_answered_in_the_array() {
    let mut peer = raw_with(crate::asking::server(&Effects::default(), KEY));
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": everything(), "clientInfo": {"name": "raw", "version": "0"}}});
    peer.ask(&initialize.to_string()).await;
    let batch = json!([call(1, "count_roots"), call(2, "none"), call(3, "name")]);
    let question = peer.ask(&batch.to_string()).await;
    assert_eq!(question["method"], "roots/list");
    // The answer may come in a batch of its own, which is answered by nothing.
    let roots = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    let answers = peer.ask(&json!([roots]).to_string()).await;
    assert_eq!(ids(&answers), [1, 2, 3]);
    let of = |id: u64| {
        let answers = answers.as_array().expect("an array");
        answers.iter().find(|answer| answer["id"] == id).expect("answer")
    };
    assert_eq!(of(1)["result"]["content"][0]["text"], "0");
    assert_eq!(of(2)["error"]["code"], -32602);
    assert_eq!(of(3)["result"]["isError"], true, "this revision has no forms");
    assert_eq!(peer.ask(PING).await, pong());
}

#[tokio::test]
async fn a_cancelled_call_is_left_out_and_holds_nothing_up() {
    let state = State::new();
    let mut peer = raw_with(server(state.clone()));
    peer.initialize(Revision::V2025_03_26).await;
    let waiting = json!([call(1, "wait"), call(2, "number"), call(3, "wait")]);
    peer.send(&waiting.to_string()).await;
    peer.send(&cancel(1).to_string()).await;
    peer.send(&cancel(3).to_string()).await;
    assert_eq!(ids(&peer.receive().await), [2]);
    // Cancelled within the same batch, before and after the call itself.
    let batch = json!([cancel(4), call(4, "wait"), call(5, "wait"), cancel(5), call(6, "number")]);
    peer.send(&batch.to_string()).await;
    while state.dropped.load(Ordering::SeqCst) < 3 {
        state.on_drop.notified().await;
    }
    state.go_on.add_permits(1);
    assert_eq!(ids(&peer.receive().await), [4, 6]);
    // All of it: then there is no array, not an empty one.
    let batch = json!([call(7, "wait"), call(8, "wait")]);
    peer.send(&batch.to_string()).await;
    peer.send(&json!([cancel(7), cancel(8)]).to_string()).await;
    assert_eq!(peer.ask(PING).await, pong());
}

#[tokio::test]
async fn an_id_twice_in_a_batch_is_refused_once() {
    let state = State::new();
    let mut peer = raw_with(server(state.clone()));
    peer.initialize(Revision::V2025_03_26).await;
    peer.send(&json!([call(1, "wait"), call(1, "wait")]).to_string()).await;
    state.on_start.notified().await;
    state.go_on.add_permits(1);
    let answers = peer.receive().await;
    assert_eq!(ids(&answers), [1, 1]);
    let is_refused = |answer: &&Value| answer["error"]["code"] == -32600;
    assert_eq!(answers.as_array().expect("an array").iter().filter(is_refused).count(), 1);
}

/// A short batch can lead to a very long answer; it is kept only up to what may wait for a peer.
#[tokio::test]
async fn the_answer_to_a_batch_has_a_bound() {
    const LONG: usize = 9_000;
    let mut peer = raw_with(server(State::new()));
    peer.initialize(Revision::V2025_03_26).await;
    let ping = |number: usize| json!({"jsonrpc": "2.0", "id": format!("{number:LONG$}"), "method": "ping"});
    let batch: Vec<_> = (0..1_000).map(ping).collect();
    let answers = peer.ask(&json!(batch).to_string()).await;
    let answers = answers.as_array().expect("an array");
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.get("result").is_some());
    assert_eq!(served.len() + refused.len(), batch.len());
    assert!(served.len() * LONG >= 8_000_000 && !refused.is_empty(), "{}", served.len());
    assert!(refused.iter().all(|answer| answer["error"]["code"] == refused[0]["error"]["code"]));
    assert_eq!(peer.ask(PING).await, pong());
}
