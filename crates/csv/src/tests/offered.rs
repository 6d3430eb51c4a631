//! Resources, completion and the prompt, as a client sees them.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::check;
use crate::config::Config;
use crate::server;

/// A served directory with tables, other files, and a link that leads out.
async fn client() -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("2024/.cache")).unwrap();
    for (name, text) in [
        ("sales.csv", "region,price\nnorth,1.5\nsouth,2\n"),
        ("2024/ü 1.tsv", "a\tb\n1\t2\n"),
        ("packed.csv.gz", ""),
        ("notes.txt", ""),
        (".hidden.csv", ""),
        ("2024/.cache/x.csv", ""),
        ("../secret.csv", "a\n1\n"),
    ] {
        std::fs::write(inside.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../secret.csv", inside.join("link.csv")).unwrap();
    std::os::unix::fs::symlink("..", inside.join("up")).unwrap();
    let server = server(Config { dirs: vec![inside] }).unwrap();
    let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await;
    (dir, client.unwrap())
}

async fn read(client: &Client, uri: &str) -> Result<Value, String> {
    let read = client.request("resources/read", json!({"uri": uri})).await;
    let read = read.map_err(|error| format!("{error:?}"))?;
    Ok(serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap())
}

#[tokio::test]
async fn tables_and_columns_are_resources() {
    let (_dir, client) = client().await;
    let list = client.request("resources/list", json!({})).await.unwrap();
    let uris: Vec<_> =
        list["resources"].as_array().unwrap().iter().map(|resource| &resource["uri"]).collect();
    assert_eq!(uris, ["csv:///2024/%C3%BC%201.tsv", "csv:///packed.csv.gz", "csv:///sales.csv"]);
    let table = read(&client, "csv:///2024/%C3%BC%201.tsv").await.unwrap();
    check(
        "table",
        &table,
        &[("/rows", "1"), ("/columns/1/name", r#""b""#), ("/sample", r#"[["1", "2"]]"#)],
    );
    let column = read(&client, "csv:///sales.csv/column/price").await.unwrap();
    check(
        "column",
        &column,
        &[
            ("/columns/0/sum", r#"{"value": 3.5, "exact": true}"#),
            ("/columns/0/mode/value", r#""1.5""#),
            ("/columns/1", "null"),
        ],
    );
    for (uri, says) in [
        ("csv:///none.csv", "none.csv"),
        ("csv:///link.csv", "link.csv"),
        ("csv:///../secret.csv", "secret.csv"),
        ("csv:///%2E%2E/secret.csv", "secret.csv"),
        ("csv:///sales.csv/column/cost", "region"),
    ] {
        let error = read(&client, uri).await.unwrap_err();
        assert!(error.contains(says) && !error.contains("/tmp"), "{uri}: {error}");
    }
}

#[tokio::test]
async fn paths_and_columns_are_completed() {
    let (_dir, client) = client().await;
    let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    let column = "csv:///{+path}/column/{name}";
    for (reference, argument, value, chosen, suggested) in [
        (template("csv:///{+path}"), "path", "2", json!({}), vec!["2024/ü 1.tsv"]),
        (
            template(column),
            "path",
            "",
            json!({}),
            vec!["2024/ü 1.tsv", "packed.csv.gz", "sales.csv"],
        ),
        (template(column), "name", "", json!({"path": "sales.csv"}), vec!["region", "price"]),
        (template(column), "name", "p", json!({"path": "sales.csv"}), vec!["price"]),
        (template(column), "name", "", json!({"path": "../secret.csv"}), vec![]),
        (template(column), "name", "", json!({}), vec![]),
        (
            json!({"type": "ref/prompt", "name": "explore_csv"}),
            "filepath",
            "s",
            json!({}),
            vec!["sales.csv"],
        ),
    ] {
        let params = json!({
            "ref": reference,
            "argument": {"name": argument, "value": value},
            "context": {"arguments": chosen},
        });
        let answer = client.request("completion/complete", params.clone()).await.unwrap();
        assert_eq!(answer["completion"]["values"], json!(suggested), "{params}");
    }
}

#[tokio::test]
async fn the_prompt_names_the_file_and_the_tools() {
    let (_dir, client) = client().await;
    let arguments = json!({"filepath": "sales\".csv", "question": "Why?"});
    let params = json!({"name": "explore_csv", "arguments": arguments});
    let prompt = client.request("prompts/get", params).await.unwrap();
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    for part in [r#""sales\".csv""#, "`describe_csv`", "Then answer: Why?"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let tools = client.request("tools/list", json!({})).await.unwrap();
    let names: Vec<_> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for word in text.split('`').skip(1).step_by(2).filter(|word| word.ends_with("_csv")) {
        assert!(names.contains(&word), "the prompt names {word}");
    }
}

/// In every revision that knows the question; the others are refused as before.
#[tokio::test]
async fn an_order_nobody_can_know_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.csv"), "day,n\n01/02/2024,1\n03/01/2024,2\n").unwrap();
    let filter = json!({"column": "day", "op": "lt", "value": "2024-01-15"});
    for (revision, answer, found) in [
        (
            Revision::V2025_11_25,
            json!({"action": "accept", "content": {"first": "mdy"}}),
            "01/02/2024",
        ),
        (
            Revision::V2025_11_25,
            json!({"action": "accept", "content": {"first": "dmy"}}),
            "03/01/2024",
        ),
        (
            Revision::V2026_07_28,
            json!({"action": "accept", "content": {"first": "mdy"}}),
            "01/02/2024",
        ),
        (Revision::V2025_11_25, json!({"action": "decline"}), "read.dates"),
        (Revision::V2024_11_05, json!({}), "read.dates"),
    ] {
        let answering = Answering::new(json!({"elicitation": {}}), move |_, question| {
            assert!(question["message"].as_str().unwrap().contains("\"day\""), "{question}");
            Ok(answer.clone())
        });
        let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
        let client = Client::in_memory(server, revision, answering).await.unwrap();
        let arguments = json!({"filepath": "a.csv", "filter": filter});
        let answer = client.call_tool("query_rows", arguments).await.unwrap();
        assert!(answer.text().contains(found), "{revision}: {}", answer.text());
        assert_eq!(answer.is_error, found == "read.dates");
    }
}
