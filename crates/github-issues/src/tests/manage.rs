//! Labels, milestones and the status, request by request.

use mcp::Revision;
use mcp::client::Answering;
use serde_json::{Value, json};

use super::peer::{Peer, json as answer};
use super::{client, config, connect, good, refused};

#[tokio::test]
async fn labels_are_managed() {
    let peer = Peer::start(|seen| match seen.method.as_str() {
        "GET" => answer(200, &json!([{"name": "Bug/ui", "color": "f00", "description": "d"}])),
        "DELETE" => answer(204, &Value::Null),
        _ => answer(200, &json!({"name": "made"})),
    })
    .await;
    let client = client(&peer).await;
    for (ask, says, sent) in [
        (json!({"action": "list"}), "Bug/ui #f00 d", None),
        (
            json!({"action": "create", "name": "x", "color": "#d73a4a"}),
            "created made",
            Some(("POST /repos/o/r/labels", json!({"color": "d73a4a", "name": "x"}))),
        ),
        (
            json!({"action": "update", "name": "bug/UI", "new_name": "y", "description": ""}),
            "changed made",
            Some(("PATCH /repos/o/r/labels/Bug%2Fui", json!({"new_name": "y", "description": ""}))),
        ),
    ] {
        assert_eq!(good(&client, "label_manage", ask).await, says);
        if let Some((what, body)) = sent {
            let last = peer.writes().pop().unwrap();
            assert_eq!((last.what().as_str(), &last.body), (what, &body));
        }
    }
    for (ask, says) in [
        (json!({"action": "create"}), "`name` is missing"),
        (json!({"action": "create", "name": "x", "color": "red"}), "six hex digits"),
        (json!({"action": "delete", "name": "bag/ui"}), "Did you mean \"Bug/ui\"?"),
    ] {
        assert!(refused(&client, "label_manage", ask).await.contains(says), "{says}");
    }
    let text =
        refused(&client, "label_manage", json!({"action": "delete", "name": "bug/ui"})).await;
    let word = text.rsplit('"').nth(1).unwrap();
    let ask = json!({"action": "delete", "name": "bug/ui", "confirm": word});
    assert_eq!(good(&client, "label_manage", ask).await, "deleted Bug/ui");
    assert_eq!(peer.writes().pop().unwrap().what(), "DELETE /repos/o/r/labels/Bug%2Fui");
}

#[tokio::test]
async fn milestones_are_managed_by_title_or_number() {
    let there = json!({"number": 3, "title": "v1", "state": "open", "due_on": "2026-01-31T12:00:00Z",
        "open_issues": 2, "closed_issues": 1, "description": null});
    let peer = Peer::start(move |seen| match seen.method.as_str() {
        "GET" => answer(200, &json!([there])),
        "DELETE" => answer(204, &Value::Null),
        _ => answer(200, &there),
    })
    .await;
    let client = client(&peer).await;
    for (ask, says, sent) in [
        (json!({"action": "list"}), "#3 open \"v1\" due 2026-01-31 2 open, 1 closed", None),
        (
            json!({"action": "create", "title": "v1", "due_on": "2026-01-31"}),
            "created #3 v1",
            Some((
                "POST /repos/o/r/milestones",
                json!({"title": "v1", "due_on": "2026-01-31T12:00:00Z"}),
            )),
        ),
        (
            json!({"action": "update", "milestone": "V1", "state": "closed"}),
            "changed #3 v1",
            Some(("PATCH /repos/o/r/milestones/3", json!({"state": "closed"}))),
        ),
    ] {
        assert_eq!(good(&client, "milestone_manage", ask).await, says);
        if let Some((what, body)) = sent {
            let last = peer.writes().pop().unwrap();
            assert_eq!((last.what().as_str(), &last.body), (what, &body));
        }
    }
    for (ask, says) in [
        (json!({"action": "create"}), "`title` is missing"),
        (json!({"action": "create", "title": "x", "due_on": "soon"}), "is a day"),
        (json!({"action": "update"}), "`milestone` is missing"),
        (json!({"action": "delete", "milestone": "v2"}), "There are 1: \"v1\"."),
    ] {
        let text = refused(&client, "milestone_manage", ask).await;
        assert!(text.contains(says), "{text}");
    }
    let text =
        refused(&client, "milestone_manage", json!({"action": "delete", "milestone": "3"})).await;
    let ask =
        json!({"action": "delete", "milestone": "3", "confirm": text.rsplit('"').nth(1).unwrap()});
    assert_eq!(good(&client, "milestone_manage", ask).await, "deleted #3");
}

