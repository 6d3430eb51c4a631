//! Filters, groups, frequencies, rows and descriptions, as a client asks for them.

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check, random_cases};
use crate::config::Config;
use crate::server;

/// Asks a fresh server about `file.csv` of these bytes.
fn ask(bytes: &[u8], tool: &str, mut arguments: Value) -> ToolAnswer {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), bytes).unwrap();
    arguments["filepath"] = json!("file.csv");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
        let client =
            Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
        client.call_tool(tool, arguments).await.unwrap()
    })
}

fn answer(bytes: &[u8], tool: &str, arguments: Value) -> Value {
    let answer = ask(bytes, tool, arguments.clone());
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.structured
}

const SALES: &[u8] = b"day,region,price,code\n\
    2024-01-01,north,1.50,007\n\
    2024-01-02,south,2.25,010\n\
    2024-01-03,north,NA,007\n\
    2024-01-04,,10,100\n\
    2024-02-01,North,0.1,\n\
    2024-02-02,north,0.2,abc\n";

#[test]
fn filters_let_the_right_rows_through() {
    let test =
        |column: &str, op: &str, value: Value| json!({"column": column, "op": op, "value": value});
    let bare = |column: &str, op: &str| json!({"column": column, "op": op});
    for (filter, lines) in [
        (test("price", "gt", json!(1.5)), vec![3, 5]),
        (test("price", "ge", json!(1.5)), vec![2, 3, 5]),
        (test("price", "ge", json!("1.50")), vec![2, 3, 5]),
        (test("price", "lt", json!(0.2)), vec![6]),
        (test("price", "le", json!(0.20)), vec![6, 7]),
        (test("price", "eq", json!(10.0)), vec![5]),
        (test("price", "ne", json!(10)), vec![2, 3, 6, 7]),
        (test("price", "in", json!([0.1, "0.200", 77])), vec![6, 7]),
        (test("#3", "eq", json!(2.25)), vec![3]),
        (bare("price", "is_null"), vec![4]),
        (bare("price", "not_null"), vec![2, 3, 5, 6, 7]),
        (test("region", "eq", json!("north")), vec![2, 4, 7]),
        (test("region", "ne", json!("north")), vec![3, 6]),
        (test("region", "in", json!(["north", "south"])), vec![2, 3, 4, 7]),
        (test("region", "contains", json!("ort")), vec![2, 4, 6, 7]),
        (test("region", "starts_with", json!("no")), vec![2, 4, 7]),
        (bare("region", "is_null"), vec![5]),
        (test("day", "ge", json!("2024-01-04")), vec![5, 6, 7]),
        (test("day", "lt", json!("2024-01-02")), vec![2]),
        (test("code", "eq", json!("007")), vec![2, 4]),
        (
            json!({"all": [test("region", "eq", json!("north")), test("price", "gt", json!(1))]}),
            vec![2],
        ),
        (
            json!({"any": [test("region", "eq", json!("south")), bare("region", "is_null")]}),
            vec![3, 5],
        ),
        (
            json!({"any": [{"all": [test("region", "eq", json!("north")), bare("price", "is_null")]},
                           test("price", "eq", json!(10))]}),
            vec![4, 5],
        ),
    ] {
        let found = answer(SALES, "query_rows", json!({"filter": filter, "columns": ["day"]}));
        let got: Vec<_> =
            found["found"].as_array().unwrap().iter().map(|row| &row["line"]).collect();
        assert_eq!(got, lines, "{filter}");
        assert_eq!(found["matched"], lines.len());
    }
}

#[test]
fn conditions_that_could_be_misread_are_refused() {
    for (filter, says) in [
        (json!({"column": "region", "op": "gt", "value": 5}), "is text"),
        (json!({"column": "region", "op": "gt", "value": "5"}), "is text"),
        (json!({"column": "code", "op": "eq", "value": 7}), "line 2: \"007\""),
        (json!({"column": "price", "op": "eq", "value": "cheap"}), "holds numbers"),
        (json!({"column": "price", "op": "gt"}), "one value"),
        (json!({"column": "price", "op": "gt", "value": [1, 2]}), "one value"),
        (json!({"column": "price", "op": "in", "value": []}), "needs a value"),
        (json!({"column": "price", "op": "contains", "value": 1}), "one string"),
        (json!({"column": "day", "op": "gt", "value": "January"}), "YYYY-MM-DD"),
        (json!({"column": "prize", "op": "gt", "value": 1}), "there is no column \"prize\""),
        (json!({"all": []}), "1 to 64"),
    ] {
        let refusal = ask(SALES, "query_rows", json!({"filter": filter}));
        assert!(refusal.is_error && refusal.text().contains(says), "{filter}: {}", refusal.text());
    }
}

