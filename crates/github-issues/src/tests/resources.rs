//! Resources, what is suggested for their parts, the prompts, and that a subscriber hears of changes.

use std::sync::{Arc, Mutex};

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::peer::{Act, Peer, Seen, json as answer};
use super::{client, config, connect, issue};

/// A repository with two issues, a label, a milestone and an assignee.
fn repository(seen: &Seen) -> Act {
    let mut second = issue(12);
    second["title"] = json!("Dark theme");
    second["labels"] = json!([{"name": "bug/ui"}]);
    match seen.what().as_str() {
        "GET /user" => answer(200, &json!({"login": "o"})),
        "GET /user/repos" => {
            answer(200, &json!([{"full_name": "o/r"}, {"full_name": "o/rust"}, {"x": 1}]))
        }
        "GET /users/acme/repos" => answer(200, &json!([{"full_name": "acme/rocket"}])),
        "GET /repos/o/r/issues" => answer(200, &json!([second, issue(7)])),
        "GET /repos/o/r/issues/7" => {
            let mut item = issue(7);
            item["comments"] = json!(1);
            answer(200, &item)
        }
        "GET /repos/o/r/issues/7/comments" => {
            answer(200, &json!([{"id": 5, "body": "Me too", "user": {"login": "bob"}}]))
        }
        "GET /repos/o/r/labels" => {
            answer(200, &json!([{"name": "bug/ui", "color": "f00"}, {"name": "Build"}]))
        }
        "GET /repos/o/r/milestones" => {
            answer(200, &json!([{"number": 3, "title": "v1", "state": "open"}]))
        }
        "GET /repos/o/r/assignees" => answer(200, &json!([{"login": "alice"}, {"login": "bob"}])),
        _ => answer(404, &json!({"message": "Not Found"})),
    }
}

