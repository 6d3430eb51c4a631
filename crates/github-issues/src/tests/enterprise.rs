//! An Enterprise Server of an old version: what GitHub's description of 3.17 lacks is answered 404
//! here, and all the rest goes on as ever.

use mcp::Revision;
use mcp::client::Answering;
use serde_json::{Value, json};

use super::contract::fits;
use super::peer::{Act, Peer, Seen, json as answer};
use super::{call, config, connect, issue};

const PREFIX: &str = "/api/v3";

fn is_known(method: &str, path: &str) -> bool {
    let contract: Value =
        serde_json::from_str(include_str!("../../fixtures/contract.json")).unwrap();
    let missing = contract["not in ghes-3.17"].as_array().unwrap();
    assert!(missing.len() > 10);
    !missing.iter().any(|request| {
        let (of, template) = request.as_str().unwrap().split_once(' ').unwrap();
        of == method && fits(template, path)
    })
}

fn old_server(seen: &Seen) -> Act {
    let what = seen.what();
    let (method, path) = what.split_once(' ').unwrap();
    let path = path.strip_prefix(PREFIX).unwrap();
    if !is_known(method, path) {
        return answer(404, &json!({"message": "Not Found"}));
    }
    match (method, path) {
        (_, "/user") => answer(200, &json!({"login": "me"})),
        (_, "/search/issues") => answer(200, &json!({"total_count": 1, "items": [issue(8)]})),
        ("GET", "/repos/o/r/labels") => answer(200, &json!([{"name": "bug"}])),
        (_, "/repos/o/r/labels/bug") => answer(200, &json!({"name": "x"})),
        ("GET", "/repos/o/r/milestones") => answer(200, &json!([{"number": 3, "title": "v1"}])),
        ("GET", "/repos/o/r/assignees") => answer(200, &json!([{"login": "alice"}])),
        ("GET", "/repos/o/r/issues" | "/repos/o/r/issues/7/comments") => answer(200, &json!([])),
        ("POST", "/repos/o/r/issues") => answer(201, &issue(9)),
        _ => answer(200, &issue(7)),
    }
}

#[tokio::test]
async fn what_an_old_server_does_not_know_is_said_and_the_rest_works() {
    let mut peer = Peer::start(old_server).await;
    peer.prefix = PREFIX;
    let mut config = config(&format!("{}{PREFIX}", peer.url));
    config.yes = true;
    let client = connect(&config, Revision::V2025_11_25, Answering::nothing()).await;
    let edits = json!([{"op": "append", "text": "x"}]);
    for (tool, ask, works) in [
        ("github_status", json!({}), true),
        ("github_create_issue", json!({"title": "x", "labels": ["bug"], "milestone": "v1"}), true),
        ("issue_get", json!({"number": 7, "comments": 5}), true),
        ("issue_list", json!({"labels": ["bug"], "milestone": "v1", "assignee": "alice"}), true),
        ("issue_search", json!({"query": "crash", "sort": "reactions"}), true),
        (
            "issue_update",
            json!({"number": 7, "title": "x", "labels": [], "assignees": ["alice"],
                "milestone": null, "type": "Bug", "state": "closed", "state_reason": "duplicate",
                "locked": true, "lock_reason": "spam"}),
            true,
        ),
        ("issue_update", json!({"number": 7, "add_labels": ["bug"], "remove_labels": ["x"]}), true),
        ("issue_comment", json!({"action": "add", "number": 7, "body": "x"}), true),
        ("issue_comment", json!({"action": "edit", "comment_id": 5, "body": "x"}), true),
        ("issue_comment", json!({"action": "delete", "comment_id": 5}), true),
        ("issue_comment", json!({"action": "pin", "comment_id": 5}), false),
        ("issue_comment", json!({"action": "unpin", "comment_id": 5}), false),
        ("issue_edit_body", json!({"number": 7, "edits": edits}), true),
        ("issue_triage", json!({"query": "crash", "state": "closed"}), true),
        ("issue_relations", json!({"action": "list", "number": 7}), true),
        ("issue_relations", json!({"action": "find_duplicates", "number": 7}), true),
        ("issue_relations", json!({"action": "add_sub_issue", "number": 7, "other": 8}), false),
        ("issue_relations", json!({"action": "remove_sub_issue", "number": 7, "other": 8}), false),
        ("issue_relations", json!({"action": "add_blocker", "number": 7, "other": 8}), false),
        ("issue_relations", json!({"action": "remove_blocker", "number": 7, "other": 8}), false),
        ("label_manage", json!({"action": "update", "name": "bug", "new_name": "x"}), true),
        (
            "milestone_manage",
            json!({"action": "update", "milestone": "v1", "due_on": "2027-01-31"}),
            true,
        ),
    ] {
        let told = call(&client, tool, ask.clone()).await;
        assert_eq!(!told.is_error, works, "{tool} {ask}: {}", told.text());
        assert!(
            works || told.text().contains("Enterprise Server may be too old"),
            "{}",
            told.text()
        );
    }
}
