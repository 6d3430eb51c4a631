//! What other programs got wrong, as public reports tell it: each test begins with where.
//!
//! Reports whose right outcome is a matter of its own are tested there: emptied and cleared fields
//! (github-mcp-server#2596, octocrab's builder) in `tools`, bodies destroyed by writing back
//! (github-mcp-server#3165) in `edit`, renamed repositories (octokit's fixtures) and long limits
//! (octocrab#349, #2) in `faults`, issues created several times (octocrab's retries, junior 687) in
//! `once`, what older servers lack and ids for numbers (github-mcp-server#2831, #3068, cli#10378) in
//! `relations`, ports and base URLs (servers#1246, #696) in `safety` and `backend/base_url.rs`.

use serde_json::{Value, json};

use super::peer::{Act, Peer, json as answer};
use super::{client, good, issue, refused};

pub(super) fn pull_request(number: u64) -> Value {
    let mut item = issue(number);
    item["pull_request"] = json!({"url": "https://api.github.com/repos/o/r/pulls/1"});
    item
}

/// github-mcp-server#334, #790: pull requests are mixed into lists of issues.
#[tokio::test]
async fn pull_requests_are_left_out_and_counted() {
    let peer = Peer::start(|seen| {
        let page = |items: &[Value]| answer(200, &json!(items));
        let link = |page: u32| {
            format!(
                "<http://{}/repositories/9/issues?page={page}>; rel=\"next\", <x>; rel=\"last\"",
                host(&seen.head)
            )
        };
        match seen.path.as_str() {
            path if path.ends_with("?page=2") => {
                page(&[issue(3), issue(4), pull_request(5)]).with("Link", &link(3))
            }
            path if path.ends_with("?page=3") => page(&[issue(6)]),
            _ => page(&[pull_request(1), pull_request(2)]).with("Link", &link(2)),
        }
    })
    .await;
    let client = client(&peer).await;
    let text = good(&client, "issue_list", json!({"limit": 2})).await;
    assert!(text.starts_with("#3 open") && text.contains("\n#4 open"), "{text}");
    assert!(text.contains("[2 pull requests left out]"), "{text}");
    // Going on loses none and repeats none.
    let cursor = cursor(&text).unwrap();
    let text = good(&client, "issue_list", json!({"limit": 2, "cursor": cursor})).await;
    assert!(text.starts_with("#6 open") && self::cursor(&text).is_none(), "{text}");
    let mine = Peer::always(200, pull_request(7)).await;
    let text = refused(&super::client(&mine).await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("#7 is a pull request"), "{text}");
}

pub(super) fn host(head: &str) -> String {
    head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

pub(super) fn cursor(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("[more: cursor ")?;
    Some(rest.split(']').next()?.to_owned())
}

/// go-github#3565: large lists cannot be paged by number; the next page's cursor is GitHub's.
#[tokio::test]
async fn the_next_page_is_asked_for_as_github_says() {
    let peer = Peer::start(|seen| {
        if seen.path.contains("after=") {
            return answer(200, &json!([issue(2)]));
        }
        let next = format!(
            "http://{}/repositories/9/issues?per_page=1&after=Y3Vyc29yOnYyOpHPAAA%3D&state=open",
            host(&seen.head)
        );
        answer(200, &json!([issue(1)])).with("Link", &format!("<{next}>; rel=\"next\""))
    })
    .await;
    let client = client(&peer).await;
    let text = good(&client, "issue_list", json!({"limit": 1})).await;
    let text =
        good(&client, "issue_list", json!({"limit": 1, "cursor": cursor(&text).unwrap()})).await;
    assert!(text.starts_with("#2 open"), "{text}");
    let path = peer.seen().last().unwrap().path.clone();
    assert_eq!(path, "/repos/o/r/issues?per_page=1&after=Y3Vyc29yOnYyOpHPAAA%3D&state=open");
}

/// servers#305, #296 (null body), triagebot 2264 (null user), octocrab#648 and others (null and
/// unknown fields).
#[tokio::test]
async fn nulls_and_news_are_shown() {
    let mut item = issue(7);
    for name in ["body", "user", "assignees", "labels", "closed_at", "node_id", "html_url"] {
        item[name] = Value::Null;
    }
    item["state"] = json!("closed");
    item["state_reason"] = json!("invented_in_2030");
    item["comments"] = json!(-1);
    let peer = Peer::always(200, item).await;
    let text = good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("closed(invented_in_2030)") && text.contains("@ghost"), "{text}");
    assert!(text.contains("(empty)"), "{text}");
}