async fn text(client: &Client, uri: &str) -> String {
    let contents = client.read_resource(uri).await.expect(uri);
    assert_eq!(
        (&contents[0]["uri"], &contents[0]["mimeType"]),
        (&json!(uri), &json!("text/plain"))
    );
    contents[0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn resources_are_read() {
    let peer = Peer::start(repository).await;
    let client = client(&peer).await;
    for (uri, says, asked) in [
        ("github://o/r/issues/7", "o/r#7 open", "/repos/o/r/issues/7"),
        (
            "github://o/r/issues/7/comments",
            "Me too",
            "/repos/o/r/issues/7/comments?per_page=100&page=1",
        ),
        ("github://o/r/issues", "#12 open bug/ui", "/repos/o/r/issues?state=open&per_page=100"),
        ("github://o/r/labels", "bug/ui #f00", "/repos/o/r/labels?per_page=100"),
        (
            "github://o/r/labels/bug%2Fui",
            "#7 open",
            "/repos/o/r/issues?state=open&per_page=100&labels=bug%2Fui",
        ),
        (
            "github://o/r/milestones",
            "#3 open \"v1\"",
            "/repos/o/r/milestones?state=all&per_page=100",
        ),
        (
            "github://o/r/milestones/V1",
            "#7 open",
            "/repos/o/r/issues?state=open&per_page=100&milestone=3",
        ),
        (
            "github://o/r/assignees/alice",
            "#7 open",
            "/repos/o/r/issues?state=open&per_page=100&assignee=alice",
        ),
    ] {
        let text = text(&client, uri).await;
        assert!(text.contains(says), "{uri}: {text}");
        assert_eq!(peer.seen().pop().unwrap().path, asked, "{uri}");
    }
    let listed = client.list("resources/list", "resources").await.unwrap();
    let uris: Vec<&str> = listed.iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
    let lists = ["github://o/r/issues", "github://o/r/labels", "github://o/r/milestones"];
    assert_eq!(uris, [&["github://served"][..], &lists].concat());
    for uri in uris {
        text(&client, uri).await;
    }
    let templates = client.list("resources/templates/list", "resourceTemplates").await.unwrap();
    assert_eq!(templates.len(), 8);
}

#[tokio::test]
async fn what_is_not_there_or_not_served_is_not_found() {
    let peer = Peer::start(repository).await;
    let client = client(&peer).await;
    for uri in [
        "github://o/r/issues/8",
        "github://o/r/issues/x",
        "github://evil/r/issues/7",
        "github://o/%2e%2e/issues/7",
        "github://o/r%2F..%2F..%2Fuser/issues/7",
        "github://o/r/labels/unknown",
        "github://o/r/milestones/unknown",
        "github://o/r",
    ] {
        let error = client.read_resource(uri).await.expect_err(uri).to_string();
        assert!(error.contains("Resource not found"), "{uri}: {error}");
    }
    assert!(peer.seen().iter().all(|seen| seen.path.starts_with("/repos/o/r/")));
}

async fn complete(
    client: &Client,
    reference: Value,
    name: &str,
    typed: &str,
    chosen: Value,
) -> Value {
    let ask = json!({"ref": reference, "argument": {"name": name, "value": typed},
        "context": {"arguments": chosen}});
    client.request("completion/complete", ask).await.unwrap()["completion"]["values"].take()
}

#[tokio::test]
async fn every_part_of_a_uri_is_suggested() {
    let mut peer = Peer::start(repository).await;
    // A name somebody is still typing leads where it leads.
    peer.is_forged = false;
    let mut config = config(&peer.url);
    config.repos = vec!["o/r".to_owned(), "acme/*".to_owned()];
    let client = connect(&config, Revision::V2025_11_25, Answering::nothing()).await;
    let here = json!({"owner": "o", "repo": "r"});
    for (end, name, typed, chosen, values) in [
        ("issues/{number}", "owner", "", json!({}), json!(["o", "acme"])),
        ("issues/{number}", "owner", "A", json!({}), json!(["acme"])),
        // Of the owner's repositories those that are served.
        ("issues/{number}", "repo", "r", json!({"owner": "o"}), json!(["r"])),
        ("issues/{number}", "repo", "ro", json!({"owner": "acme"}), json!(["rocket"])),
        ("issues/{number}", "number", "1", here.clone(), json!(["12"])),
        ("issues/{number}", "number", "dark", here.clone(), json!(["12"])),
        ("issues/{number}", "number", "", here.clone(), json!(["12", "7"])),
        ("labels/{label}", "label", "bu", here.clone(), json!(["bug/ui", "Build"])),
        ("milestones/{milestone}", "milestone", "V", here.clone(), json!(["v1"])),
        ("assignees/{assignee}", "assignee", "b", here.clone(), json!(["bob"])),
        // Nothing is known of what is not served, and typing is no error.
        ("labels/{label}", "label", "", json!({"owner": "evil", "repo": "x"}), json!([])),
        ("labels/{label}", "label", "", json!({"owner": "o", "repo": ".."}), json!([])),
    ] {
        let uri = format!("github://{{owner}}/{{repo}}/{end}");
        let reference = json!({"type": "ref/resource", "uri": uri});
        let got = complete(&client, reference, name, typed, chosen.clone()).await;
        assert_eq!(got, values, "{name} {typed:?} {chosen}");
    }
    for (prompt, name, typed, values) in [
        ("triage_inbox", "repo", "", json!(["o/r", "acme/rocket"])),
        ("triage_inbox", "label", "bu", json!(["bug/ui", "Build"])),
        ("triage_inbox", "milestone", "", json!(["v1"])),
        ("triage_inbox", "assignee", "a", json!(["alice"])),
        ("write_bug_report", "like", "7", json!(["7"])),
    ] {
        let reference = json!({"type": "ref/prompt", "name": prompt});
        let got = complete(&client, reference, name, typed, json!({"repo": "o/r"})).await;
        assert_eq!(got, values, "{prompt} {name} {typed:?}");
    }
}

async fn prompt(client: &Client, name: &str, arguments: Value) -> String {
    let ask = json!({"name": name, "arguments": arguments});
    let got = client.request("prompts/get", ask).await.expect(name);
    got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn prompts_hold_what_the_model_needs() {
    let peer = Peer::start(repository).await;
    let client = client(&peer).await;
    let text = prompt(&client, "triage_inbox", json!({})).await;
    // Without a filter those nobody has labelled yet.
    assert!(text.contains("#7 open") && !text.contains("#12"), "{text}");
    assert!(text.contains("bug/ui, Build") && text.contains("issue_triage"), "{text}");
    let text = prompt(&client, "triage_inbox", json!({"label": "bug/ui", "milestone": "v1"})).await;
    assert!(text.contains("#12 open"), "{text}");
    let path = peer.seen().into_iter().map(|seen| seen.path).find(|path| path.contains("labels="));
    assert!(path.unwrap().ends_with("&labels=bug%2Fui&milestone=3"));
    let text =
        prompt(&client, "write_bug_report", json!({"what": "It crashes", "like": "7"})).await;
    assert!(text.contains("for o/r about this: It crashes") && text.contains("#7"), "{text}");
    for (name, arguments, says) in [
        ("triage_inbox", json!({"repo": "evil/x"}), "may not touch evil/x"),
        ("triage_inbox", json!({"milestone": "v9"}), "no milestone"),
        ("write_bug_report", json!({}), "what"),
    ] {
        let ask = json!({"name": name, "arguments": arguments});
        let error = client.request("prompts/get", ask).await.expect_err(name).to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// What a server can be asked for, and what it has by now.
#[derive(Clone)]
struct Changing(Arc<Mutex<Option<Value>>>);

impl Changing {
    async fn peer(&self) -> Peer {
        let current = self.clone();
        Peer::start(move |seen| {
            let current = current.0.lock().unwrap();
            let Some(item) = current.as_ref() else {
                return answer(410, &json!({"message": "This issue was deleted"}));
            };
            let etag = format!("\"{}\"", item["title"].as_str().unwrap());
            match seen.head.contains(&format!("if-none-match: {}", etag.to_lowercase())) {
                true => Act::Answer { status: 304, headers: vec![], body: vec![] },
                false => answer(200, item).with("ETag", &etag),
            }
        })
        .await
    }

    fn becomes(&self, item: Option<Value>) {
        *self.0.lock().unwrap() = item;
    }
}

async fn next_update(client: &Client) -> Value {
    loop {
        let notification = client.notification().await.expect("notification");
        if notification.method == "notifications/resources/updated" {
            return notification.params["uri"].clone();
        }
    }
}

/// Waits until the server has looked `more` times from now.
async fn looks(peer: &Peer, more: usize) {
    let before = peer.seen().len();
    while peer.seen().len() < before + more {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_subscriber_hears_of_changes_and_only_of_those() {
    let uri = "github://o/r/issues/7";
    let current = Changing(Arc::new(Mutex::new(Some(issue(7)))));
    let peer = current.peer().await;
    let client = client(&peer).await;
    // Nobody is subscribed: nobody looks.
    assert!(peer.seen().is_empty());
    client.request("resources/subscribe", json!({"uri": uri})).await.unwrap();
    looks(&peer, 3).await;
    assert!(peer.seen().last().unwrap().head.contains("if-none-match"));
    let mut other = issue(7);
    other["title"] = json!("Another title");
    current.becomes(Some(other));
    assert_eq!(next_update(&client).await, uri);
    current.becomes(None);
    assert_eq!(next_update(&client).await, uri);
    client.request("resources/unsubscribe", json!({"uri": uri})).await.unwrap();
    current.becomes(Some(issue(7)));
    // One look may be under way; after it there is none.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let count = peer.seen().len();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(peer.seen().len(), count);
}

#[tokio::test]
async fn a_stream_of_the_newest_revision_hears_of_changes_too() {
    let uri = "github://o/r/issues/7";
    let current = Changing(Arc::new(Mutex::new(Some(issue(7)))));
    let peer = current.peer().await;
    let client = connect(&config(&peer.url), Revision::V2026_07_28, Answering::nothing()).await;
    let wants = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let _stream = client.start("subscriptions/listen", wants);
    looks(&peer, 2).await;
    let mut other = issue(7);
    other["title"] = json!("Another title");
    current.becomes(Some(other));
    assert_eq!(next_update(&client).await, uri);
}
