//! Calls under way: progress, logs, cancellation, ids in flight, the end of the connection.

use std::sync::atomic::Ordering;

use mcp::Revision;
use mcp::client::{Notification, Pending};
use serde_json::json;

use crate::fixture::{State, connect, server};
use crate::raw::{PING, pong, raw_with};

#[tokio::test]
async fn progress_rises_and_stops_with_the_answer() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        for token in [json!("t"), json!(7)] {
            let params = json!({"name": "progress", "_meta": {"progressToken": token}});
            client.request("tools/call", params).await.expect("call");
            for done in [0, 5, 10] {
                let Notification { method, params } =
                    client.notification().await.expect("progress");
                assert_eq!(method, "notifications/progress");
                assert_eq!((&params["progressToken"], &params["progress"]), (&token, &json!(done)));
                assert_eq!(params.get("message").is_some(), revision > Revision::V2024_11_05);
            }
        }
        // Neither the late progress nor anything of a call without a token comes before this.
        client.request("tools/call", json!({"name": "progress"})).await.expect("call");
        client.call_tool("show_secret", json!({"visible": true})).await.expect("call");
        if !revision.is_stateless() {
            let next = client.notification().await.expect("list changed");
            assert_eq!(next.method, "notifications/tools/list_changed");
        }
    }
}

#[tokio::test]
async fn logs_follow_the_session_or_the_request() {
    for revision in Revision::ALL {
        let mut client = connect(&State::new(), revision).await;
        let levels = [("debug", 3), ("info", 2), ("error", 1), ("emergency", 0)];
        let silent_at_first = revision.is_stateless();
        client.call_tool("log", json!({})).await.expect("call");
        if !silent_at_first {
            for level in ["info", "error"] {
                assert_eq!(client.notification().await.expect("log").params["level"], level);
            }
        }
        for (level, expected) in levels {
            client.set_log_level(level).await.expect("level");
            client.call_tool("log", json!({})).await.expect("call");
            for _ in 0..expected {
                let log = client.notification().await.expect("log");
                assert_eq!(log.method, "notifications/message");
            }
        }
        assert!(client.set_log_level("debug").await.is_ok());
        client.call_tool("log", json!({})).await.expect("call");
        assert_eq!(client.notification().await.expect("log").params["data"], "quiet");
    }
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_never_answered() {
    for revision in Revision::ALL {
        let state = State::new();
        let client = connect(&state, revision).await;
        let pending = client.start("tools/call", json!({"name": "wait"}));
        state.on_start.notified().await;
        pending.cancel();
        state.on_drop.notified().await;
        assert_eq!(state.dropped.load(Ordering::SeqCst), 1, "{revision}");
        assert_eq!(client.call_tool("number", json!({})).await.expect("alive").text(), "42");
    }
}

#[tokio::test]
async fn an_id_in_flight_is_not_used_twice() {
    let state = State::new();
    let mut peer = raw_with(server(state.clone()));
    peer.initialize(Revision::V2025_11_25).await;
    let wait = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;
    peer.send(wait).await;
    state.on_start.notified().await;
    let again = peer.ask(wait).await;
    assert_eq!((&again["id"], &again["error"]["code"]), (&json!("w"), &json!(-32600)));
    assert_eq!(peer.ask(PING).await, pong());
    state.go_on.add_permits(1);
    assert_eq!(peer.receive().await["result"]["content"][0]["text"], "1");
    // Answered, so the id is free again, in whichever spelling.
    state.go_on.add_permits(1);
    let answer = peer.ask(&wait.replace(r#""w""#, r#""\u0077""#)).await;
    assert_eq!(answer["id"], "w");
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0077"}}"#;
    peer.send(wait).await;
    state.on_start.notified().await;
    peer.send(cancelled).await;
    state.on_drop.notified().await;
    assert_eq!(peer.ask(PING).await, pong());
}

#[tokio::test]
async fn blocking_work_runs_elsewhere() {
    let client = connect(&State::new(), Revision::V2026_07_28).await;
    assert_eq!(
        client.call_tool("blocking", json!({})).await.expect("call").structured,
        json!(true)
    );
}

/// A burst of calls does not become a burst of threads, and one that is cancelled while it waits
/// for its turn never begins.
#[tokio::test]
async fn blocking_work_takes_turns_and_what_is_cancelled_does_not_begin() {
    const AT_ONCE: usize = 64;
    let state = State::new();
    let client = connect(&state, Revision::V2026_07_28).await;
    let closed = state.gate.write().await;
    let crowd = || client.start("tools/call", json!({"name": "crowd"}));
    let wanted: Vec<_> = (0..100).map(|_| crowd()).collect();
    let cancelled: Vec<_> = (0..100).map(|_| crowd()).collect();
    cancelled.into_iter().for_each(Pending::cancel);
    // Whoever is answered after them proves that all of this has been read.
    client.call_tool("number", json!({})).await.expect("alive");
    while state.begun.load(Ordering::SeqCst) < AT_ONCE {
        state.on_start.notified().await;
    }
    drop(closed);
    let mut most = 0;
    for call in wanted {
        let answer = call.answer().await.expect("done");
        most = most.max(answer["structuredContent"].as_u64().expect("at once"));
    }
    assert_eq!(state.begun.load(Ordering::SeqCst), 100);
    assert_eq!(most, AT_ONCE as u64);
}

/// The peer closes with calls in flight: what can finish is answered before we are gone.
#[tokio::test(start_paused = true)]
async fn the_end_of_input_lets_calls_finish_for_a_while() {
    let state = State::new();
    let mut peer = raw_with(server(state.clone()));
    peer.initialize(Revision::V2025_11_25).await;
    for id in [1, 2] {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wait"}}}}"#
        ))
        .await;
        state.on_start.notified().await;
    }
    let mut peer = peer.close_writing().await;
    state.go_on.add_permits(1);
    assert_eq!(peer.receive().await["id"], 1);
    // The other never finishes; the drain period ends and it is dropped.
    assert_eq!(peer.receive().await, json!(null));
    state.on_drop.notified().await;
}

#[tokio::test]
async fn ten_thousand_calls_get_ten_thousand_answers() {
    let client = connect(&State::new(), Revision::V2026_07_28).await;
    let pending: Vec<_> =
        (0..10_000).map(|_| client.start("tools/call", json!({"name": "number"}))).collect();
    for call in pending {
        assert!(call.answer().await.is_ok());
    }
}
