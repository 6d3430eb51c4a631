//! Several files as one table.

use std::io::Write as _;

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use serde_json::{Value, json};

use super::check;
use crate::config::Config;
use crate::server;

/// A served directory of these files; what begins with `gz:` is packed.
async fn client(files: &[(&str, &str)]) -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes = match text.strip_prefix("gz:") {
            Some(text) => packed(text.as_bytes()),
            None => text.as_bytes().to_vec(),
        };
        std::fs::write(path, bytes).unwrap();
    }
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    (dir, client)
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

async fn ask(client: &Client, tool: &str, arguments: Value) -> Value {
    let answer: ToolAnswer = client.call_tool(tool, arguments.clone()).await.unwrap();
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.structured
}

const LOGS: [(&str, &str); 5] = [
    ("logs/1.csv", "day,who,ms\n2024-01-01,a,1.5\n2024-01-01,b,2\n"),
    // Other order, no line end, and a column of its own.
    ("logs/2.csv", "ms,note,who,day\n70,x,a,2024-01-02"),
    // Packed, and without one of the columns.
    ("logs/3.csv.gz", "gz:who,ms\r\nb,0.25\r\nc,NA\r\n"),
    ("logs/old/4.csv", "day,who,ms\n2023-01-01,z,1000\n"),
    ("other.csv", "x\n1\n"),
];

#[tokio::test]
async fn columns_find_each_other_by_name() {
    let (_dir, client) = client(&LOGS).await;
    let operations = json!(["sum", "count", "nulls", "max", "min", "distinct", "median"]);
    let call = json!({"filepath": "logs/*.csv*", "operations": operations});
    let answer = ask(&client, "analyze_csv", call).await;
    check(
        "three files",
        &answer,
        &[
            ("/rows", "5"),
            ("/columns/2/sum", r#"{"value": 73.75, "exact": true}"#),
            ("/columns/2/median/value", "1.75"),
            ("/columns/2/max", r#"{"value": 70, "exact": true, "file": "logs/2.csv", "line": 2}"#),
            ("/columns/2/min/file", r#""logs/3.csv.gz""#),
            ("/columns/2/min/line", "2"),
            ("/columns/0/nulls/value", "2"),
            ("/columns/1/distinct/value", "3"),
            ("/columns/3", "null"),
            (
                "/assumptions/0",
                r#""3 files were read as one table: \"logs/1.csv\", \"logs/2.csv\", \"logs/3.csv.gz\"""#,
            ),
            (
                "/assumptions/1",
                r#""\"logs/2.csv\" lacks 0 of the columns, whose cells count as nulls, and has 1 others, which were not read""#,
            ),
        ],
    );
    let all = json!({"filepath": "logs/**/*.csv*", "operations": ["sum"], "columns": ["ms"]});
    assert_eq!(ask(&client, "analyze_csv", all).await["columns"][0]["sum"]["value"], 1073.75);
}

#[tokio::test]
async fn every_question_about_rows_takes_a_pattern() {
    let (_dir, client) = client(&LOGS).await;
    let files = "logs/{1,2,3}.csv*";
    let call = json!({"filepath": files, "keys": ["who"], "aggregates": [{"operation": "sum", "column": "ms"}]});
    let groups = ask(&client, "group_csv", call).await;
    assert_eq!(groups["table"]["rows"], json!([["a", 2, 71.5], ["b", 2, 2.25], ["c", 1, 0]]));
    let frequencies =
        ask(&client, "frequency_csv", json!({"filepath": files, "column": "day"})).await;
    assert_eq!(frequencies["groups"], 3);
    let filter = json!({"column": "who", "op": "eq", "value": "b"});
    let call = json!({"filepath": files, "filter": filter, "columns": ["ms", "day"]});
    let rows = ask(&client, "query_rows", call).await;
    assert_eq!(
        rows["found"],
        json!([
            {"row": 2, "file": "logs/1.csv", "line": 3, "offset": 28, "cells": ["2", "2024-01-01"]},
            {"row": 4, "file": "logs/3.csv.gz", "line": 2, "offset": 8, "cells": ["0.25", null]},
        ])
    );
    let described = ask(&client, "describe_csv", json!({"filepath": files})).await;
    assert_eq!(described["rows"], 5);
    assert_eq!(described["sample"][2], json!(["2024-01-02", "a", "70"]));
}

/// The lines of each file are its own, whatever stands in the files before it.
#[tokio::test]
async fn oddities_name_their_file() {
    let (_dir, client) = client(&[
        ("a.csv", "x,y\n1,2\n3\n\n"),
        ("b.csv", "y,x\r\n5,\"multi\r\nline\"\r\n1,2,3\r\n"),
        ("c.csv", "x,y\n\"8\",7\n9"),
    ])
    .await;
    let described = ask(&client, "describe_csv", json!({"filepath": "*.csv"})).await;
    check(
        "oddities",
        &described,
        &[
            ("/rows", "6"),
            (
                "/oddities/short_rows",
                r#"{"count": 2, "first_lines": [3, 3], "files": ["a.csv", "c.csv"]}"#,
            ),
            ("/oddities/long_rows", r#"{"count": 1, "first_lines": [4], "files": ["b.csv"]}"#),
            (
                "/columns/0/text_because",
                r#"{"file": "b.csv", "line": 2, "value": "multi\r\nline", "reason": "not_a_number"}"#,
            ),
        ],
    );
}

#[tokio::test]
async fn files_that_are_no_table_together_are_refused() {
    let (_dir, client) = client(&[
        ("a/1.csv", "x,y\n1,2\n"),
        ("a/2.csv", "p,q\n1,2\n"),
        ("b/1.csv", "x,y\n1,2\n"),
        ("b/2.csv", "x;y\n1;2\n"),
        ("c/1.csv", "x,y\n1,2\n"),
        ("c/2.csv", "PK\u{3}\u{4}"),
    ])
    .await;
    for (filepath, says) in [
        ("a/*.csv", "\"a/2.csv\" has none of the columns"),
        ("b/*.csv", "\"b/2.csv\" is separated by \";\""),
        ("c/*.csv", "\"c/2.csv\": this is a zip archive"),
        ("d/*.csv", "was not found"),
        ("../*.csv", "was not found"),
        ("a/[.csv", "no pattern"),
    ] {
        let call = json!({"filepath": filepath, "operations": ["sum"]});
        let answer = client.call_tool("analyze_csv", call).await.unwrap();
        assert!(answer.is_error && answer.text().contains(says), "{filepath}: {}", answer.text());
    }
    let left = json!({"filepath": "a/*.csv", "target": "duckdb", "table": "t"});
    assert!(client.call_tool("handoff_csv", left).await.unwrap().is_error);
}

/// A name that looks like a pattern is a name where such a file is.
#[tokio::test]
async fn a_file_named_like_a_pattern_is_itself() {
    let (_dir, client) = client(&[("a[1].csv", "x\n1\n"), ("a1.csv", "x\n2\n")]).await;
    let call = json!({"filepath": "a[1].csv", "operations": ["sum"]});
    let answer = ask(&client, "analyze_csv", call).await;
    assert_eq!(answer["columns"][0]["sum"]["value"], 1);
}
