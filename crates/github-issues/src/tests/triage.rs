//! Many issues at once: planned, applied, interrupted, gone on with, taken back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::peer::{Act, Peer, json as answer};
use super::{call, config, connect, good, issue, refused};

/// Issues that are what was last patched.
#[derive(Clone, Default)]
struct Store {
    issues: Arc<Mutex<BTreeMap<u64, Value>>>,
    /// The PATCH that is refused by a limit, counted from 1.
    limited: Arc<Mutex<usize>>,
}

impl Store {
    fn with(numbers: &[u64]) -> Self {
        let store = Self::default();
        store.issues.lock().unwrap().extend(numbers.iter().map(|number| (*number, issue(*number))));
        store
    }

    async fn peer(&self) -> Peer {
        let store = self.clone();
        Peer::start(move |seen| {
            let mut issues = store.issues.lock().unwrap();
            if seen.path.starts_with("/repos/o/r/labels") {
                return answer(200, &json!([{"name": "bug"}]));
            }
            if seen.path.starts_with("/search/") {
                let items: Vec<Value> = issues.values().cloned().collect();
                return answer(200, &json!({"total_count": items.len(), "items": items}));
            }
            let number: u64 = seen.path.rsplit('/').next().unwrap().parse().unwrap();
            let Some(item) = issues.get_mut(&number) else {
                return answer(404, &json!({"message": "Not Found"}));
            };
            if seen.method == "PATCH" {
                let mut left = store.limited.lock().unwrap();
                *left = left.saturating_sub(1);
                if *left == 1 {
                    *left = 0;
                    return answer(429, &Value::Null).with("Retry-After", "60");
                }
                return store.patch(item, &seen.body);
            }
            answer(200, item)
        })
        .await
    }

    fn patch(&self, item: &mut Value, fields: &Value) -> Act {
        for (name, value) in fields.as_object().unwrap() {
            item[name] = match name.as_str() {
                "labels" => {
                    value.as_array().unwrap().iter().map(|name| json!({"name": name})).collect()
                }
                _ => value.clone(),
            };
        }
        answer(200, item)
    }

    fn labels(&self) -> Vec<String> {
        let issues = self.issues.lock().unwrap();
        issues
            .values()
            .map(|item| format!("{}:{}", item["state"].as_str().unwrap(), item["labels"]))
            .collect()
    }
}

async fn willing(peer: &Peer) -> Client {
    let mut config = config(&peer.url);
    config.yes = true;
    connect(&config, Revision::V2025_11_25, Answering::nothing()).await
}

fn id(text: &str, before: &str) -> String {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("{before}: {text}")).1;
    rest.split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn planned_applied_and_taken_back() {
    let store = Store::with(&[1, 2, 3]);
    store.issues.lock().unwrap().get_mut(&2).unwrap()["labels"] =
        json!([{"name": "bug"}, {"name": "old"}]);
    let before = store.labels();
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let ask = json!({"query": "crash", "add_labels": ["Bug"], "state": "closed", "state_reason": "not_planned"});
    let plan = good(&client, "issue_triage", ask).await;
    assert!(
        plan.contains("#1 labels: [\"bug\"], state: \"closed\", state_reason: \"not_planned\""),
        "{plan}"
    );
    assert!(plan.contains("#2 state: \"closed\"") && plan.contains("3 issues"), "{plan}");
    assert!(peer.writes().is_empty());
    let applied = good(&client, "issue_triage", json!({"plan": id(&plan, "to apply: plan")})).await;
    assert!(applied.contains("#1 labels, state, state_reason\n#2 state"), "{applied}");
    assert_eq!(peer.writes().len(), 3);
    let undone =
        good(&client, "issue_triage", json!({"plan": id(&applied, "to undo: plan")})).await;
    assert!(undone.contains("#3"), "{undone}");
    assert_eq!(store.labels(), before);
}

#[tokio::test]
async fn an_interrupted_plan_goes_on_where_it_stopped() {
    let store = Store::with(&[1, 2, 3, 4]);
    *store.limited.lock().unwrap() = 4;
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let ask = json!({"numbers": [1, 2, 3, 4], "add_labels": ["bug"]});
    let plan = good(&client, "issue_triage", ask).await;
    let first = good(&client, "issue_triage", json!({"plan": id(&plan, "to apply: plan")})).await;
    assert!(first.contains("stopped: GitHub's rate limit") && first.contains("2 left"), "{first}");
    let second = good(&client, "issue_triage", json!({"plan": id(&first, "to go on: plan")})).await;
    assert!(second.starts_with("#3 labels\n#4 labels"), "{second}");
    assert!(store.labels().iter().all(|labels| labels.contains("bug")), "{:?}", store.labels());
}

