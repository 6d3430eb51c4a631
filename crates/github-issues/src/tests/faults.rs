//! What a network and a server can do to a request: each has its outcome, and how often it is
//! sent. A read may be repeated, a write may not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp::Revision;
use mcp::client::Answering;
use serde_json::{Value, json};

use super::peer::{Act, Peer, json as answer};
use super::{call, client, config, connect, good, issue, refused};

type Fault = fn() -> Act;

fn html() -> Act {
    Act::Answer { status: 502, headers: vec![], body: b"<html>Unicorn!</html>".to_vec() }
}

/// The fault, what the model is told of a read and of a write, and how often each is sent.
const FAULTS: &[(&str, Fault, &str, u64, &str, u64)] = &[
    ("dropped", || Act::Drop, "cannot be reached", 3, "did not confirm", 1),
    ("silent", || Act::Hang, "cannot be reached", 3, "did not confirm", 1),
    (
        "truncated",
        || Act::Truncate(b"{\"num".to_vec()),
        "cannot be reached",
        3,
        "did not confirm",
        1,
    ),
    ("502 html", html, "cannot be reached", 3, "did not confirm", 1),
    ("500", || answer(500, &json!({"message": "x"})), "cannot be reached", 3, "did not confirm", 1),
    ("503", || answer(503, &Value::Null), "cannot be reached", 3, "did not confirm", 1),
    ("401", || answer(401, &json!({"message": "Bad credentials"})), "(401)", 1, "(401)", 1),
    ("404", || answer(404, &json!({"message": "Not Found"})), "(404)", 1, "(404)", 1),
    (
        "410",
        || answer(410, &json!({"message": "This issue was deleted"})),
        "This issue was deleted",
        1,
        "Do not try again",
        1,
    ),
    (
        "422",
        || {
            answer(
                422,
                &json!({"message": "Validation Failed", "errors": [{"field": "title", "code": "missing"}]}),
            )
        },
        "`title` is missing",
        1,
        "`title` is missing",
        1,
    ),
    ("451", || answer(451, &json!({"message": "DMCA"})), "451: DMCA", 1, "451: DMCA", 1),
    (
        "403",
        || answer(403, &json!({"message": "Must have admin rights"})),
        "Must have admin rights",
        1,
        "Must have admin rights",
        1,
    ),
    (
        "limited",
        || answer(429, &Value::Null),
        "rate limit (secondary)",
        3,
        "rate limit (secondary)",
        3,
    ),
    (
        "no JSON",
        || Act::Answer { status: 200, headers: vec![], body: b"{\"a\":".to_vec() },
        "could not be read",
        1,
        "could not be read",
        1,
    ),
    (
        "no UTF-8",
        || Act::Answer { status: 200, headers: vec![], body: b"\"\xff\"".to_vec() },
        "could not be read",
        1,
        "could not be read",
        1,
    ),
    (
        "deep",
        || Act::Answer { status: 200, headers: vec![], body: vec![b'['; 100_000] },
        "could not be read",
        1,
        "could not be read",
        1,
    ),
    ("not modified", || answer(304, &Value::Null), "could not be read", 1, "could not be read", 1),
];

#[tokio::test]
async fn each_fault_has_its_outcome() {
    for (fault, act, read_says, reads, write_says, writes) in FAULTS {
        let peer = Peer::start(move |_| act()).await;
        let client = client(&peer).await;
        let text = refused(&client, "issue_get", json!({"number": 7})).await;
        assert!(text.contains(read_says), "{fault}: {text}");
        assert_eq!(peer.seen().len() as u64, *reads, "{fault}");
        let edit = json!({"action": "edit", "comment_id": 5, "body": "new"});
        let text = refused(&client, "issue_comment", edit).await;
        assert!(text.contains(write_says), "{fault}: {text}");
        assert_eq!(peer.writes().len() as u64, *writes, "{fault}");
        assert!(!text.contains("html") && !text.contains("127.0.0.1"), "{fault}: {text}");
    }
}

#[tokio::test]
async fn nobody_listening_is_said_and_nothing_was_changed() {
    let client =
        connect(&config("http://127.0.0.1:9"), Revision::V2025_11_25, Answering::nothing()).await;
    for (tool, ask) in [
        ("issue_get", json!({"number": 7})),
        ("issue_comment", json!({"action": "edit", "comment_id": 5, "body": "new"})),
    ] {
        let text = refused(&client, tool, ask).await;
        assert!(text.contains("cannot be reached") && text.contains("changed nothing"), "{text}");
    }
}

#[tokio::test]
async fn one_bad_moment_does_not_cost_a_read() {
    let mut count = 0;
    let peer = Peer::start(move |_| {
        count += 1;
        if count == 1 { Act::Drop } else { answer(200, &issue(7)) }
    })
    .await;
    good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert_eq!(peer.seen().len(), 2);
}

#[tokio::test]
async fn a_delete_that_was_carried_out_is_a_success() {
    let mut deletes = 0;
    let peer = Peer::start(move |seen| {
        if seen.method == "GET" {
            return answer(200, &issue(7));
        }
        deletes += 1;
        if deletes == 1 { Act::Drop } else { answer(404, &json!({"message": "Not Found"})) }
    })
    .await;
    good(&client(&peer).await, "issue_update", json!({"number": 7, "locked": false})).await;
    assert_eq!(peer.writes().len(), 2);
}

