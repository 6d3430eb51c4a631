//! No answer of GitHub's may cost more than itself: whatever field of an item is null, missing,
//! of another type or unknown, the page is shown.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::peer::{Peer, json as answer};
use super::{client, good, issue};
use crate::backend::model::{Comment, Issue, Label, Milestone};

/// A full issue as the documentation shows one.
fn full() -> Value {
    let mut item = issue(7);
    let more = json!({
        "node_id": "MDU6", "url": "https://api.github.com/x", "state_reason": "completed",
        "labels": [{"id": 1, "name": "bug", "color": "f29513", "default": true}, "plain"],
        "assignees": [{"login": "bob", "gravatar_id": ""}],
        "milestone": {"number": 1, "title": "v1", "due_on": null, "open_issues": 4},
        "pull_request": null, "type": {"name": "Bug"}, "active_lock_reason": null,
        "sub_issues_summary": {"total": 3, "completed": 1, "percent_completed": 33},
        "reactions": {"+1": 3}, "performed_via_github_app": null,
    });
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}

#[tokio::test]
async fn a_broken_item_costs_itself_only() {
    for (broken, shown) in [
        (json!(null), "titled \"\""),
        (json!("text"), "titled \"\""),
        (json!({"number": "7", "title": "odd\none"}), "titled \"odd one\""),
        (json!({"number": -7}), "titled \"\""),
        // Its address has the number as well.
        (
            json!({"number": null, "url": "https://api.github.com/repos/o/r/issues/9", "title": "x"}),
            "#9 unknown @ghost 0c \"x\"",
        ),
        (
            json!({"number": 8, "title": null, "user": null, "labels": null, "state": null}),
            "#8 unknown @ghost 0c \"\"",
        ),
    ] {
        let page = json!([issue(1), broken, issue(2)]);
        let peer = Peer::start(move |_| answer(200, &page)).await;
        let text = good(&client(&peer).await, "issue_list", json!({})).await;
        assert!(text.contains("#1 open") && text.contains("#2 open"), "{text}");
        assert!(text.contains(shown), "{broken}: {text}");
    }
}

/// octocrab's own models refuse each of these, and the page with it.
#[tokio::test]
async fn what_strict_models_refuse_is_read() {
    for (field, odd) in [
        ("user", Value::Null),
        ("user", json!({"login": "alice", "gravatar_id": null, "avatar_url": ""})),
        ("state_reason", json!("invented")),
        ("labels", json!([{"name": "bug", "color": null}])),
        ("labels", json!(["bug", "ui"])),
        ("labels", Value::Null),
        ("assignees", Value::Null),
        ("node_id", Value::Null),
        ("events_url", json!("")),
        ("html_url", json!("")),
        ("comments", json!(-1)),
        ("milestone", json!({"number": 1, "due_on": "never"})),
        ("author_association", json!("MANNEQUIN")),
    ] {
        let mut item = full();
        item[field] = odd.clone();
        let peer = Peer::start(move |_| answer(200, &json!([issue(1), item, issue(2)]))).await;
        let text = good(&client(&peer).await, "issue_list", json!({})).await;
        let rows: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(rows, ["#1", "#7", "#2"], "{field} {odd}: {text}");
    }
    let mut pull = full();
    pull["pull_request"] = json!({"diff_url": null, "url": null});
    let peer = Peer::always(200, json!([issue(1), pull])).await;
    let text = good(&client(&peer).await, "issue_list", json!({})).await;
    assert!(text.starts_with("#1 ") && text.ends_with("[1 pull requests left out]\n"), "{text}");
}

/// What GitHub and its Enterprise Servers have sent over the years.
fn corpus(kind: &str) -> Vec<Value> {
    let corpus: Value = serde_json::from_str(include_str!("../../fixtures/corpus.json")).unwrap();
    corpus[kind].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_github_has_sent_is_read() {
    let issues = corpus("issue");
    assert!(issues.len() > 10);
    for item in &issues {
        let issue = Issue::read(item).unwrap();
        assert_eq!(Some(issue.number), item["number"].as_u64());
        assert_eq!(Some(issue.title.as_str()), item["title"].as_str());
        assert_eq!(issue.body, item["body"].as_str().unwrap_or_default());
        assert_eq!(Some(issue.author.login.as_str()), item["user"]["login"].as_str());
        assert_eq!(issue.labels.len(), item["labels"].as_array().map_or(0, Vec::len));
        assert_eq!(issue.is_pull_request, item["pull_request"].is_object());
    }
    assert!(corpus("comment").iter().all(|item| Comment::read(item).is_some()));
    assert!(corpus("label").iter().all(|item| Label::read(item).is_some()));
    assert!(corpus("milestone").iter().all(|item| Milestone::read(item).is_some()));
    let peer = Peer::start(move |_| answer(200, &json!(issues))).await;
    let text = good(&client(&peer).await, "issue_list", json!({"limit": 100})).await;
    assert!(!text.contains("without a number"), "{text}");
}

/// Any value in any place of the tree.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(-1)),
        Just(json!(1e300)),
        Just(json!("")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, 1, "x", {"login": 3}])),
        Just(json!(true)),
        "\\PC{0,20}".prop_map(Value::String),
    ]
}

fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        places(child, &place, out);
        out.push(place);
    }
}

/// A place, and what stands there instead; nothing at all is possible too.
type Changed = (prop::sample::Index, Option<Value>);

fn changes() -> impl Strategy<Value = Vec<Changed>> {
    proptest::collection::vec((any::<prop::sample::Index>(), proptest::option::of(odd())), 1..6)
}

/// Everything but the number is changed, and what GitHub may invent is added.
fn change(item: &mut Value, changes: Vec<Changed>) {
    for (index, value) in changes {
        let mut all = Vec::new();
        places(item, "", &mut all);
        let place = index.get(&all);
        if place == "/number" {
            continue;
        }
        let (parent, key) = place.rsplit_once('/').unwrap();
        match (value, item.pointer_mut(parent)) {
            (Some(value), Some(parent)) => {
                match parent {
                    Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
                    parent => parent[key.replace("~1", "/").replace("~0", "~")] = value,
                };
            }
            (None, Some(Value::Object(members))) => {
                members.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            (None, Some(Value::Array(items))) => {
                items.remove(key.parse().unwrap());
            }
            _ => {}
        }
    }
    item["from_the_future"] = json!({"x": [1]});
}

/// A page of these items as the tool shows it.
fn listed(items: Value) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let peer = Peer::start(move |_| answer(200, &items)).await;
        good(&client(&peer).await, "issue_list", json!({"limit": 100})).await
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_field_may_be_anything_or_missing(
        pick in any::<prop::sample::Index>(),
        changes in changes(),
    ) {
        let mut items = corpus("issue");
        items.push(full());
        let mut item = pick.get(&items).clone();
        let number = item["number"].as_u64();
        change(&mut item, changes);
        prop_assert_eq!(Issue::read(&item).map(|issue| issue.number), number);
    }

    #[test]
    fn so_may_those_of_comments_labels_and_milestones(
        pick in any::<prop::sample::Index>(),
        changes in changes(),
    ) {
        let mut comment = pick.get(&corpus("comment")).clone();
        let mut label = pick.get(&corpus("label")).clone();
        let mut milestone = pick.get(&corpus("milestone")).clone();
        for item in [&mut comment, &mut label, &mut milestone] {
            change(item, changes.clone());
        }
        // Without a name of its own there is nothing to show; with one, it is shown.
        prop_assert_eq!(Comment::read(&comment).is_some(), comment["id"].is_u64());
        prop_assert_eq!(Label::read(&label).is_some(), label["name"].is_string());
        prop_assert_eq!(Milestone::read(&milestone).is_some(), milestone["number"].is_u64());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_page_fails(changed in proptest::collection::vec(changes(), 5..15)) {
        let corpus = corpus("issue");
        let mut items = Vec::new();
        for (index, changes) in changed.into_iter().enumerate() {
            let mut item = corpus[index % corpus.len()].clone();
            change(&mut item, changes);
            item["number"] = json!(index + 1);
            items.push(item);
        }
        let text = listed(json!(items));
        for item in &items {
            let is_pull_request = item.get("pull_request").is_some_and(|pull| !pull.is_null());
            let row = format!("#{} ", item["number"]);
            let is_shown = text.lines().any(|line| line.starts_with(&row));
            prop_assert_eq!(is_shown, !is_pull_request, "{}\n{}", item, text);
        }
    }
}

#[test]
fn what_is_there_is_read() {
    let issue = Issue::read(&full()).unwrap();
    assert_eq!(issue.labels, ["bug", "plain"]);
    assert_eq!(issue.assignees, ["bob"]);
    assert_eq!(issue.milestone, Some((1, "v1".to_owned())));
    assert_eq!(issue.kind.as_deref(), Some("Bug"));
    assert_eq!(issue.sub_issues, Some((3, 1)));
    assert_eq!(issue.author.association, "MEMBER");
    assert!(!issue.is_pull_request);
}
