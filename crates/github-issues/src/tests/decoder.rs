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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_field_may_be_anything(changes in proptest::collection::vec((any::<prop::sample::Index>(), odd()), 1..6)) {
        let mut item = full();
        let mut all = Vec::new();
        places(&item, "", &mut all);
        for (index, value) in changes {
            let place = index.get(&all);
            if place != "/number"
                && let Some(slot) = item.pointer_mut(place)
            {
                *slot = value;
            }
        }
        let read = Issue::read(&item);
        prop_assert_eq!(read.map(|issue| issue.number), Some(7));
        Comment::read(&item);
        Label::read(&item);
        Milestone::read(&item);
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
