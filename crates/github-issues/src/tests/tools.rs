//! How each tool is used, request by request.

use mcp::Revision;
use mcp::client::Answering;
use serde_json::{Value, json};

use super::peer::{Peer, json as answer};
use super::{call, client, config, connect, good, issue, refused};

#[tokio::test]
async fn an_issue_is_read_in_every_revision() {
    for revision in Revision::ALL {
        let peer = Peer::always(200, issue(7)).await;
        let client = connect(&config(&peer.url), revision, Answering::nothing()).await;
        let text = good(&client, "issue_get", json!({"number": 7})).await;
        assert!(text.starts_with("o/r#7 open unassigned 0c \"Issue 7\""), "{revision} {text}");
        assert!(text.contains("by @alice (member), created 2026-11-01"), "{text}");
        assert_eq!(peer.seen().len(), 1);
        assert_eq!(peer.seen()[0].path, "/repos/o/r/issues/7");
    }
}

#[tokio::test]
async fn every_request_says_who_and_what_it_is() {
    let peer = Peer::always(200, issue(7)).await;
    good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    let head = peer.seen()[0].head.clone();
    for line in [
        format!("authorization: bearer {}", super::TOKEN.to_lowercase()),
        "accept: application/vnd.github+json".to_owned(),
        "x-github-api-version: 2022-11-28".to_owned(),
        format!("user-agent: mcp-github-issues/{}", env!("CARGO_PKG_VERSION")),
    ] {
        assert_eq!(head.lines().filter(|got| **got == line).count(), 1, "{line}\n{head}");
    }
}

#[tokio::test]
async fn comments_are_the_newest_of_all_pages() {
    let peer = Peer::start(|seen| {
        let page: u64 = seen.path.rsplit_once("page=").map_or(0, |(_, page)| page.parse().unwrap());
        if page == 0 {
            let mut issue = issue(7);
            issue["comments"] = json!(205);
            return answer(200, &issue);
        }
        let last = (page * 100).min(205);
        let ids = (page - 1) * 100 + 1..=last;
        let comments: Vec<Value> = ids
            .map(|id| json!({"id": id, "body": format!("text {id}"), "user": {"login": "bob"}}))
            .collect();
        answer(200, &json!(comments))
    })
    .await;
    let client = client(&peer).await;
    for (skip, first, last) in [(0, 199, 205), (5, 194, 200), (199, 1, 6)] {
        let ask = json!({"number": 7, "comments": 7, "skip_comments": skip});
        let text = good(&client, "issue_get", ask).await;
        let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("text ")).collect();
        assert_eq!(shown.first().copied(), Some(format!("text {first}").as_str()), "{text}");
        assert_eq!(shown.last().copied(), Some(format!("text {last}").as_str()), "{text}");
        assert_eq!(text.contains("older comments"), first > 1, "{text}");
    }
}

#[tokio::test]
async fn a_list_asks_for_what_was_wanted() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/milestones" => answer(200, &json!([{"number": 3, "title": "v1"}])),
        "GET /repos/o/r/labels" => answer(200, &json!([{"name": "a b"}, {"name": "c/d"}])),
        _ => answer(200, &json!([issue(7)])),
    })
    .await;
    let client = client(&peer).await;
    for (ask, query) in [
        (json!({}), "state=open&sort=created&direction=desc&per_page=30"),
        (
            json!({"state": "all", "sort": "updated", "ascending": true, "limit": 5}),
            "state=all&sort=updated&direction=asc&per_page=5",
        ),
        (
            json!({"labels": ["A b", "c/d"], "assignee": "none", "creator": "x&y"}),
            "state=open&sort=created&direction=desc&per_page=30&labels=a%20b%2Cc%2Fd&assignee=none&creator=x%26y",
        ),
        (
            json!({"milestone": "V1", "since": "2026-01-01T00:00:00Z"}),
            "state=open&sort=created&direction=desc&per_page=30&milestone=3&since=2026-01-01T00%3A00%3A00Z",
        ),
        (
            json!({"milestone": "*"}),
            "state=open&sort=created&direction=desc&per_page=30&milestone=%2A",
        ),
    ] {
        let text = good(&client, "issue_list", ask).await;
        assert_eq!(text, "#7 open @alice 0c 2026-11-02 \"Issue 7\"\n");
        assert_eq!(peer.seen().last().unwrap().path, format!("/repos/o/r/issues?{query}"));
    }
    let wide = json!({"fields": ["url", "assignees", "created"], "excerpt": 3});
    let text = good(&client, "issue_list", wide).await;
    assert_eq!(
        text,
        "#7 https://github.com/o/r/issues/7 unassigned created:2026-11-01\n    tex…\n"
    );
}

