//! Questions to the client: the same handlers in every revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::Revision;
use mcp::client::ClientError;
use serde_json::{Value, json};

use crate::asking::{Effects, KEY, accept, client, everything, server};

#[tokio::test]
async fn a_form_is_answered_in_every_revision_that_has_forms() {
    for revision in Revision::ALL {
        for (answer, text) in [
            (accept(json!({"name": "Ada", "extra": 1})), r#""Hello Ada""#),
            (json!({"action": "decline"}), r#""declined""#),
            (json!({"action": "cancel"}), r#""cancelled""#),
        ] {
            let client = client(revision, everything(), move |method, params| {
                assert_eq!(method, "elicitation/create");
                assert_eq!(params["message"], "What is your name?");
                assert_eq!(params.get("mode").is_some(), revision >= Revision::V2025_11_25);
                Ok(answer.clone())
            })
            .await;
            let got = client.call_tool("name", json!({})).await.expect("call");
            if revision >= Revision::V2025_06_18 {
                assert_eq!(got.text(), text, "{revision}");
            } else {
                assert!(
                    got.is_error && got.text().contains("has no elicitation"),
                    "{}",
                    got.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_are_errors_not_hangs() {
    for answer in [
        json!({}),
        json!({"action": "shrug"}),
        json!({"action": "accept"}),
        accept(json!({"name": 5})),
        accept(json!({"name": ""})),
        accept(json!([])),
        json!(5),
    ] {
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            let answer = answer.clone();
            let client = client(revision, everything(), move |_, _| Ok(answer.clone())).await;
            match client.call_tool("name", json!({})).await {
                Ok(got) => assert!(
                    got.is_error && got.text().contains("does not fit"),
                    "{revision}: {}",
                    got.text()
                ),
                Err(ClientError::Rpc { code: -32602, message, .. }) => {
                    assert!(message.contains("name"), "{message}")
                }
                Err(other) => panic!("{revision}: {other}"),
            }
        }
    }
}

#[tokio::test]
async fn all_kinds_of_field_go_out_in_the_words_of_the_revision_and_come_back_with_defaults() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let modern = revision >= Revision::V2025_11_25;
        let client = client(revision, everything(), move |_, params| {
            let schema = &params["requestedSchema"];
            let properties = &schema["properties"];
            assert_eq!(properties["agree"], json!({"type": "boolean", "default": true}));
            assert_eq!(properties["mail"]["format"], "email");
            assert_eq!(properties["mail"].get("default").is_some(), modern);
            assert_eq!(
                (&properties["age"]["minimum"], &properties["age"]["maximum"]),
                (&json!(1), &json!(150))
            );
            assert_eq!(properties["color"]["enum"], json!(["red", "green"]));
            assert_eq!(properties["old"]["enumNames"], json!(["A", "B"]));
            if modern {
                assert_eq!(properties["size"]["oneOf"][1], json!({"const": "l", "title": "Large"}));
                assert_eq!(
                    properties["many"]["items"]["anyOf"][0],
                    json!({"const": "x", "title": "X"})
                );
                assert_eq!(properties["many"]["minItems"], 1);
            } else {
                assert_eq!(properties["size"]["enumNames"], json!(["Small", "Large"]));
            }
            assert!(!schema["required"].as_array().expect("required").contains(&json!("day")));
            Ok(accept(json!({"size": "l", "old": "a", "many": ["y"], "age": 31.0, "day": null})))
        })
        .await;
        let got = client.call_tool("all_fields", json!({})).await.expect("call");
        let mut expected = json!({"mail": "a@b.c", "age": 31, "score": 95.5, "agree": true, "color": "red", "size": "l", "old": "a"});
        if modern {
            expected["many"] = json!(["y"]);
        }
        let text: Value = serde_json::from_str(&got.text()).expect("JSON");
        assert_eq!(text, expected, "{revision}");
    }
}

#[tokio::test]
async fn pages_are_opened_where_the_client_can() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), move |_, params| {
            assert_eq!(
                (&params["mode"], &params["url"]),
                (&json!("url"), &json!("https://example.com/sign-in"))
            );
            assert_eq!(params.get("elicitationId").is_some(), revision == Revision::V2025_11_25);
            Ok(json!({"action": "accept"}))
        })
        .await;
        let got = client.call_tool("open", json!({})).await.expect("call");
        assert_eq!(got.is_error, revision == Revision::V2025_06_18, "{}", got.text());
    }
}

#[tokio::test]
async fn undeclared_capabilities_are_never_asked_for() {
    let cases = [
        ("name", json!({"sampling": {}, "roots": {}}), json!({"elicitation": {"form": {}}})),
        ("open", json!({"elicitation": {}}), json!({"elicitation": {"url": {}}})),
        ("tools", json!({"sampling": {}}), json!({"sampling": {"tools": {}}})),
    ];
    for (tool, declared, required) in cases {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let client =
                client(revision, declared.clone(), |method, _| panic!("asked {method}")).await;
            match client.call_tool(tool, json!({})).await {
                Ok(got) => assert!(
                    got.is_error && got.text().contains("cannot be asked"),
                    "{}",
                    got.text()
                ),
                Err(ClientError::Rpc { code: -32021, data, .. }) => {
                    assert_eq!(data["requiredCapabilities"], required, "{tool}");
                }
                Err(other) => panic!("{revision}: {other}"),
            }
        }
    }
    // An empty `elicitation` means forms.
    let client = client(Revision::V2026_07_28, json!({"elicitation": {}}), |_, _| {
        Ok(accept(json!({"name": "Ada"})))
    })
    .await;
    assert_eq!(client.call_tool("name", json!({})).await.expect("call").text(), r#""Hello Ada""#);
}

#[tokio::test]
async fn three_questions_go_out_together() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |method, params| match method {
            "elicitation/create" => Ok(accept(json!({"name": "Ada"}))),
            "sampling/createMessage" => {
                assert_eq!(params["messages"][0]["content"]["text"], "Capital of France?");
                assert_eq!((&params["maxTokens"], &params["temperature"]), (&json!(100), &json!(0.5)));
                let content = json!({"type": "text", "text": "Paris"});
                Ok(json!({"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}))
            }
            _ => Ok(json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B"}]})),
        })
        .await;
        let got = client.call_tool("three", json!({})).await.expect("call");
        assert_eq!(got.text(), r#""\"Ada\" Paris 2""#, "{revision}");
    }
    // In 2026-07-28 that is one round.
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let first =
        client.start("tools/call", json!({"name": "three"})).answer().await.expect("result");
    assert_eq!(first["inputRequests"].as_object().map(serde_json::Map::len), Some(3));
    assert!(first.get("ttlMs").is_none() && first["_meta"].is_object());
}

#[tokio::test]
async fn roots_are_asked_once_until_they_change() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let client = client(Revision::V2025_11_25, everything(), move |method, _| match method {
        "roots/list" => {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(json!({"roots": []}))
        }
        "sampling/createMessage" => Err("no model".to_owned()),
        _ => Ok(json!({"action": "decline"})),
    })
    .await;
    for expected in [1, 1] {
        let got = client.call_tool("three", json!({})).await.expect("call");
        assert!(got.is_error && got.text().contains("no model"), "{}", got.text());
        assert_eq!(asked.load(Ordering::SeqCst), expected);
    }
    client.notify("notifications/roots/list_changed", json!({}));
    client.call_tool("three", json!({})).await.expect("call");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// The answer is of a time before the change, so it is used and not kept.
#[tokio::test]
async fn roots_that_change_while_they_are_answered_are_asked_again() {
    let mut peer = crate::raw::raw_with(server(&Effects::default(), KEY));
    peer.ask(&crate::asking::initialize()).await;
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "count_roots"}});
    let answer = |question: &Value, count: usize| {
        let roots = vec![json!({"uri": "file:///a"}); count];
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": roots}})
    };
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let question = peer.ask(&call(1).to_string()).await;
    let done = peer.ask(&format!("{}\n{changed}", answer(&question, 1))).await;
    assert_eq!(done["result"]["content"][0]["text"], "1");
    let question = peer.ask(&call(2).to_string()).await;
    assert_eq!(question["method"], "roots/list");
    for expected in [answer(&question, 2), call(3)] {
        let done = peer.ask(&expected.to_string()).await;
        assert_eq!(done["result"]["content"][0]["text"], "2");
    }
}

