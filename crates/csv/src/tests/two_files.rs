//! Validation, joins, differences and hand-offs, as a client asks for them.

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check, random_cases};
use crate::config::Config;
use crate::server;

/// Asks a fresh server about `old.csv` and `new.csv` of these texts.
fn ask(old: &str, new: &str, tool: &str, arguments: Value) -> ToolAnswer {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old.csv"), old).unwrap();
    std::fs::write(dir.path().join("new.csv"), new).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
        let client =
            Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
        client.call_tool(tool, arguments).await.unwrap()
    })
}

fn answer(old: &str, new: &str, tool: &str, arguments: Value) -> Value {
    let answer = ask(old, new, tool, arguments);
    assert!(!answer.is_error, "{}", answer.text());
    answer.structured
}

#[test]
fn broken_rules_come_with_their_lines() {
    let file = "id,price,day,mail\n1,2.50,2024-01-31,a@b.c\n2,-1,2024-02-30,b\n2,x,,\n,9999.5,2024-01-01,c@d.e\n";
    let schema = json!({
        "properties": {
            "id": {"type": "integer"},
            "price": {"type": "number", "minimum": 0, "exclusiveMaximum": "9999.5"},
            "day": {"format": "date"},
            "mail": {"pattern": "@", "maxLength": 4},
        },
        "required": ["id"],
        "unique": ["id"],
    });
    let found = answer(file, "", "validate_csv", json!({"filepath": "old.csv", "schema": schema}));
    check(
        "rules",
        &found,
        &[
            ("/rows", "4"),
            ("/valid_rows", "0"),
            (
                "/broken/0",
                r#"{"column": "id", "rule": "required", "count": 1, "first": [{"line": 5, "value": ""}]}"#,
            ),
            (
                "/broken/1",
                r#"{"column": "price", "rule": "type", "count": 1, "first": [{"line": 4, "value": "x"}]}"#,
            ),
            (
                "/broken/2",
                r#"{"column": "price", "rule": "minimum", "count": 1, "first": [{"line": 3, "value": "-1"}]}"#,
            ),
            ("/broken/3/rule", r#""exclusiveMaximum""#),
            (
                "/broken/4",
                r#"{"column": "day", "rule": "format", "count": 1, "first": [{"line": 3, "value": "2024-02-30"}]}"#,
            ),
            (
                "/broken/5",
                r#"{"column": "mail", "rule": "maxLength", "count": 2, "first": [{"line": 2, "value": "a@b.c"}, {"line": 5, "value": "c@d.e"}]}"#,
            ),
            (
                "/broken/6",
                r#"{"column": "mail", "rule": "pattern", "count": 1, "first": [{"line": 3, "value": "b"}]}"#,
            ),
            (
                "/broken/7",
                r#"{"column": "id", "rule": "unique", "count": 1, "first": [{"line": 4, "value": ""}]}"#,
            ),
            ("/broken/8", "null"),
        ],
    );
}

#[test]
fn single_rules() {
    for (rule, cell, holds) in [
        (json!({"type": "integer"}), "1.0", true),
        (json!({"type": "integer"}), "1.5", false),
        (json!({"type": "integer"}), "NA", false),
        (json!({"type": "integer"}), "007", false),
        (json!({"type": "number"}), "1e400", false),
        (json!({"type": "boolean"}), "TRUE", true),
        (json!({"type": "boolean"}), "1", false),
        (json!({"type": "string"}), "1", true),
        (json!({"enum": ["a", 1.5]}), "1.50", true),
        (json!({"enum": ["a", 1.5]}), "A", false),
        (json!({"minimum": "9007199254740993"}), "9007199254740992", false),
        (json!({"minimum": "9007199254740993"}), "9007199254740993", true),
        (json!({"exclusiveMinimum": 0.1}), "0.10", false),
        (json!({"maximum": 0.1}), "0.10", true),
        (json!({"minLength": 2}), "é", false),
        (json!({"maxLength": 1}), "é", true),
        (json!({"pattern": "^[a-z]+$"}), "abc", true),
        (json!({"format": "date-time"}), "2024-01-01T10:00:00Z", true),
        (json!({"format": "date-time"}), "2024-01-01", false),
        (json!({"format": "date"}), "2023-02-29", false),
    ] {
        let schema = json!({"properties": {"#1": rule}});
        let file = format!("a,b\n{cell},1\n,2\n");
        let found =
            answer(&file, "", "validate_csv", json!({"filepath": "old.csv", "schema": schema}));
        assert_eq!(found["valid_rows"], if holds { 2 } else { 1 }, "{rule} {cell}");
    }
    for (schema, says) in [
        (json!({"properties": {"a": {"pattern": "("}}}), "regular expression"),
        (json!({"properties": {"a": {"patern": "a"}}}), "pattern"),
        (json!({"properties": {"b": {}}}), "no column"),
        (json!({"properties": {"a": {"minimum": "x"}}}), "must be a number"),
    ] {
        let refused =
            ask("a\n1\n", "", "validate_csv", json!({"filepath": "old.csv", "schema": schema}));
        assert!(refused.is_error && refused.text().contains(says), "{schema}: {}", refused.text());
    }
}

const ORDERS: &str = "order,customer,total\n1,a,10\n2,b,20\n3,,30\n4,z,40\n5,a,50\n";
const CUSTOMERS: &str = "id,name,total\na,Ann,1\nb,Bob,2\nc,Cid,3\nb,Bea,4\n,Nil,5\n";

#[test]
fn joins() {
    let join = |kind: &str| {
        let on = json!([{"left": "customer", "right": "id"}]);
        answer(
            ORDERS,
            CUSTOMERS,
            "join_csv",
            json!({"left": "old.csv", "right": "new.csv", "on": on, "kind": kind}),
        )
    };
    check(
        "inner",
        &join("inner"),
        &[
            ("/left_rows", "5"),
            ("/right_rows", "5"),
            ("/left_matched", "3"),
            ("/right_keys", "3"),
            ("/right_keys_unused", "1"),
            ("/right_rows_repeating_a_key", "1"),
            ("/joined_rows", "4"),
            ("/columns", r#"["order", "customer", "total", "name", "right.total"]"#),
            (
                "/rows",
                r#"[["1", "a", "10", "Ann", "1"], ["2", "b", "20", "Bob", "2"], ["2", "b", "20", "Bea", "4"], ["5", "a", "50", "Ann", "1"]]"#,
            ),
        ],
    );
    check(
        "left",
        &join("left"),
        &[("/joined_rows", "6"), ("/rows/3", r#"["3", "", "30", null, null]"#)],
    );
    check("anti", &join("anti"), &[("/rows", r#"[["3", "", "30"], ["4", "z", "40"]]"#)]);
    check("semi", &join("semi"), &[("/joined_rows", "3"), ("/rows/1/0", r#""2""#)]);
}

#[test]
fn a_right_file_beyond_the_memory_is_refused() {
    let rows: String = (0..700_000).map(|row| format!("{row}\n")).collect();
    let on = json!([{"left": "a", "right": "a"}]);
    let arguments = json!({"left": "old.csv", "right": "new.csv", "on": on});
    let refused = ask("a\n1\n", &format!("a\n{rows}"), "join_csv", arguments);
    assert!(
        refused.is_error && refused.text().contains("do not fit into 64 MiB"),
        "{}",
        refused.text()
    );
}

#[test]
fn differences() {
    let old = "id,name,city\n1,Ann,Rome\n2,Bob,Oslo\n3,Cid,Bonn\n";
    let new = "city,id,name,age\nRome,1,Ann,5\nParis,3, Cid ,6\nKiel,4,Dan,7\n";
    let diff = |page: Value| {
        let mut arguments = json!({"old": "old.csv", "new": "new.csv", "keys": ["id"]});
        arguments.as_object_mut().unwrap().extend(page.as_object().unwrap().clone());
        answer(old, new, "diff_csv", arguments)
    };
    check(
        "all",
        &diff(json!({})),
        &[
            ("/added", "1"),
            ("/removed", "1"),
            ("/changed", "1"),
            ("/unchanged", "1"),
            ("/columns_added", r#"["age"]"#),
            ("/columns_removed", "null"),
            (
                "/rows/0",
                r#"{"change": "changed", "key": ["3"], "old_line": 4, "new_line": 3, "cells": {"city": ["Bonn", "Paris"]}}"#,
            ),
            ("/rows/1", r#"{"change": "added", "key": ["4"], "new_line": 4}"#),
            ("/rows/2", r#"{"change": "removed", "key": ["2"], "old_line": 3}"#),
            ("/more_rows", "null"),
        ],
    );
    check(
        "page",
        &diff(json!({"offset": 1, "limit": 1})),
        &[("/rows/0/key", r#"["4"]"#), ("/rows/1", "null"), ("/more_rows", "1")],
    );
    for (old, new, says) in [
        ("id\n1\n2\n1\n", "id\n1\n", "line 4 of the old file is that of line 2"),
        ("id\n1\n", "id\n2\n1\n1\n", "line 4 of the new file is that of line 3"),
        ("id\n1\n", "id\n2\n2\n", "line 3 of the new file is that of line 2"),
        ("id\n1\n", "no\n1\n", "no column"),
    ] {
        let arguments = json!({"old": "old.csv", "new": "new.csv", "keys": ["id"]});
        let refused = ask(old, new, "diff_csv", arguments);
        assert!(refused.is_error && refused.text().contains(says), "{}", refused.text());
    }
}

#[test]
fn hand_offs_have_types_and_checksums() {
    let file = "id;price;name;n\n9007199254740993;1,50;O'Neil;NA\n2;-10,25;;3\n";
    for (target, loads) in [
        (
            "duckdb",
            [
                "\"id\" BIGINT NOT NULL",
                "\"price\" DECIMAL(4, 2) NOT NULL",
                "\"name\" VARCHAR,",
                "delim = ';'",
                "IN ('', 'NA')",
                "replace(trim(\"price\"), ',', '.')",
            ],
        ),
        (
            "postgres",
            [
                "\"id\" BIGINT NOT NULL",
                "\"price\" NUMERIC(4, 2) NOT NULL",
                "\"name\" text,",
                "DELIMITER ';'",
                "IN ('', 'NA')",
                "\\copy csv_text FROM 'old.csv'",
            ],
        ),
        (
            "clickhouse",
            [
                "\"id\" Int64",
                "\"price\" DECIMAL(4, 2)",
                "\"name\" Nullable(String),",
                "format_csv_delimiter = ';'",
                "\"n\" Nullable(Int64)",
                "MergeTree",
            ],
        ),
    ] {
        let arguments = json!({"filepath": "old.csv", "target": target, "table": "t"});
        let handed = answer(file, "", "handoff_csv", arguments);
        let load = handed["load"].as_str().unwrap();
        for part in loads {
            assert!(load.contains(part), "{part} in {load}");
        }
        check(
            target,
            &handed,
            &[
                (
                    "/verify",
                    r#""SELECT count(*), count(\"id\"), sum(\"id\"), count(\"price\"), sum(\"price\"), count(\"name\"), count(\"n\"), sum(\"n\") FROM \"t\";""#,
                ),
                ("/expected", r#"[2, 2, "9007199254740995", 2, -8.75, 1, 1, 3]"#),
            ],
        );
    }
}

#[test]
fn names_cannot_leave_their_quotes() {
    let hostile = answer(
        "a\"b\n1\n",
        "",
        "handoff_csv",
        json!({"filepath": "old.csv", "target": "duckdb", "table": "x\"; DROP TABLE y; --", "path": "it's.csv"}),
    );
    let load = hostile["load"].as_str().unwrap();
    assert!(
        load.contains(r#"CREATE TABLE "x""; DROP TABLE y; --" ("#) && load.contains("'it''s.csv'"),
        "{load}"
    );
}

/// ClickHouse reads a backslash as the start of an escape, wherever it stands inside quotes.
#[test]
fn names_cannot_leave_the_quotes_of_clickhouse() {
    let arguments = json!({"filepath": "old.csv", "target": "clickhouse", "table": r#"t\"#});
    let file = "\\'); DROP TABLE y; --,b\\\n1,2\n";
    let hostile = answer(file, "", "handoff_csv", arguments);
    let load = hostile["load"].as_str().unwrap();
    assert!(load.starts_with(r#"CREATE TABLE "t\\" ("#), "{load}");
    assert!(load.contains(r#""\\'); DROP TABLE y; --" Int64"#), "{load}");
    // An identifier inside a literal: every backslash of it twice again, its apostrophe doubled.
    assert!(
        load.contains(r#"'"\\\\''); DROP TABLE y; --" Nullable(String), "b\\\\" Nullable"#),
        "{load}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..random_cases() })]

    #[test]
    fn differences_are_those_of_maps(
        old in prop::collection::btree_map(0u8..20, 0u8..3, 0..12),
        new in prop::collection::btree_map(0u8..20, 0u8..3, 0..12),
    ) {
        let text = |rows: &std::collections::BTreeMap<u8, u8>| {
            let rows: String = rows.iter().rev().map(|(key, value)| format!("{key},{value}\n")).collect();
            format!("k,v\n{rows}")
        };
        let arguments = json!({"old": "old.csv", "new": "new.csv", "keys": ["k"], "limit": 100});
        let found = answer(&text(&old), &text(&new), "diff_csv", arguments);
        let count = |kind: &str| found["rows"].as_array().unwrap().iter().filter(|row| row["change"] == kind).count();
        let added = new.keys().filter(|key| !old.contains_key(key)).count();
        let removed = old.keys().filter(|key| !new.contains_key(key)).count();
        let changed = new.iter().filter(|(key, value)| old.get(key).is_some_and(|other| other != *value)).count();
        prop_assert_eq!((&found["added"], count("added")), (&json!(added), added));
        prop_assert_eq!((&found["removed"], count("removed")), (&json!(removed), removed));
        prop_assert_eq!((&found["changed"], count("changed")), (&json!(changed), changed));
        prop_assert_eq!(found["unchanged"].as_u64().unwrap() as usize, new.len() - added - changed);
    }
}