#[tokio::test]
async fn a_search_stays_inside() {
    let peer = Peer::start(|_| {
        let mut other = issue(8);
        other["repository_url"] = json!("https://api.github.com/repos/evil/x");
        answer(
            200,
            &json!({"total_count": 2, "incomplete_results": false, "items": [issue(7), other]}),
        )
    })
    .await;
    let client = client(&peer).await;
    let text = good(&client, "issue_search", json!({"query": "crash", "sort": "updated"})).await;
    let path = peer.seen()[0].path.clone();
    let q = "q=crash%20is%3Aissue%20repo%3Ao%2Fr&per_page=30&sort=updated";
    assert_eq!(path, format!("/search/issues?{q}"));
    assert!(text.starts_with("o/r#7 open"), "{text}");
    assert!(!text.contains("#8") && text.contains("[1 results outside"), "{text}");
    let few = json!({"query": "crash", "fields": ["state", "url"]});
    let text = good(&client, "issue_search", few).await;
    assert!(text.starts_with("o/r#7 open https://github.com/o/r/issues/7\n"), "{text}");
    let odd = refused(&client, "issue_search", json!({"query": "x", "fields": ["stat"]})).await;
    assert!(odd.contains("state"), "{odd}");
    for query in ["repo:evil/x", "crash (org:evil)", "user:evil"] {
        let text = refused(&client, "issue_search", json!({"query": query})).await;
        assert!(text.contains("Leave repo:"), "{text}");
    }
    let text = refused(&client, "issue_search", json!({"query": "x", "repo": "evil/x"})).await;
    assert!(text.contains("may not touch evil/x. It serves: o/r."), "{text}");
    assert_eq!(peer.seen().len(), 2);
}

#[tokio::test]
async fn an_update_sends_what_was_asked_and_says_what_was_not_taken() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/labels" => answer(200, &json!([{"name": "Bug"}, {"name": "p1"}])),
        "GET /repos/o/r/milestones" => answer(200, &json!([{"number": 3, "title": "v1"}])),
        _ => answer(200, &issue(7)),
    })
    .await;
    let client = client(&peer).await;
    for (ask, sent) in [
        (json!({"labels": [], "assignees": []}), json!({"labels": [], "assignees": []})),
        (json!({"labels": null, "assignees": null}), json!({"labels": [], "assignees": []})),
        (json!({"milestone": null, "type": null}), json!({"milestone": null, "type": null})),
        (json!({"milestone": "v1"}), json!({"milestone": 3})),
        (json!({"milestone": "3"}), json!({"milestone": 3})),
        (json!({"labels": ["bug"]}), json!({"labels": ["Bug"]})),
        (
            json!({"state": "closed", "state_reason": "not_planned", "title": "t"}),
            json!({"title": "t", "state": "closed", "state_reason": "not_planned"}),
        ),
    ] {
        let mut ask = ask;
        ask["number"] = json!(7);
        good(&client, "issue_update", ask).await;
        assert_eq!(peer.writes().last().unwrap().body, sent);
    }
    let told = call(
        &client,
        "issue_update",
        json!({"number": 7, "labels": ["p1"], "milestone": "v1", "state": "closed"}),
    )
    .await;
    assert_eq!(
        told.text(),
        "state, labels, milestone; not taken over by GitHub: label p1, milestone, state closed"
    );
}