/// github-mcp-server#2202: generics and tags vanished from bodies.
#[tokio::test]
async fn visible_text_is_shown_byte_for_byte() {
    let body =
        "Returns Promise<string>; `<id>`\r\n```rust fn a<T>()\nx\n```\n<!-- note --> &#8203; <b>";
    let mut item = issue(7);
    item["body"] = json!(body);
    let peer = Peer::always(200, item).await;
    let text = good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains(body), "{text}");
}

/// github-mcp-server#462: a search that says neither is:issue nor is:pull-request is refused.
#[tokio::test]
async fn a_search_says_that_it_is_for_issues() {
    let empty = json!({"total_count": 0, "items": []});
    let peer = Peer::always(200, empty).await;
    let client = client(&peer).await;
    for (query, sent) in [
        ("crash", "crash%20is%3Aissue%20repo"),
        ("crash is:issue", "crash%20is%3Aissue%20repo"),
        ("type:issue crash", "type%3Aissue%20crash%20repo"),
        ("(is:pr) crash", "%28is%3Apr%29%20crash%20repo"),
        // These say nothing of the two, and GitHub refuses them as well.
        ("crash is:open", "crash%20is%3Aopen%20is%3Aissue%20repo"),
        ("type:Bug", "type%3ABug%20is%3Aissue%20repo"),
        ("this:is", "this%3Ais%20is%3Aissue%20repo"),
    ] {
        good(&client, "issue_search", json!({"query": query})).await;
        let path = peer.seen().last().unwrap().path.clone();
        assert!(path.starts_with(&format!("/search/issues?q={sent}")), "{query}: {path}");
    }
}

/// mcp-workspace#188, github-mcp-server#283: a missing permission looks like a missing issue.
#[tokio::test]
async fn a_refusal_names_the_permission() {
    for (status, header, value, says) in [
        (404, "x-accepted-github-permissions", "issues=read", "needs the permission issues=read"),
        (403, "x-accepted-github-permissions", "issues=write", "needs the permission issues=write"),
        (404, "x-github-sso", "required; url=https://github.com/orgs/o/sso", "single sign-on"),
    ] {
        let peer = Peer::start(move |_| {
            answer(status, &json!({"message": "Resource not accessible by personal access token"}))
                .with(header, value)
        })
        .await;
        let text = refused(&client(&peer).await, "issue_get", json!({"number": 7})).await;
        assert!(text.contains(says) && text.contains("token may not"), "{text}");
    }
    let peer = Peer::start(|_| {
        answer(404, &json!({"message": "Not Found"}))
            .with("x-oauth-scopes", "gist")
            .with("x-accepted-oauth-scopes", "repo")
    })
    .await;
    let text = refused(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("one of the scopes repo; it has gist"), "{text}");
}

/// opencloudtouch 264 and others: deleted issues and disabled trackers are 410.
#[tokio::test]
async fn what_is_gone_is_told_apart() {
    for message in ["This issue was deleted", "Issues are disabled for this repo"] {
        let peer = Peer::always(410, json!({"message": message})).await;
        let text = refused(&client(&peer).await, "issue_get", json!({"number": 7})).await;
        assert!(text.contains(message) && text.contains("Do not try again"), "{text}");
        assert_eq!(peer.seen().len(), 1);
    }
}

