//! GitHub's own description of its API, cut down to issues (`fixtures/contract.mjs` makes it):
//! every request that reaches a test's GitHub must be one it describes. Members and query fields
//! it does not know are breaches too; GitHub would ignore them, and nobody would notice.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

static CONTRACT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../fixtures/contract.json")).expect("contract")
});

/// What is wrong with a request, if anything. `path` holds the query.
pub(crate) fn breach(method: &str, path: &str, body: &Value) -> Option<String> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    // Redirects lead to repositories by number; the rest of the path is the same.
    let path = match path.strip_prefix("/repositories/") {
        Some(rest) => format!("/repos/o/r/{}", rest.split_once('/').map_or("", |(_, rest)| rest)),
        None => path.to_owned(),
    };
    let templates = CONTRACT["paths"].as_object().unwrap();
    let Some((_, item)) = templates.iter().find(|(template, item)| {
        fits(template, &path) && item.get(method.to_lowercase()).is_some()
    }) else {
        return Some(format!("{method} {path} is not described"));
    };
    let operation = &item[method.to_lowercase()];
    query_breach(&operation["query"], query).or_else(|| body_breach(&operation["body"], body))
}

pub(crate) fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    let same = |(wanted, got): (&&str, &&str)| match *wanted {
        // What is a number must be one: `/issues/comments` is no issue.
        "{issue_number}" | "{comment_id}" | "{milestone_number}" | "{issue_id}" => {
            got.parse::<u64>().is_ok()
        }
        wanted => wanted.starts_with('{') && !got.is_empty() || wanted == *got,
    };
    template.len() == path.len() && template.iter().zip(&path).all(same)
}

fn query_breach(described: &Value, query: &str) -> Option<String> {
    let mut given = BTreeSet::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, text)) = pair.split_once('=') else {
            return Some(format!("the query has {pair:?}, without a value"));
        };
        given.insert(name);
        let Some(field) = described.get(name) else {
            // Cursors are GitHub's own and not described.
            if matches!(name, "after" | "before" | "page" | "per_page") {
                continue;
            }
            return Some(format!("the query field {name} is not described"));
        };
        let text = percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let value = match field["schema"]["type"].as_str() {
            Some("integer") => text.parse::<u64>().map_or(json!(text), |number| json!(number)),
            _ => json!(text),
        };
        if let Err(error) = jsonschema::validate(&field["schema"], &value) {
            return Some(format!("{name}: {error}"));
        }
    }
    let required = described.as_object()?.iter().filter(|(_, field)| field["required"] == true);
    required
        .map(|(name, _)| name)
        .find(|name| !given.contains(name.as_str()))
        .map(|name| format!("the query lacks {name}"))
}

fn body_breach(described: &Value, body: &Value) -> Option<String> {
    if described.is_null() {
        return (!body.is_null()).then(|| "a body is not described".to_owned());
    }
    if body.is_null() {
        return (described["required"] == true).then(|| "the body is missing".to_owned());
    }
    let schema = &described["schema"];
    let known = |name: &str| -> bool {
        let alternatives =
            ["oneOf", "anyOf", "allOf"].iter().filter_map(|of| schema[of].as_array());
        std::iter::once(schema)
            .chain(alternatives.flatten())
            .any(|schema| schema["properties"].get(name).is_some())
    };
    let members = body.as_object().into_iter().flatten();
    members
        .map(|(name, _)| name)
        .find(|name| !known(name))
        .map(|name| format!("the member {name} is not described"))
        .or_else(|| jsonschema::validate(schema, body).err().map(|error| error.to_string()))
}

#[test]
fn breaches_are_seen() {
    for (method, path, body, fine) in [
        ("GET", "/repos/o/r/issues?state=open&per_page=30", Value::Null, true),
        ("GET", "/repos/o/r/issues?state=bogus", Value::Null, false),
        ("GET", "/repos/o/r/issues?lables=x", Value::Null, false),
        ("GET", "/repos/o/r/issues?state", Value::Null, false),
        ("GET", "/search/issues", Value::Null, false),
        ("GET", "/repos/o/r/issue", Value::Null, false),
        ("POST", "/repos/o/r/issues", json!({"title": "x"}), true),
        ("POST", "/repos/o/r/issues", json!({"body": "x"}), false),
        ("POST", "/repos/o/r/issues", json!({"title": "x", "lables": []}), false),
        ("PATCH", "/repos/o/r/issues/1", json!({"milestone": null, "assignees": []}), true),
        ("PATCH", "/repos/o/r/issues/1", json!({"state_reason": "bogus"}), false),
        ("PUT", "/repos/o/r/issues/1/lock", Value::Null, true),
        ("PUT", "/repos/o/r/issues/1/lock", json!({"lock_reason": "bad"}), false),
        ("POST", "/repos/o/r/issues/1/sub_issues", json!({"sub_issue_id": "3"}), false),
        ("DELETE", "/repos/o/r/issues/1", Value::Null, false),
    ] {
        assert_eq!(breach(method, path, &body).is_none(), fine, "{method} {path} {body}");
    }
}
