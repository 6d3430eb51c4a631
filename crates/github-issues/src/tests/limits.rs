//! What an answer may cost, and where a list ends: each end says how to go on.

use serde_json::{Value, json};

use super::peer::{Act, Peer, Seen, json as answer};
use super::reports::{cursor, host, pull_request};
use super::{client, good, issue};

#[tokio::test]
async fn pages_of_pull_requests_are_not_followed_for_ever() {
    let peer = Peer::start(|seen| {
        let next =
            format!("<http://{}/repositories/9/issues?after=x>; rel=\"next\"", host(&seen.head));
        answer(200, &json!([pull_request(1), pull_request(2)])).with("Link", &next)
    })
    .await;
    let text = good(&client(&peer).await, "issue_list", json!({})).await;
    assert!(text.starts_with("no issues\n[10 pull requests left out]\n"), "{text}");
    assert_eq!(cursor(&text).as_deref(), Some("0.after=x"));
    assert_eq!(peer.seen().len(), 5);
}

#[tokio::test]
async fn the_end_of_a_search_names_the_way_on() {
    for (total, note) in [
        (7, "[7 in all]\n"),
        (1000, "[1000 in all]\n"),
        (
            2500,
            "[2500 in all, of which GitHub shows 1000; for the rest sort by created and add created:<=2026-11-01]\n",
        ),
    ] {
        let found = json!({"total_count": total, "incomplete_results": false, "items": [issue(7)]});
        let peer = Peer::always(200, found).await;
        let text = good(&client(&peer).await, "issue_search", json!({"query": "x"})).await;
        assert!(text.ends_with(note), "{text}");
    }
    let early = json!({"total_count": 1, "incomplete_results": true, "items": [issue(7)]});
    let peer = Peer::always(200, early).await;
    let text = good(&client(&peer).await, "issue_search", json!({"query": "x"})).await;
    assert!(text.contains("[GitHub's search gave up early; some may be missing]"), "{text}");
}

#[tokio::test]
async fn an_issue_costs_600_bytes_and_its_body() {
    let mut item = issue(7);
    let more = json!({
        "title": "Crash when opening the settings dialog twice in a row on Wayland",
        "body": "x".repeat(4000), "state": "closed", "state_reason": "not_planned", "locked": true,
        "labels": [{"name": "bug"}, {"name": "priority: high"}, {"name": "area/settings"}],
        "assignees": [{"login": "octocat"}, {"login": "hubot"}],
        "milestone": {"number": 3, "title": "v1.2 maintenance"}, "type": {"name": "Bug"},
        "sub_issues_summary": {"total": 3, "completed": 1}, "author_association": "NONE",
    });
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let peer = Peer::always(200, item).await;
    let text = good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert!(text.len() <= 600 + 4000, "{} bytes", text.len());
    for shown in ["closed(not_planned)", "area/settings", "hubot", "v1.2", "type Bug", "locked"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

/// Forty comments of a thousand letters.
fn long_talk(seen: &Seen) -> Act {
    if !seen.path.contains("/comments") {
        let mut item = issue(7);
        item["comments"] = json!(40);
        return answer(200, &item);
    }
    let comment = |id: u64| json!({"id": id, "body": format!("text {id} {}", "x".repeat(1000)), "user": {"login": "bob"}});
    answer(200, &(1..=40).map(comment).collect::<Value>())
}

#[tokio::test]
async fn comments_are_listed_as_far_as_they_fit() {
    let peer = Peer::start(long_talk).await;
    let client = client(&peer).await;
    let text = good(&client, "issue_comment", json!({"action": "list", "number": 7})).await;
    assert!(text.len() <= 17 * 1024, "{} bytes", text.len());
    let (note, rest) = text.split_once('\n').unwrap();
    let shown: Vec<&str> = rest.lines().filter(|line| line.starts_with("text ")).collect();
    let count = shown.len();
    assert!(count > 10 && shown[count - 1].starts_with("text 40 "), "{shown:?}");
    let older = 40 - count;
    assert_eq!(note, format!("[{older} older comments: issue_get, skip_comments {count}]"));
    // The way on it names begins where it ended.
    let on = json!({"number": 7, "comments": 1, "skip_comments": count});
    let text = good(&client, "issue_get", on).await;
    assert!(text.contains(&format!("\ntext {older} ")), "{text}");
    let none = Peer::start(|seen| match seen.path.contains("/comments") {
        true => answer(200, &json!([])),
        false => answer(200, &issue(7)),
    })
    .await;
    let list = json!({"action": "list", "number": 7});
    assert_eq!(good(&super::client(&none).await, "issue_comment", list).await, "no comments");
}

/// devlake and others: what is not kept any more must not be asked for with its ETag.
#[tokio::test]
async fn what_was_forgotten_is_asked_for_anew() {
    let peer = Peer::start(|seen| match seen.head.contains("if-none-match") {
        true => Act::Answer { status: 304, headers: vec![], body: vec![] },
        false => {
            let number = seen.path.rsplit('/').next().unwrap().parse().unwrap();
            answer(200, &issue(number)).with("ETag", "\"v1\"")
        }
    })
    .await;
    let client = client(&peer).await;
    for number in (1..=300).chain([300, 1]) {
        let text = good(&client, "issue_get", json!({"number": number})).await;
        assert!(text.starts_with(&format!("o/r#{number} open")), "{text}");
    }
    let asked = peer.seen();
    let with_etag = |seen: &Seen| seen.head.contains("if-none-match");
    assert!(with_etag(&asked[300]) && !with_etag(&asked[301]));
}