/// hub4j#2009, #1805: a secondary limit may come without Retry-After and with calls remaining.
#[tokio::test]
async fn a_limit_without_a_time_is_no_matter_of_permission() {
    let mut count = 0;
    let peer = Peer::start(move |_| {
        count += 1;
        match count {
            1 => answer(403, &json!({"message": "You have exceeded a secondary rate limit."}))
                .with("x-ratelimit-remaining", "4990"),
            _ => answer(200, &issue(7)),
        }
    })
    .await;
    good(&client(&peer).await, "issue_get", json!({"number": 7})).await;
    assert_eq!(peer.seen().len(), 2);
}

/// devlake and others: a 304 nobody asked for, or one whose kept answer is gone.
#[tokio::test]
async fn a_304_out_of_the_blue_is_no_panic() {
    let peer = Peer::start(|_| Act::Answer { status: 304, headers: vec![], body: vec![] }).await;
    refused(&client(&peer).await, "issue_get", json!({"number": 7})).await;
}

/// dotfiles#690, github-mcp-server#1286: five issues cost 29,000 tokens, 66 tools 46,000.
#[tokio::test]
async fn thirty_issues_fit_into_4_kilobytes_and_all_tools_into_8() {
    let mut items = Vec::new();
    for number in 100..130 {
        let mut item = issue(number);
        item["title"] = json!("Crash when opening the settings dialog twice in a row on Wayland");
        item["labels"] = json!([{"name": "bug"}, {"name": "priority: high"}]);
        item["body"] = json!("x".repeat(5000));
        items.push(item);
    }
    let peer = Peer::always(200, json!(items)).await;
    let client = client(&peer).await;
    let text = good(&client, "issue_list", json!({})).await;
    assert_eq!(text.lines().count(), 30);
    assert!(text.len() <= 4 * 1024, "{} bytes", text.len());
    let tools = client.list("tools/list", "tools").await.unwrap();
    let bytes = Value::Array(tools).to_string().len();
    assert!(bytes <= 8 * 1024, "{bytes} bytes of tools");
    // However much is asked for, an answer has an end and says how to go on.
    let full = json!({"limit": 100, "excerpt": 1000});
    let text = good(&client, "issue_list", full.clone()).await;
    assert!(text.len() < 17 * 1024 && cursor(&text).is_some(), "{}", text.len());
    let numbers = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
    let (mut shown, mut next) = (numbers(&text), cursor(&text));
    while let Some(cursor) = next {
        let ask = json!({"limit": 100, "excerpt": 1000, "cursor": cursor});
        let text = good(&client, "issue_list", ask).await;
        shown += numbers(&text);
        next = self::cursor(&text);
    }
    assert_eq!(shown, 30);
}

/// objectstack#8942: two labels mean both of them in one API of GitHub's, and either in another.
#[tokio::test]
async fn labels_of_a_list_mean_all_and_of_a_search_any() {
    let peer = Peer::start(|seen| match seen.what().as_str() {
        "GET /repos/o/r/labels" => answer(200, &json!([{"name": "a"}, {"name": "b"}])),
        "GET /search/issues" => answer(200, &json!({"total_count": 0, "items": []})),
        _ => answer(200, &json!([])),
    })
    .await;
    let client = client(&peer).await;
    good(&client, "issue_list", json!({"labels": ["a", "b"]})).await;
    assert!(peer.seen().pop().unwrap().path.ends_with("&labels=a%2Cb"));
    good(&client, "issue_search", json!({"query": "label:a,b"})).await;
    assert!(peer.seen().pop().unwrap().path.starts_with("/search/issues?q=label%3Aa%2Cb%20"));
    for (tool, says) in
        [("issue_list", "All of these"), ("issue_search", "a comma in `label:` means either")]
    {
        let tools = client.list("tools/list", "tools").await.unwrap();
        let tool = tools.iter().find(|entry| entry["name"] == tool).unwrap();
        assert!(tool.to_string().contains(says), "{tool}");
    }
}
