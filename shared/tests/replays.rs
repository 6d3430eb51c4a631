//! Questions in 2026-07-28: what travels through the client, and what comes back.

use std::sync::atomic::Ordering;

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use crate::asking::{Effects, KEY, OTHER_KEY, accept, client, everything, server};

#[tokio::test]
async fn rounds_follow_rounds_up_to_a_limit() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |_, params| {
            let turn = params["message"]
                .as_str()
                .and_then(|text| text.chars().nth(7))
                .and_then(|digit| digit.to_digit(10));
            Ok(accept(json!({"n": turn})))
        })
        .await;
        assert_eq!(
            client.call_tool("rounds", json!({"n": 5})).await.expect("call").text(),
            "10",
            "{revision}"
        );
    }
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let mut params = json!({"name": "rounds", "arguments": {"n": 20}});
    for round in 0..16 {
        let asked = client.start("tools/call", params.clone()).answer().await.expect("asked");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({format!("turn-{round}"): accept(json!({"n": 1}))});
    }
    let end = client.start("tools/call", params).answer().await.expect_err("the end");
    assert!(end.to_string().contains("too many questions"), "{end}");
}

/// Each round is served by another server that shares nothing but the key.
#[tokio::test]
async fn any_replica_goes_on_and_effects_happen_once() {
    let effects = Effects::default();
    let mut params = json!({"name": "charge", "arguments": {"n": 1}});
    for (key, yes) in [("sure", json!(true)), ("really", json!(false))] {
        let keys = format!("# rotated\n{OTHER_KEY}\n{KEY}\n");
        let keys = if key == "sure" { KEY } else { keys.as_str() };
        let replica = Client::in_memory(
            server(&effects, keys),
            Revision::V2026_07_28,
            Answering::new(everything(), |_, _| Ok(json!({}))),
        )
        .await
        .expect("connect");
        let asked = replica.start("tools/call", params.clone()).answer().await.expect("asked");
        assert!(asked["inputRequests"].get(key).is_some(), "{asked}");
        // The same request in another spelling is the same request.
        params = json!({"arguments": {"n": 1}, "name": "charge", "requestState": asked["requestState"], "inputResponses": {key: accept(json!({"yes": yes}))}});
    }
    let keys = format!("{OTHER_KEY}\n{KEY}");
    let last =
        Client::in_memory(server(&effects, &keys), Revision::V2026_07_28, Answering::nothing())
            .await
            .expect("connect");
    let done = last.start("tools/call", params).answer().await.expect("done");
    assert_eq!(done["content"][0]["text"], r#""0 1""#);
    assert_eq!(effects.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_state_belongs_to_its_request_and_all_that_is_wrong_is_said_the_same() {
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let call = |params: Value| client.start("tools/call", params).answer();
    let asked = call(json!({"name": "name", "arguments": {"n": 1}})).await.expect("asked");
    let state = asked["requestState"].as_str().expect("state").to_owned();
    let responses = json!({"name": accept(json!({"name": "Ada"}))});
    let right = json!({"name": "name", "arguments": {"n": 1}, "requestState": state, "inputResponses": responses});
    let with = |key: &str, value: Value| {
        let mut wrong = right.clone();
        wrong[key] = value;
        wrong
    };
    let mut flipped = state.clone().into_bytes();
    flipped[40] ^= 1;
    let stranger = Client::in_memory(
        server(&Effects::default(), OTHER_KEY),
        Revision::V2026_07_28,
        Answering::new(everything(), |_, _| Err(String::new())),
    )
    .await
    .expect("connect");
    let foreign = stranger
        .start("tools/call", json!({"name": "name", "arguments": {"n": 1}}))
        .answer()
        .await
        .expect("asked");
    for wrong in [
        with("requestState", json!(String::from_utf8_lossy(&flipped))),
        with("requestState", json!(&state[..state.len() - 4])),
        with("requestState", json!(format!("{state}-TAMPERED"))),
        with("requestState", json!("")),
        with("requestState", foreign["requestState"].clone()),
        with("arguments", json!({"n": 2})),
        with("name", json!("charge")),
    ] {
        let refused = call(wrong.clone()).await.expect_err("refused");
        assert_eq!(refused.to_string(), "Invalid or expired `requestState` (-32602)", "{wrong}");
    }
    let elsewhere =
        json!({"name": "name_prompt", "requestState": state, "inputResponses": responses});
    let refused = client.start("prompts/get", elsewhere).answer().await.expect_err("refused");
    assert_eq!(refused.to_string(), "Invalid or expired `requestState` (-32602)");
    assert_eq!(call(right).await.expect("done")["content"][0]["text"], r#""Hello Ada""#);
}

#[tokio::test]
async fn answers_may_be_early_partial_or_for_nobody() {
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let call = |params: Value| client.start("tools/call", params).answer();
    let name = accept(json!({"name": "Ada"}));
    // Without a state, on the first call.
    let early = call(json!({"name": "name", "inputResponses": {"name": name, "other": 5}}))
        .await
        .expect("done");
    assert_eq!(early["resultType"], "complete");
    let unknown =
        call(json!({"name": "name", "inputResponses": {"nobody": name}})).await.expect("asked");
    assert!(unknown["inputRequests"].get("name").is_some());
    assert!(call(json!({"name": "name", "inputResponses": 5})).await.is_err());
    // Two of three: only the third is asked again, and what is known stays known.
    let roots = json!({"roots": []});
    let asked = call(json!({"name": "three"})).await.expect("asked");
    let partial = json!({"name": "three", "requestState": asked["requestState"], "inputResponses": {"user": name, "roots": roots}});
    let asked = call(partial).await.expect("asked");
    let keys: Vec<_> = asked["inputRequests"].as_object().expect("requests").keys().collect();
    assert_eq!(keys, ["capital"]);
    let sampled =
        json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"});
    let rest = json!({"name": "three", "requestState": asked["requestState"], "inputResponses": {"capital": sampled, "user": accept(json!({"name": "Eve"}))}});
    let done = call(rest).await.expect("done");
    assert_eq!(done["content"][0]["text"], r#""\"Ada\" Paris 0""#);
}

/// A call is not suspended while a step is half-way: its effect would happen again.
#[tokio::test]
async fn a_step_beside_a_question_is_done_before_the_question_goes_out() {
    for begins_after_polls in [0, 1, 2] {
        let effects = Effects::default();
        let answering = Answering::new(everything(), |_, _| Ok(accept(json!({"yes": true}))));
        let client =
            Client::in_memory(server(&effects, KEY), Revision::V2026_07_28, answering).await;
        let arguments = json!({"n": begins_after_polls});
        let done = client.expect("connect").call_tool("beside", arguments).await.expect("call");
        assert_eq!(effects.load(Ordering::SeqCst), 1, "{begins_after_polls}");
        assert_eq!(done.text(), r#""0 true""#);
    }
}

/// What comes before a question is done again, so a question inside a step can only be a mistake.
#[tokio::test]
async fn a_question_inside_a_step_is_refused_and_does_not_hang() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |_, _| Ok(accept(json!({})))).await;
        let refused = client.call_tool("within", json!({})).await.expect("call");
        assert!(refused.text().contains("mistake in its code"), "{revision}: {}", refused.text());
    }
}

/// The handler is dropped, so what it has going on a thread is told to stop.
#[tokio::test]
async fn a_suspended_call_stops_its_threads() {
    let effects = Effects::default();
    let answering = Answering::new(everything(), |_, _| Err(String::new()));
    let client = Client::in_memory(server(&effects, KEY), Revision::V2026_07_28, answering);
    let client = client.await.expect("connect");
    let asked = client.start("tools/call", json!({"name": "busy"})).answer().await.expect("asked");
    assert_eq!(asked["resultType"], "input_required");
    let stopped = async {
        while effects.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(20);
    tokio::time::timeout(patience, stopped).await.expect("the thread stops");
}

/// Long arguments are kept as a digest; a retry is still told from another call.
#[tokio::test]
async fn long_arguments_are_told_apart_as_short_ones_are() {
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let call = |params: Value| client.start("tools/call", params).answer();
    let arguments = |last: &str| json!({"n": 1, "note": format!("{}{last}", "x".repeat(100_000))});
    let asked = call(json!({"name": "name", "arguments": arguments("a")})).await.expect("asked");
    for (last, is_same) in [("b", false), ("a", true)] {
        let retry = json!({"name": "name", "arguments": arguments(last), "requestState": asked["requestState"], "inputResponses": {"name": accept(json!({"name": "Ada"}))}});
        assert_eq!(call(retry).await.is_ok(), is_same, "{last}");
    }
}