#[tokio::test]
async fn the_status_tells_what_works_and_what_does_not() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/user" => answer(200, &json!({"login": "me"})).with("X-OAuth-Scopes", "repo, gist"),
        "/meta" => answer(200, &json!({"installed_version": "3.17.1"})),
        _ => answer(200, &json!({"resources": {"core": {"limit": 5000, "remaining": 4999, "reset": 1796029476}}})),
    })
    .await;
    let text = good(&client(&peer).await, "github_status", json!({})).await;
    for line in [
        "token: classic personal token, of @me, scopes repo, gist",
        "GitHub Enterprise Server 3.17.1",
        "core: 4999 of 5000 left until 2026-11-30T09:04:36Z",
        "repositories: o/r",
    ] {
        assert!(text.lines().any(|got| got == line), "{line}\n{text}");
    }
    assert!(!text.contains(super::TOKEN));
    // Nobody there is a finding, not a failure, and it is found at once.
    let alone =
        connect(&config("http://127.0.0.1:9"), Revision::V2025_11_25, Answering::nothing()).await;
    let text = good(&alone, "github_status", json!({})).await;
    assert!(text.contains("cannot be reached"), "{text}");
}

#[tokio::test]
async fn the_status_tells_what_is_switched_off_and_why() {
    const WRITERS: &str = "switched off by --read-only: github_create_issue, issue_update, \
        issue_comment, issue_edit_body, issue_triage";
    type Change = fn(&mut crate::config::Config);
    let rows: [(Change, (&str, &str), &str); 7] = [
        (|config| config.read_only = true, ("x", "y"), WRITERS),
        (|config| config.lockdown = true, ("x", "y"), "--lockdown: text by outsiders is withheld"),
        (
            |config| config.write_repos = vec!["o/r".to_owned()],
            ("x", "y"),
            "may be changed, by --write-repos: o/r",
        ),
        (
            |_| {},
            ("x-github-sso", "partial-results; organizations=1"),
            "o/r: issues can be read, but not what needs single sign-on: authorize the token for the organisation",
        ),
        (
            |_| {},
            ("github-authentication-token-expiration", "2027-01-01 00:00:00 UTC"),
            "token: classic personal token, of @me, until 2027-01-01 00:00:00 UTC",
        ),
        (|_| {}, ("x-github-enterprise-version", "3.17.1"), "GitHub Enterprise Server 3.17.1"),
        (|_| {}, ("x-oauth-scopes", ""), "token: classic personal token, of @me, no scopes"),
    ];
    for (change, (header, value), line) in rows {
        let peer = Peer::start(move |seen| match seen.path.as_str() {
            "/user" => answer(200, &json!({"login": "me"})).with(header, value),
            _ => answer(200, &json!({})).with(header, value),
        })
        .await;
        let mut config = config(&peer.url);
        change(&mut config);
        let client = connect(&config, Revision::V2025_11_25, Answering::nothing()).await;
        let text = good(&client, "github_status", json!({})).await;
        assert!(text.lines().any(|got| got == line), "{line}\n{text}");
    }
    // What the token may not see is said of the repository it is about.
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/user" => answer(200, &json!({"login": "me"})),
        _ => answer(404, &json!({"message": "Not Found"}))
            .with("x-accepted-github-permissions", "issues=read"),
    })
    .await;
    let text = good(&client(&peer).await, "github_status", json!({})).await;
    assert!(text.contains("o/r: ") && text.contains("needs the permission issues=read"), "{text}");
}