/// What a server does not know, or a token may not set, GitHub leaves out without a word.
#[tokio::test]
async fn what_github_drops_is_said() {
    for (ask, stored, told) in [
        (json!({"type": "Bug"}), json!({"type": {"name": "bug"}}), "type"),
        (json!({"type": "Bug"}), json!({}), "type; not taken over by GitHub: type"),
        (
            json!({"type": null}),
            json!({"type": {"name": "Bug"}}),
            "type; not taken over by GitHub: type",
        ),
        (
            json!({"state": "closed", "state_reason": "duplicate"}),
            json!({"state": "closed", "state_reason": "completed"}),
            "state, state_reason; not taken over by GitHub: state_reason duplicate",
        ),
        (
            json!({"state": "closed", "state_reason": "duplicate"}),
            json!({"state": "closed", "state_reason": "duplicate"}),
            "state, state_reason",
        ),
        (
            json!({"milestone": null}),
            json!({"milestone": {"number": 3, "title": "v1"}}),
            "milestone; not taken over by GitHub: milestone",
        ),
    ] {
        let mut item = issue(7);
        item.as_object_mut().unwrap().extend(stored.as_object().unwrap().clone());
        let peer = Peer::always(200, item).await;
        let mut ask = ask;
        ask["number"] = json!(7);
        assert_eq!(good(&client(&peer).await, "issue_update", ask.clone()).await, told, "{ask}");
    }
}

#[tokio::test]
async fn labels_come_and_go_one_by_one_and_conversations_are_locked() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/labels" => answer(200, &json!([{"name": "bug/ui: 🐛 &?#"}])),
        "DELETE /repos/o/r/issues/7/labels/gone" => {
            answer(404, &json!({"message": "Label does not exist"}))
        }
        "PUT /repos/o/r/issues/7/lock" | "DELETE /repos/o/r/issues/7/lock" => {
            answer(204, &Value::Null)
        }
        _ => answer(200, &issue(7)),
    })
    .await;
    let client = client(&peer).await;
    let ask = json!({"number": 7, "add_labels": ["bug/ui: 🐛 &?#"], "remove_labels": ["gone", "a/b?"],
        "locked": true, "lock_reason": "too heated"});
    let told = good(&client, "issue_update", ask).await;
    assert_eq!(told, "add_labels, label gone was not there, remove label a/b?, lock");
    good(&client, "issue_update", json!({"number": 7, "locked": false})).await;
    let writes: Vec<(String, Value)> =
        peer.writes().into_iter().map(|seen| (seen.what(), seen.body)).collect();
    assert_eq!(
        writes,
        [
            ("POST /repos/o/r/issues/7/labels".to_owned(), json!({"labels": ["bug/ui: 🐛 &?#"]})),
            ("DELETE /repos/o/r/issues/7/labels/gone".to_owned(), Value::Null),
            ("DELETE /repos/o/r/issues/7/labels/a%2Fb%3F".to_owned(), Value::Null),
            ("PUT /repos/o/r/issues/7/lock".to_owned(), json!({"lock_reason": "too heated"})),
            ("DELETE /repos/o/r/issues/7/lock".to_owned(), Value::Null),
        ]
    );
}

#[tokio::test]
async fn arguments_that_contradict_each_other_send_nothing() {
    let peer = Peer::always(200, issue(7)).await;
    let client = client(&peer).await;
    for (tool, ask, says) in [
        ("issue_update", json!({"number": 7, "labels": ["a"], "add_labels": ["b"]}), "not both"),
        ("issue_update", json!({"number": 7, "state_reason": "completed"}), "goes with a `state`"),
        (
            "issue_update",
            json!({"number": 7, "state": "open", "state_reason": "completed"}),
            "goes with",
        ),
        ("issue_update", json!({"number": 7, "lock_reason": "spam"}), "`locked`: true"),
        ("issue_comment", json!({"action": "add", "number": 7}), "`body` is missing"),
        ("issue_comment", json!({"action": "add", "body": "x"}), "`number` is missing"),
        ("issue_comment", json!({"action": "list"}), "`number` is missing"),
        ("issue_comment", json!({"action": "delete"}), "`comment_id` is missing"),
        ("issue_list", json!({"cursor": "0.x#y"}), "cursor does not fit"),
        ("issue_list", json!({"limit": 101}), "limit"),
        ("issue_get", json!({"number": "7"}), "number"),
        ("github_create_issue", json!({"title": ""}), "title"),
    ] {
        let text = refused(&client, tool, ask.clone()).await;
        assert!(text.contains(says), "{tool} {ask}: {text}");
    }
    assert!(peer.seen().is_empty(), "{:?}", peer.seen());
}

