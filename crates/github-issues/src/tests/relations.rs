//! Sub-issues and dependencies by number, and issues that say the same.

use serde_json::{Value, json};

use super::peer::{Peer, json as answer};
use super::{client, good, issue, refused};

/// cli#10378, github-mcp-server#154, #470: GitHub wants database ids, as integers.
#[tokio::test]
async fn numbers_become_ids() {
    let peer = Peer::start(|seen| {
        let number = seen.path.rsplit('/').next().unwrap().parse().unwrap_or(7);
        answer(200, &issue(number))
    })
    .await;
    let client = client(&peer).await;
    for (action, what, body) in [
        ("add_sub_issue", "POST /repos/o/r/issues/7/sub_issues", json!({"sub_issue_id": 1008})),
        ("remove_sub_issue", "DELETE /repos/o/r/issues/7/sub_issue", json!({"sub_issue_id": 1008})),
        (
            "add_blocker",
            "POST /repos/o/r/issues/7/dependencies/blocked_by",
            json!({"issue_id": 1008}),
        ),
        ("remove_blocker", "DELETE /repos/o/r/issues/7/dependencies/blocked_by/1008", Value::Null),
    ] {
        good(&client, "issue_relations", json!({"action": action, "number": 7, "other": 8})).await;
        let last = peer.writes().pop().unwrap();
        assert_eq!((last.what().as_str(), &last.body), (what, &body));
        let text =
            refused(&client, "issue_relations", json!({"action": action, "number": 7})).await;
        assert!(text.contains("`other` is missing"), "{text}");
    }
}

/// github-mcp-server#2831, #3068: an older server lacks some of this, which is no failure.
#[tokio::test]
async fn what_a_server_lacks_is_left_out() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/issues/7" => answer(200, &issue(7)),
        "GET /repos/o/r/issues/7/sub_issues" => answer(200, &json!([issue(8), issue(9)])),
        _ => answer(404, &json!({"message": "Not Found"})),
    })
    .await;
    let client = client(&peer).await;
    let text = good(&client, "issue_relations", json!({"action": "list", "number": 7})).await;
    assert!(text.starts_with("sub-issues:\n#8 open") && text.contains("\n#9 open"), "{text}");
    refused(&client, "issue_relations", json!({"action": "list", "number": 1})).await;
}

#[tokio::test]
async fn duplicates_are_found_without_the_search_as_well() {
    let named = |number: u64, title: &str| {
        let mut item = issue(number);
        item["title"] = json!(title);
        item
    };
    for search_works in [true, false] {
        let peer = Peer::start(move |seen| match seen.what().as_str() {
            "GET /repos/o/r/issues/7" => answer(200, &named(7, "Crash when opening settings")),
            "GET /search/issues" if search_works => {
                answer(200, &json!({"items": [named(2, "Crash when opening the settings")]}))
            }
            "GET /search/issues" => answer(422, &json!({"message": "no"})),
            _ => answer(
                200,
                &json!([
                    named(7, "Crash when opening settings"),
                    named(3, "Crash opening settings"),
                    named(4, "Dark theme")
                ]),
            ),
        })
        .await;
        let text = good(
            &client(&peer).await,
            "issue_relations",
            json!({"action": "find_duplicates", "number": 7}),
        )
        .await;
        assert!(text.contains("#3 open") && !text.contains("#4") && !text.contains("#7"), "{text}");
        assert_eq!(text.contains("#2 open"), search_works, "{text}");
        assert!(text.contains("shared: "), "{text}");
    }
}
