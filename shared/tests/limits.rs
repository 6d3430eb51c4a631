//! Limits one by one, with the clock standing still: what is over them is refused in words, and
//! the rest goes on. What flags do to built servers is tested in the workspace's `tests/`.

use std::time::Duration;

use mcp::client::{Answering, Client, ClientError};
use mcp::{Limits, Revision};
use serde_json::json;

use crate::fixture::{State, server};
use crate::raw::{PING, pong, raw_with};

async fn connect(limits: Limits) -> (std::sync::Arc<State>, Client) {
    let state = State::new();
    let server = server(state.clone()).limits(limits);
    let client = Client::in_memory(server, Revision::V2026_07_28, Answering::nothing()).await;
    (state, client.expect("connect"))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_stopped_and_said_to_be() {
    let limits = Limits { call_timeout: Duration::from_secs(3), ..Limits::default() };
    let (state, client) = connect(limits).await;
    let late = client.call_tool("wait", json!({})).await.expect("call");
    assert!(late.is_error && late.text().contains("Stopped after 3 s"), "{}", late.text());
    state.on_drop.notified().await;
    assert_eq!(client.call_tool("number", json!({})).await.expect("alive").text(), "42");
}

/// Brackets within strings are no levels, and the answer goes to whoever asked.
#[tokio::test]
async fn a_message_nested_too_deep_is_refused_with_its_id() {
    let limits = Limits { max_depth: 9, ..Limits::default() };
    let mut peer = raw_with(server(State::new()).limits(limits));
    peer.initialize(Revision::V2025_03_26).await;
    let ping = |value: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"a":{value}}}}}"#)
    };
    let lists = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let wide = format!("[{}]", ["{}"; 50].join(","));
    let text = json!(r#"\""#.to_owned() + &"[{".repeat(50)).to_string();
    for fine in [lists(7), wide, text] {
        assert_eq!(peer.ask(&ping(&fine)).await["result"], json!({}), "{fine}");
    }
    for deep in [lists(8), lists(100_000), format!("[{},{}]", lists(2), lists(9))] {
        let refused = peer.ask(&ping(&deep)).await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32600)));
        let message = refused["error"]["message"].as_str().expect("message");
        assert!(message.contains("the limit of 9 levels"), "{message}");
    }
    let mut usual = raw_with(server(State::new()));
    usual.initialize(Revision::V2025_11_25).await;
    assert_eq!(usual.ask(&ping(&lists(126))).await["result"], json!({}));
    assert_eq!(usual.ask(&ping(&lists(127))).await["error"]["code"], -32600);
    // A batch is a level, too.
    assert_eq!(peer.ask(&format!("[{}]", ping(&lists(6)))).await[0]["result"], json!({}));
    assert_eq!(peer.ask(&format!("[{}]", ping(&lists(7)))).await["error"]["code"], -32600);
    assert_eq!(peer.ask(PING).await, pong());
}

#[tokio::test]
async fn one_call_too_many_is_refused_before_it_begins() {
    let (state, client) = connect(Limits { max_in_flight: 2, ..Limits::default() }).await;
    let waiting: Vec<_> =
        (0..2).map(|_| client.start("tools/call", json!({"name": "wait"}))).collect();
    let refused = client.call_tool("wait", json!({})).await.expect_err("refused");
    assert!(refused.to_string().contains("Too many requests in flight"), "{refused}");
    state.go_on.add_permits(2);
    for call in waiting {
        assert!(call.answer().await.is_ok());
    }
    assert_eq!(client.call_tool("number", json!({})).await.expect("room again").text(), "42");
}

#[tokio::test(start_paused = true)]
async fn calls_come_through_at_the_rate_and_the_rest_are_told_when_to_come_again() {
    let (_, client) = connect(Limits { calls_per_second: Some(50), ..Limits::default() }).await;
    let mut through = 0;
    // 1,000 a second for ten seconds.
    for _ in 0..10_000 {
        match client.call_tool("number", json!({})).await {
            Ok(_) => through += 1,
            Err(ClientError::Rpc { code: -32603, message, data }) => {
                let wait = data["retryAfterMs"].as_u64().expect("retryAfterMs");
                assert!((1..=21).contains(&wait) && message.contains("try again in"), "{message}");
            }
            Err(other) => panic!("{other}"),
        }
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert!((495..=510).contains(&through), "{through}");
    assert!(client.request("tools/list", json!({})).await.is_ok(), "lists cost nothing");
}

#[tokio::test]
async fn subscriptions_have_an_end() {
    let (_, client) = connect(Limits { max_subscriptions: 1, ..Limits::default() }).await;
    let uris = json!({"resourceSubscriptions": ["fixture://watched", "fixture://item/1"]});
    let too_many = client.request("subscriptions/listen", json!({"notifications": uris})).await;
    assert!(too_many.expect_err("refused").to_string().contains("More than 1 subscription"));
    let long = format!("fixture://files/{}", "x".repeat(8 * 1024));
    let too_long = json!({"notifications": {"resourceSubscriptions": [long]}});
    let too_long = client.request("subscriptions/listen", too_long).await;
    assert!(too_long.expect_err("refused").to_string().contains("at most 8192 bytes"));
    let _first = client.start("subscriptions/listen", json!({"notifications": {}}));
    let second = client.request("subscriptions/listen", json!({"notifications": {}})).await;
    assert!(second.expect_err("refused").to_string().contains("Too many subscriptions"));
}

#[tokio::test]
async fn resources_of_all_listen_streams_count_together_and_a_uri_has_a_longest_length() {
    let (_, client) = connect(Limits { max_subscriptions: 3, ..Limits::default() }).await;
    let listen = |uris: &[&str]| json!({"notifications": {"resourceSubscriptions": uris}});
    let two = ["fixture://watched", "fixture://item/1"];
    let first = client.start("subscriptions/listen", listen(&two));
    let acknowledged = "notifications/subscriptions/acknowledged";
    assert_eq!(client.notification().await.expect("acknowledged").method, acknowledged);
    let over = client.request("subscriptions/listen", listen(&two)).await;
    assert!(over.expect_err("refused").to_string().contains("Too many subscriptions"));
    first.cancel();
    let _second = client.start("subscriptions/listen", listen(&two));
    assert_eq!(client.notification().await.expect("acknowledged").method, acknowledged);

    let session =
        Client::in_memory(server(State::new()), Revision::V2025_11_25, Answering::nothing())
            .await
            .expect("connect");
    for (bytes, is_kept) in [(8 * 1024, true), (8 * 1024 + 1, false)] {
        let start = "fixture://files/";
        let uri = format!("{start}{}", "x".repeat(bytes - start.len()));
        let answer = session.request("resources/subscribe", json!({"uri": uri})).await;
        assert_eq!(answer.is_ok(), is_kept, "{bytes}");
    }
}