#[tokio::test]
async fn comments_are_edited_at_once_and_deleted_after_a_yes() {
    let comment = json!({"id": 5, "body": "text", "user": {"login": "bob"}});
    for (action, gone) in [("accept", true), ("decline", false), ("cancel", false)] {
        let peer = Peer::always(200, comment.clone()).await;
        let yes = json!({"action": action, "content": {"go_ahead": true}});
        let answering = Answering::new(json!({"elicitation": {}}), move |_, params| {
            assert!(
                params["message"].as_str().unwrap().contains("comment 5 by @bob in o/r, \"text\"")
            );
            Ok(yes.clone())
        });
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            let before = peer.writes().len();
            let client = connect(&config(&peer.url), revision, answering.clone()).await;
            let ask = json!({"action": "delete", "comment_id": 5});
            assert_eq!(!call(&client, "issue_comment", ask).await.is_error, gone, "{revision}");
            assert_eq!(peer.writes().len() - before, usize::from(gone));
        }
    }
    let peer = Peer::always(200, comment).await;
    let client = client(&peer).await;
    good(&client, "issue_comment", json!({"action": "edit", "comment_id": 5, "body": "new"})).await;
    assert_eq!(peer.writes()[0].what(), "PATCH /repos/o/r/issues/comments/5");
    assert_eq!(peer.writes()[0].body, json!({"body": "new"}));
    // A client that cannot ask: the word of this act does, another does not.
    let text =
        refused(&client, "issue_comment", json!({"action": "delete", "comment_id": 5})).await;
    let word = text.rsplit('"').nth(1).unwrap().to_owned();
    let wrong = json!({"action": "delete", "comment_id": 5, "confirm": "yes"});
    refused(&client, "issue_comment", wrong).await;
    let right = json!({"action": "delete", "comment_id": 5, "confirm": word});
    good(&client, "issue_comment", right).await;
    assert_eq!(peer.writes().len(), 2);
}

#[tokio::test]
async fn a_change_that_breaks_off_says_what_is_done() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/labels" => answer(200, &json!([{"name": "bug"}])),
        "POST /repos/o/r/issues/7/labels" => answer(403, &json!({"message": "no right"})),
        _ => answer(200, &issue(7)),
    })
    .await;
    let ask = json!({"number": 7, "title": "new", "add_labels": ["bug"], "locked": true});
    let text = refused(&client(&peer).await, "issue_update", ask).await;
    assert!(
        text.starts_with("Done: title. The rest is not: ") && text.contains("no right"),
        "{text}"
    );
    assert_eq!(peer.writes().len(), 2);
}

#[tokio::test]
async fn assignees_are_known_before_they_are_sent() {
    for (list_status, asked, sent) in [
        (200, "ALICE", Some("alice")),
        (200, "@bob", Some("bob")),
        (200, "copilot-swe-agent[bot]", Some("copilot-swe-agent[bot]")),
        (200, "alise", None),
        // Where the list is not to be had GitHub judges.
        (404, "alise", Some("alise")),
        (403, "alise", Some("alise")),
    ] {
        let peer = Peer::start(move |seen| match seen.what().as_str() {
            "GET /repos/o/r/assignees" => {
                answer(list_status, &json!([{"login": "alice"}, {"login": "bob"}]))
            }
            "GET /repos/o/r/issues/7" | "PATCH /repos/o/r/issues/7" => answer(200, &issue(7)),
            "POST /repos/o/r/issues" => answer(201, &issue(8)),
            _ => answer(200, &json!([])),
        })
        .await;
        let client = client(&peer).await;
        let create = json!({"title": "x", "assignees": [asked]});
        let update = json!({"number": 7, "assignees": [asked]});
        for (tool, ask) in [("github_create_issue", create), ("issue_update", update)] {
            match sent {
                Some(login) => {
                    good(&client, tool, ask).await;
                    assert_eq!(peer.writes().pop().unwrap().body["assignees"], json!([login]));
                }
                None => {
                    let text = refused(&client, tool, ask).await;
                    assert!(
                        text.contains("no assignee \"alise\"") && text.contains("\"alice\""),
                        "{text}"
                    );
                    assert!(peer.writes().is_empty());
                }
            }
        }
    }
}

#[tokio::test]
async fn a_comment_is_pinned_and_unpinned() {
    let peer = Peer::always(200, json!({"id": 5})).await;
    let client = client(&peer).await;
    for (action, method) in [("pin", "PUT"), ("unpin", "DELETE")] {
        good(&client, "issue_comment", json!({"action": action, "comment_id": 5})).await;
        let what = peer.writes().pop().unwrap().what();
        assert_eq!(what, format!("{method} /repos/o/r/issues/comments/5/pin"));
    }
}