#[test]
fn filtered_sums_and_groups() {
    let north = json!({"column": "region", "op": "eq", "value": "north"});
    let sums = answer(
        SALES,
        "analyze_csv",
        json!({"operations": ["sum", "count", "nulls"], "columns": ["price"], "filter": north}),
    );
    check(
        "filtered",
        &sums,
        &[
            ("/rows", "6"),
            ("/matched", "3"),
            ("/columns/0/sum", r#"{"value": 1.7, "exact": true}"#),
            ("/columns/0/nulls/value", "1"),
        ],
    );
    let groups = answer(
        SALES,
        "analyze_csv",
        json!({"operations": ["sum", "average"], "columns": ["price", "day"], "group_by": ["region"]}),
    );
    check(
        "grouped",
        &groups,
        &[
            (
                "/groups/columns",
                r#"[{"name": "region"}, {"name": "rows"}, {"name": "sum(price)"}, {"name": "average(price)"}]"#,
            ),
            (
                "/groups/rows",
                r#"[["north", 3, 1.7, 0.85], ["North", 1, 0.1, 0.1], ["south", 1, 2.25, 2.25], [null, 1, 10, 10]]"#,
            ),
        ],
    );
}

#[test]
fn groups_in_the_order_asked_for() {
    let aggregates = json!([{"operation": "max", "column": "price"}, {"operation": "average", "column": "price"}]);
    let grouped = |more: Value| {
        let mut arguments = json!({"keys": ["region"], "aggregates": aggregates});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(SALES, "group_csv", arguments)
    };
    let keys = |grouped: &Value| -> Vec<Value> {
        grouped["table"]["rows"].as_array().unwrap().iter().map(|row| row[0].clone()).collect()
    };
    let by_max = grouped(json!({"order_by": "max(price)"}));
    assert_eq!(keys(&by_max), [json!(null), json!("south"), json!("north"), json!("North")]);
    let ascending = grouped(json!({"order_by": "max(price)", "ascending": true, "limit": 2}));
    assert_eq!(keys(&ascending), [json!("North"), json!("north")]);
    assert_eq!((&ascending["groups"], &ascending["table"]["more_rows"]), (&json!(4), &json!(2)));
    let rest = grouped(json!({"order_by": "max(price)", "ascending": true, "offset": 2}));
    assert_eq!(keys(&rest), [json!("south"), json!(null)]);
    let thirds = answer(
        b"k,v\na,1\na,0\na,0\nb,2\n",
        "group_csv",
        json!({"keys": ["k"], "aggregates": [{"operation": "average", "column": "v"}]}),
    );
    let method = r#""exact sum / count, rounded once to 17 digits (f64)""#;
    check("thirds", &thirds, &[("/table/columns/2/inexact", method), ("/table/rows/1/2", "2")]);
    let refused = ask(SALES, "group_csv", json!({"keys": ["region"], "order_by": "max"}));
    assert!(refused.text().contains("region, rows"), "{}", refused.text());
}

/// One number, written in several ways: a page must not depend on chance.
#[test]
fn groups_that_are_equal_as_numbers_have_an_order() {
    let text = b"k,v\n1.00,1\n1,1\n01,1\n1.0,1\n+1,1\n1e0,1\n";
    for ascending in [true, false] {
        let arguments = json!({
            "keys": ["k"],
            "aggregates": [{"operation": "sum", "column": "v"}],
            "order_by": "sum(v)",
            "ascending": ascending,
        });
        for _ in 0..8 {
            let grouped = answer(text, "group_csv", arguments.clone());
            let rows = grouped["table"]["rows"].as_array().unwrap();
            let keys: Vec<&str> = rows.iter().map(|row| row[0].as_str().unwrap()).collect();
            assert_eq!(keys, ["+1", "1", "1.0", "1.00", "1e0", "01"]);
        }
    }
}

#[test]
fn frequencies() {
    let counted = answer(SALES, "frequency_csv", json!({"column": "region", "limit": 1}));
    check(
        "most",
        &counted,
        &[("/groups", "4"), ("/table/rows", r#"[["north", 3]]"#), ("/table/more_rows", "3")],
    );
    let rare =
        answer(SALES, "frequency_csv", json!({"column": "code", "ascending": true, "limit": 2}));
    check("rarest", &rare, &[("/table/rows", r#"[["100", 1], ["010", 1]]"#)]);
}

/// Millions of groups are refused, with about the right number of them.
#[test]
fn too_many_groups_are_estimated() {
    let ids: String = (0..400_000).map(|id| format!("{id},1\n")).collect();
    let refusal = ask(
        format!("id,n\n{ids}").as_bytes(),
        "group_csv",
        json!({"keys": ["id"], "aggregates": [{"operation": "sum", "column": "n"}]}),
    );
    let text = refusal.text();
    let number: f64 = text.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert!(refusal.is_error && (number / 400_000.0 - 1.0).abs() < 0.04, "{text}");
}

#[test]
fn rows_say_where_they_stand() {
    let found = answer(b"\xEF\xBB\xBFa,b\r\n1,\"x\ny\"\r\n\r\n2\n3,z,w\n", "query_rows", json!({}));
    check(
        "rows",
        &found,
        &[
            ("/columns", r#"["a", "b"]"#),
            ("/found/0", r#"{"row": 1, "line": 2, "offset": 8, "cells": ["1", "x\ny"]}"#),
            ("/found/1", r#"{"row": 2, "line": 5, "offset": 19, "cells": ["2", null]}"#),
            ("/found/2", r#"{"row": 3, "line": 6, "offset": 21, "cells": ["3", "z"]}"#),
            ("/cursor", "null"),
        ],
    );
    let from = answer(b"a\n1\n2\n3\n", "query_rows", json!({"from_line": 3}));
    check("from", &from, &[("/found/0/cells", r#"["2"]"#), ("/matched", "2")]);
}

#[test]
fn sorted_rows() {
    let sorted = |column: &str, descending: bool| {
        let sort = json!({"column": column, "descending": descending});
        let found = answer(SALES, "query_rows", json!({"sort": sort}));
        found["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["row"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(sorted("price", false), [5, 6, 1, 2, 4, 3]);
    assert_eq!(sorted("price", true), [4, 2, 1, 6, 5, 3]);
    assert_eq!(sorted("region", false), [5, 1, 3, 6, 2, 4]);
    let dates = b"d\n03/02/2024\n13/01/2024\n\n02/02/2024\n";
    let found = answer(dates, "query_rows", json!({"sort": {"column": "d"}}));
    check(
        "dates",
        &found,
        &[("/found/0/cells/0", r#""13/01/2024""#), ("/found/1/cells/0", r#""02/02/2024""#)],
    );
    let ambiguous = ask(b"d\n03/02/2024\n", "query_rows", json!({"sort": {"column": "d"}}));
    assert!(ambiguous.text().contains("day or the month"), "{}", ambiguous.text());
}

#[test]
fn samples_are_the_same_for_the_same_seed() {
    let rows: String = (0..1000).map(|row| format!("{row}\n")).collect();
    let file = format!("a\n{rows}");
    let sample =
        |seed: u64| answer(file.as_bytes(), "query_rows", json!({"sample": 100, "seed": seed}));
    let (one, other) = (sample(1), sample(2));
    assert_eq!(one, sample(1));
    assert_ne!(one["found"], other["found"]);
    for sample in [&one, &other] {
        let rows: Vec<u64> = sample["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["row"].as_u64().unwrap())
            .collect();
        assert!(rows.len() == 100 && rows.is_sorted_by(|left, right| left < right), "{rows:?}");
        let mean = rows.iter().sum::<u64>() / 100;
        assert!((400..600).contains(&mean), "{mean}");
    }
}

#[test]
fn a_cursor_of_another_state_of_the_file_is_refused() {
    let refusal = ask(b"a\n1\n2\n", "query_rows", json!({"cursor": "1-abc"}));
    assert!(refusal.is_error && refusal.text().contains("has changed"), "{}", refusal.text());
    let refusal = ask(b"a\n1\n2\n", "query_rows", json!({"cursor": "x"}));
    assert!(refusal.is_error && refusal.text().contains("cursor"), "{}", refusal.text());
}

#[test]
fn a_description_is_short_and_finds_what_is_odd() {
    let described = answer(b"a,b\n1,x\n2,y\n1,x\n1,x\n", "describe_csv", json!({"sample_rows": 1}));
    check(
        "repeated rows",
        &described,
        &[
            ("/oddities/duplicate_rows", r#"{"count": 2, "first_lines": [4, 5]}"#),
            ("/sample", r#"[["1", "x"]]"#),
            ("/columns/0", r#"{"name": "a", "type": "integer", "min": 1, "max": 2}"#),
        ],
    );
    let rows: String =
        (0..50).map(|row| format!("{row},{row}.5,x{row},,2024-01-01,0{row},1,2,NA,Y\n")).collect();
    let ten = format!("id,price,name,empty,day,code,n,m,maybe,flag\n{rows}");
    let described = ask(ten.as_bytes(), "describe_csv", json!({"sample_rows": 0}));
    assert!(described.text().len() < 1536, "{}: {}", described.text().len(), described.text());
}

#[test]
fn a_deadline_gives_part_of_an_answer_that_says_so() {
    let rows = "1\n".repeat(400_000);
    let answer = answer(
        format!("a\n{rows}").as_bytes(),
        "analyze_csv",
        json!({"operations": ["sum"], "deadline_ms": 0}),
    );
    let sum = answer["columns"][0]["sum"]["value"].as_u64().unwrap();
    assert!((1..400_000).contains(&sum) && answer["rows"] == sum, "{answer}");
    let last = answer["assumptions"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(last.starts_with("time ran out: only the first "), "{last}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..random_cases() })]

    /// Small pages, one after the other, are the whole; and the first of an order are those of a sort.
    #[test]
    fn pages_and_orders(numbers in prop::collection::vec(-50i64..50, 1..60), size in 1usize..9) {
        let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file.csv"), format!("n\n{text}")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let pages = |sort: Option<Value>| runtime.block_on(async {
            let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
            let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
            let (mut all, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let arguments = json!({"filepath": "file.csv", "limit": size, "cursor": cursor, "sort": sort});
                let page = client.call_tool("query_rows", arguments).await.unwrap().structured;
                all.extend(page["found"].as_array().unwrap().iter().map(|row| {
                    row["cells"][0].as_str().unwrap().parse::<i64>().unwrap()
                }));
                match page["cursor"].as_str() {
                    Some(next) => cursor = Some(next.to_owned()),
                    None => return all,
                }
            }
        });
        prop_assert_eq!(&pages(None), &numbers);
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        prop_assert_eq!(pages(Some(json!({"column": "n"}))), sorted.clone());
        sorted.reverse();
        prop_assert_eq!(pages(Some(json!({"column": "n", "descending": true}))), sorted);
    }

    #[test]
    fn group_sums_are_those_of_a_map(rows in prop::collection::vec(("[ab,;\"]{0,2}", -99i64..99), 0..60)) {
        let mut truth = std::collections::BTreeMap::<String, (u64, i64)>::new();
        let mut text = "key,n\n".to_owned();
        for (key, number) in &rows {
            text += &format!("\"{}\",{number}\n", key.replace('"', "\"\""));
            let entry = truth.entry(key.clone()).or_default();
            *entry = (entry.0 + 1, entry.1 + number);
        }
        let arguments = json!({"keys": ["key"], "aggregates": [{"operation": "sum", "column": "n"}], "limit": 1000});
        let grouped = answer(text.as_bytes(), "group_csv", arguments);
        let got: std::collections::BTreeMap<String, (u64, i64)> = grouped["table"]["rows"]
            .as_array().unwrap().iter()
            .map(|row| (
                row[0].as_str().unwrap_or_default().to_owned(),
                (row[1].as_u64().unwrap(), row[2].as_i64().unwrap()),
            ))
            .collect();
        prop_assert_eq!(got, truth);
    }
}