#[tokio::test]
async fn one_that_fails_does_not_stop_the_others() {
    let store = Store::with(&[1, 2, 3]);
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let plan =
        good(&client, "issue_triage", json!({"numbers": [1, 2, 3], "state": "closed"})).await;
    store.issues.lock().unwrap().remove(&2);
    store.issues.lock().unwrap().get_mut(&3).unwrap()["state"] = json!("closed");
    let text = good(&client, "issue_triage", json!({"plan": id(&plan, "to apply: plan")})).await;
    assert!(text.contains("#1 state\n#2 failed: ") && text.contains("#3 is so already"), "{text}");
}

#[tokio::test]
async fn nothing_happens_without_a_yes() {
    let store = Store::with(&[1, 2]);
    let peer = store.peer().await;
    let client = connect(&config(&peer.url), Revision::V2025_11_25, Answering::nothing()).await;
    let plan = good(&client, "issue_triage", json!({"numbers": [1, 2], "state": "closed"})).await;
    let plan = id(&plan, "to apply: plan");
    let text = refused(&client, "issue_triage", json!({"plan": plan})).await;
    assert!(text.contains("Change 2 issues of o/r") && peer.writes().is_empty(), "{text}");
    let word = text.rsplit('"').nth(1).unwrap();
    good(&client, "issue_triage", json!({"plan": plan, "confirm": word})).await;
    assert_eq!(peer.writes().len(), 2);
    for (ask, says) in [
        (json!({"state": "closed"}), "`numbers`"),
        (json!({"numbers": [1], "query": "x"}), "not both"),
        (json!({"plan": "unknown"}), "not known"),
        (json!({"numbers": [1], "add_labels": ["bog"]}), "Did you mean \"bug\"?"),
        (json!({"numbers": [1], "state_reason": "completed"}), "goes with a `state`"),
    ] {
        assert!(call(&client, "issue_triage", ask).await.text().contains(says), "{says}");
    }
    assert_eq!(
        good(&client, "issue_triage", json!({"numbers": [1], "state": "closed"})).await,
        "no issue would change"
    );
}

#[tokio::test]
async fn two_calls_at_once_take_each_step_once() {
    let store = Store::with(&[1, 2, 3, 4, 5]);
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let ask = json!({"numbers": [1, 2, 3, 4, 5], "state": "closed"});
    let plan = good(&client, "issue_triage", ask).await;
    let ask = json!({"plan": id(&plan, "to apply: plan")});
    let (a, b) = tokio::join!(
        good(&client, "issue_triage", ask.clone()),
        good(&client, "issue_triage", ask.clone())
    );
    assert_eq!(peer.writes().len(), 5, "{a}\n{b}");
    assert!(store.labels().iter().all(|issue| issue.starts_with("closed")), "{:?}", store.labels());
}

#[tokio::test]
async fn applying_is_seen_step_by_step() {
    let store = Store::with(&[1, 2, 3]);
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let ask = json!({"numbers": [1, 2, 3], "state": "closed"});
    let plan = good(&client, "issue_triage", ask).await;
    let apply = json!({
        "name": "issue_triage",
        "arguments": {"plan": id(&plan, "to apply: plan")},
        "_meta": {"progressToken": "t"},
    });
    let result = client.request("tools/call", apply).await.expect("answer");
    assert_ne!(result["isError"], true, "{result}");
    let seen = client.notification().await.expect("progress").params;
    assert_eq!((&seen["progress"], &seen["total"]), (&json!(1), &json!(3)));
    assert_eq!(seen["message"], "#1 state");
}

#[tokio::test]
async fn a_milestone_is_cleared_for_many() {
    let store = Store::with(&[1, 2]);
    store.issues.lock().unwrap().get_mut(&2).unwrap()["milestone"] =
        json!({"number": 3, "title": "v1"});
    let peer = store.peer().await;
    let client = willing(&peer).await;
    let plan = good(&client, "issue_triage", json!({"numbers": [1, 2], "milestone": null})).await;
    assert!(plan.starts_with("#2 milestone: null\n1 issues"), "{plan}");
}
