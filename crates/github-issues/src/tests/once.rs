//! One call, one issue: whatever happens to the answer on its way.

use std::sync::{Arc, Mutex};

use mcp::client::Client;
use serde_json::{Value, json};

use super::peer::{Act, Peer, Seen, json as answer};
use super::{call, client, good, refused};

/// A GitHub that stores what is posted to it, and loses the answer in a way of the test's.
#[derive(Clone, Default)]
struct Store {
    posted: Arc<Mutex<Vec<Value>>>,
}

impl Store {
    async fn peer(&self, answer_to_post: impl Fn(&Value, usize) -> Act + Send + 'static) -> Peer {
        let store = self.clone();
        Peer::start(move |seen| store.handle(seen, &answer_to_post)).await
    }

    fn handle(&self, seen: &Seen, answer_to_post: &dyn Fn(&Value, usize) -> Act) -> Act {
        let mut posted = self.posted.lock().unwrap();
        match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/user") => answer(200, &json!({"login": "me"})),
            ("POST", _) => {
                let mut item = seen.body.clone();
                let number = posted.len() + 1;
                item["number"] = json!(number);
                item["id"] = json!(number);
                item["user"] = json!({"login": "me"});
                let now = std::time::SystemTime::now();
                item["created_at"] = json!(humantime::format_rfc3339_seconds(now).to_string());
                let act = answer_to_post(&item, number);
                // What was refused has not happened.
                if !matches!(act, Act::Answer { status: 400..=499, .. }) {
                    posted.push(item);
                }
                act
            }
            _ => answer(200, &Value::Array(posted.iter().rev().cloned().collect())),
        }
    }

    fn count(&self) -> usize {
        self.posted.lock().unwrap().len()
    }
}

fn create() -> Value {
    json!({"title": "Crash", "body": "It crashes.\n"})
}

type Loss = fn(&Value, usize) -> Act;

const LOSSES: &[(&str, Loss)] = &[
    ("dropped", |_, _| Act::Drop),
    ("502", |_, _| answer(502, &json!({"message": "Server Error"}))),
    ("504", |_, _| answer(504, &Value::Null)),
    ("timeout", |_, _| Act::Hang),
    ("truncated", |_, _| Act::Truncate(b"{\"number\":".to_vec())),
    ("no JSON", |_, _| Act::Answer { status: 201, headers: vec![], body: b"<html>".to_vec() }),
];

#[tokio::test]
async fn a_lost_answer_is_found_again() {
    for (loss, act) in LOSSES {
        let store = Store::default();
        let peer = store.peer(act).await;
        let client = client(&peer).await;
        let answer = call(&client, "github_create_issue", create()).await;
        assert_eq!(answer.structured["number"], 1, "{loss}: {}", answer.text());
        assert_eq!(answer.structured["done"], "was there already", "{loss}");
        assert_eq!(store.count(), 1, "{loss}");
        let comment = json!({"action": "add", "number": 9, "body": "Me too"});
        let store = Store::default();
        let peer = store.peer(act).await;
        let client = super::client(&peer).await;
        good(&client, "issue_comment", comment).await;
        assert_eq!(store.count(), 1, "{loss}");
    }
}

#[tokio::test]
async fn what_did_not_happen_is_not_claimed_and_not_repeated_by_itself() {
    // Dropped before GitHub saw it: the store stays empty.
    let store = Store::default();
    let stores = store.clone();
    let peer = Peer::start(move |seen| match seen.method.as_str() {
        "POST" => Act::Drop,
        _ => stores.handle(seen, &|_, _| Act::Drop),
    })
    .await;
    let client = client(&peer).await;
    let text = refused(&client, "github_create_issue", create()).await;
    assert!(text.contains("may have happened or not"), "{text}");
    assert_eq!(peer.writes().len(), 1);
}

/// The server was killed, or its client lost the answer, and the same call comes again: to
/// another process, which remembers nothing.
#[tokio::test]
async fn a_repeated_call_finds_the_first() {
    let store = Store::default();
    let peer = store.peer(|item, _| answer(201, item)).await;
    let first = client(&peer).await;
    let second = client(&peer).await;
    for (client, done) in
        [(&first, "created"), (&second, "was there already"), (&first, "was there already")]
    {
        let answer = call(client, "github_create_issue", create()).await;
        assert_eq!(answer.structured["done"], done);
        assert_eq!(answer.structured["number"], 1);
    }
    good(&first, "github_create_issue", json!({"title": "Crash", "body": "Another."})).await;
    let mut again = create();
    again["allow_duplicate"] = json!(true);
    let answer = call(&first, "github_create_issue", again).await;
    assert_eq!(answer.structured["number"], 3);
}

#[tokio::test]
async fn the_same_call_twice_at_once_creates_one() {
    let store = Store::default();
    let peer = store.peer(|item, _| answer(201, item)).await;
    let client = client(&peer).await;
    let create = || call(&client, "github_create_issue", create());
    let (a, b) = tokio::join!(create(), create());
    assert_eq!((a.is_error, b.is_error, store.count()), (false, false, 1));
}

#[tokio::test]
async fn what_others_write_is_not_taken_for_ours() {
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    for (login, created_at, ours) in [
        ("me", now.as_str(), true),
        ("ME", now.as_str(), true),
        ("other", now.as_str(), false),
        ("me", "2020-01-01T00:00:00Z", false),
        ("me", "", false),
    ] {
        let there = json!([{"id": 5, "number": 5, "title": "Crash", "body": "It crashes.",
            "user": {"login": login}, "created_at": created_at}]);
        let peer = Peer::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/user") => answer(200, &json!({"login": "me"})),
            ("POST", _) => answer(201, &json!({"number": 6, "id": 6})),
            _ => answer(200, &there),
        })
        .await;
        let client: Client = client(&peer).await;
        let answer = call(&client, "github_create_issue", create()).await;
        assert_eq!(answer.structured["number"], if ours { 5 } else { 6 }, "{login} {created_at}");
        let text = good(
            &client,
            "issue_comment",
            json!({"action": "add", "number": 1, "body": "It crashes."}),
        )
        .await;
        assert_eq!(text.contains("comment 5 was there"), ours, "{login} {created_at} {text}");
    }
}