#[tokio::test]
async fn tools_in_sampling_come_with_2025_11_25() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |_, params| {
            assert_eq!(params["toolChoice"], json!({"mode": "auto"}));
            let content = json!([{"type": "tool_use", "id": "1", "name": "weather", "input": {}}]);
            Ok(json!({"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"}))
        })
        .await;
        let got = client.call_tool("tools", json!({})).await.expect("call");
        if revision < Revision::V2025_11_25 {
            assert!(
                got.is_error && got.text().contains("no sampling with tools"),
                "{}",
                got.text()
            );
        } else {
            assert_eq!(got.text(), r#""uses weather""#);
        }
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_too_and_a_key_is_used_once() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let client =
            client(revision, everything(), |_, _| Ok(accept(json!({"name": "Ada"})))).await;
        let prompt =
            client.request("prompts/get", json!({"name": "name_prompt"})).await.expect("prompt");
        assert_eq!(prompt["messages"][0]["content"]["text"], r#""Ada""#);
        let resource = client
            .request("resources/read", json!({"uri": "asks://name"}))
            .await
            .expect("resource");
        assert_eq!(resource["contents"][0]["text"], r#""Ada""#);
    }
    let client = client(Revision::V2026_07_28, everything(), |_, _| Ok(accept(json!({})))).await;
    let twice = client.call_tool("twice", json!({})).await.expect("call");
    assert!(twice.is_error && twice.text().contains("mistake in its code"), "{}", twice.text());
}

/// The client closes while a handler waits for its answer: the handler is told.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_client_that_is_gone_or_silent() {
    let mut peer = crate::raw::raw_with(server(&Effects::default(), KEY));
    peer.ask(&crate::asking::initialize()).await;
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "name"}})
            .to_string()
    };
    // Cancelled: our question is taken back.
    let question = peer.ask(&call(1)).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let taken_back = peer.receive().await;
    assert_eq!(
        (&taken_back["method"], &taken_back["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    // Silent: after the time for answers the tool fails and the question is taken back.
    peer.ask(&call(2)).await;
    assert_eq!(peer.receive().await["method"], "notifications/cancelled");
    let failed = peer.receive().await;
    assert!(
        failed["result"]["content"][0]["text"].as_str().expect("text").contains("in time"),
        "{failed}"
    );
    // Gone.
    peer.ask(&call(3)).await;
    let mut peer = peer.close_writing().await;
    let failed = peer.receive().await;
    assert!(
        failed["result"]["content"][0]["text"].as_str().expect("text").contains("closed"),
        "{failed}"
    );
}

/// The time a person takes to answer is not the handler's time.
#[tokio::test(start_paused = true)]
async fn waiting_for_an_answer_does_not_use_up_the_time_of_a_call() {
    let limits =
        mcp::Limits { call_timeout: std::time::Duration::from_secs(3), ..mcp::Limits::default() };
    let mut peer = crate::raw::raw_with(server(&Effects::default(), KEY).limits(limits));
    peer.ask(&crate::asking::initialize()).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "name"}});
    let question = peer.ask(&call.to_string()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Ada"}))});
    let done = peer.ask(&answer.to_string()).await;
    assert_eq!(done["result"]["content"][0]["text"], r#""Hello Ada""#);
}