#[tokio::test]
async fn an_answer_without_end_is_not_held() {
    let peer = Peer::start(|_| Act::Answer {
        status: 200,
        headers: vec![],
        body: vec![b' '; 9 * 1024 * 1024],
    })
    .await;
    let text = refused(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("larger than 8388608 bytes"), "{text}");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let peer = Peer::start(|seen| {
        if seen.head.contains("if-none-match: \"v1\"") {
            Act::Answer { status: 304, headers: vec![], body: vec![] }
        } else {
            answer(200, &json!([issue(7)])).with("ETag", "\"v1\"")
        }
    })
    .await;
    let client = client(&peer).await;
    let first = good(&client, "issue_list", json!({})).await;
    assert_eq!(good(&client, "issue_list", json!({})).await, first);
    good(&client, "issue_list", json!({"limit": 5})).await;
    let asked: Vec<bool> =
        peer.seen().iter().map(|seen| seen.head.contains("if-none-match")).collect();
    assert_eq!(asked, [false, true, false]);
}

#[tokio::test]
async fn a_short_limit_is_waited_for_and_the_client_sees_it() {
    for (status, header) in [(403, "1"), (429, "1")] {
        let mut count = 0;
        let peer = Peer::start(move |seen| {
            count += 1;
            match (count, seen.method.as_str()) {
                (1, _) => {
                    answer(status, &json!({"message": "slow down"})).with("Retry-After", header)
                }
                _ => answer(200, &json!({"id": 5})),
            }
        })
        .await;
        let client = client(&peer).await;
        let asked = std::time::Instant::now();
        let ask = json!({
            "name": "issue_comment",
            "arguments": {"action": "edit", "comment_id": 5, "body": "new"},
            "_meta": {"progressToken": "t"},
        });
        let result = client.request("tools/call", ask).await.expect("answer");
        assert_ne!(result["isError"], true, "{result}");
        // A refusal by a limit is the one answer after which even a write is sent again.
        assert_eq!(peer.writes().len(), 2);
        assert!(asked.elapsed() >= Duration::from_secs(1));
        let progress = client.notification().await.expect("progress").params;
        assert_eq!(progress["total"], 1);
        assert!(progress["message"].as_str().unwrap().contains("rate limit"), "{progress}");
    }
}

#[tokio::test]
async fn a_long_limit_is_told_with_its_end_and_not_run_into_again() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let reset = (now + 2400).to_string();
    let peer = Peer::start(move |_| {
        answer(403, &json!({"message": "API rate limit exceeded"}))
            .with("x-ratelimit-limit", "5000")
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-reset", &reset)
    })
    .await;
    let client = client(&peer).await;
    let text = refused(&client, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("rate limit (primary)") && text.contains("open again at 20"), "{text}");
    let text = refused(&client, "issue_list", json!({})).await;
    assert!(text.contains("rate limit (core)"), "{text}");
    assert_eq!(peer.seen().len(), 1);
    // The search has a window of its own.
    refused(&client, "issue_search", json!({"query": "x"})).await;
    assert_eq!(peer.seen().len(), 2);
}

#[tokio::test]
async fn a_call_waits_no_longer_than_it_may_all_in_all() {
    let peer = Peer::start(|_| answer(429, &Value::Null).with("Retry-After", "2")).await;
    let client = client(&peer).await;
    let begun = std::time::Instant::now();
    let answer = call(&client, "issue_get", json!({"number": 7})).await;
    assert!(answer.is_error);
    assert_eq!(peer.seen().len(), 2);
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn redirects_are_followed_at_home_only() {
    for (status, location, method, followed) in [
        (301, "/repositories/1/issues/7", "GET", true),
        (302, "{url}/repositories/1/issues/7", "GET", true),
        (307, "{url}/repositories/1/issues/7", "GET", true),
        (307, "{url}/repositories/1/issues/comments/5", "PATCH", true),
        (308, "/repositories/1/issues/comments/5", "PATCH", true),
        // A POST or PATCH that became a GET would do something else and look like a success.
        (301, "/repositories/1/issues/comments/5", "PATCH", false),
        (302, "/repositories/1/issues/comments/5", "PATCH", false),
        (301, "http://127.0.0.2:1/x", "GET", false),
        (307, "https://evil.example/x", "PATCH", false),
        (307, "//evil.example/x", "PATCH", false),
        (307, "", "PATCH", false),
        (307, "/repos/o/r/issues/comments/5", "PATCH", false),
    ] {
        let peer = Peer::start(move |seen| {
            if seen.path.starts_with("/repositories") {
                let mut item = issue(7);
                item["id"] = json!(5);
                return answer(200, &item);
            }
            let host = seen.head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
            let location = location.replace("{url}", &format!("http://{host}"));
            answer(status, &Value::Null).with("Location", &location)
        })
        .await;
        let client = client(&peer).await;
        let (tool, ask) = match method {
            "GET" => ("issue_get", json!({"number": 7})),
            _ => ("issue_comment", json!({"action": "edit", "comment_id": 5, "body": "new"})),
        };
        let told = call(&client, tool, ask).await;
        assert_eq!(!told.is_error, followed, "{status} {location} {method}: {}", told.text());
        if followed && method == "PATCH" {
            let last = peer.writes().pop().unwrap();
            assert_eq!((last.method.as_str(), &last.body), ("PATCH", &json!({"body": "new"})));
        }
        assert!(peer.seen().iter().all(|seen| seen.method == method), "{:?}", peer.seen());
    }
}
