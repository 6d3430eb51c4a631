//! Resources, completion and the prompt, as a client sees them.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::{check, system};
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
    system::link("../secret.csv", &inside.join("link.csv"));
    system::link("..", &inside.join("up"));
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

/// Of a table and of a column of it, when the file is written anew and when it is replaced.
#[tokio::test]
async fn subscribers_are_told_of_a_file_that_changes() {
    let (dir, client) = client().await;
    let file = dir.path().join("inside/sales.csv");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(&file).unwrap().set_modified(old).unwrap();
    let (table, column) = ("csv:///sales.csv", "csv:///sales.csv/column/price");
    for uri in [table, column] {
        client.request("resources/subscribe", json!({"uri": uri})).await.unwrap();
    }
    // Whatever is followed already has its directory watched when the last one is told of.
    let fresh = "csv:///fresh.csv";
    std::fs::write(dir.path().join("inside/fresh.csv"), "a\n1\n").unwrap();
    client.request("resources/subscribe", json!({"uri": fresh})).await.unwrap();
    let told = client.notification().await.unwrap();
    assert_eq!(
        (told.method.as_str(), &told.params["uri"]),
        ("notifications/resources/updated", &json!(fresh))
    );
    client.request("resources/unsubscribe", json!({"uri": fresh})).await.unwrap();
    let replaced = dir.path().join("inside/.new");
    for change in ["written", "replaced"] {
        match change {
            "written" => std::fs::write(&file, "region,price\nwest,1\n").unwrap(),
            _ => {
                std::fs::write(&replaced, "region,price\nwest,2\n").unwrap();
                std::fs::rename(&replaced, &file).unwrap();
            }
        }
        let mut told = std::collections::BTreeSet::new();
        while told.len() < 2 {
            let one = client.notification().await.unwrap();
            told.insert(one.params["uri"].as_str().unwrap().to_owned());
        }
        assert_eq!(told.into_iter().collect::<Vec<_>>(), [table, column], "{change}");
    }
}

/// Asked where it can be; otherwise the mark is one of decimals and the answer says so.
#[tokio::test]
async fn a_mark_that_may_separate_thousands_is_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.csv"), "id;n\nx;1,234\ny;5,000\n").unwrap();
    for (answer, sum, says_so) in [
        (
            Some(json!({"action": "accept", "content": {"separates": "thousands"}})),
            json!(6234),
            false,
        ),
        (
            Some(json!({"action": "accept", "content": {"separates": "decimals"}})),
            json!(6.234),
            false,
        ),
        (Some(json!({"action": "decline"})), json!(6.234), true),
        (None, json!(6.234), true),
    ] {
        let answering = match answer.clone() {
            None => Answering::nothing(),
            Some(answer) => Answering::new(json!({"elicitation": {}}), move |_, question| {
                let message = question["message"].as_str().unwrap();
                assert!(message.contains("\"n\"") && message.contains("1,234"), "{message}");
                Ok(answer.clone())
            }),
        };
        let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
        let client = Client::in_memory(server, Revision::V2025_11_25, answering).await.unwrap();
        let call = json!({"filepath": "a.csv", "operations": ["sum"], "columns": ["n"]});
        let analysed = client.call_tool("analyze_csv", call).await.unwrap().structured;
        assert_eq!(analysed["columns"][0]["sum"]["value"], sum, "{answer:?}");
        let assumptions = analysed["assumptions"].to_string();
        assert_eq!(assumptions.contains("as a decimal mark"), says_so, "{answer:?}: {assumptions}");
        let call = json!({"filepath": "a.csv", "keys": ["id"], "aggregates": [{"operation": "max", "column": "n"}]});
        let grouped = client.call_tool("group_csv", call).await.unwrap().structured;
        assert_eq!(
            grouped["table"]["rows"][1][2],
            if sum == 6234 { json!(5000) } else { json!(5) }
        );
    }
}

/// Eight KiB unless more is asked for, and the way to the rest.
#[tokio::test]
async fn a_long_analysis_is_cut_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..300).map(|index| format!("column_{index:03}")).collect();
    let row = vec!["1.5"; 300].join(",");
    std::fs::write(dir.path().join("wide.csv"), format!("{}\n{row}\n", names.join(","))).unwrap();
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let operations = json!(["sum", "average", "count", "min", "max", "median", "stddev"]);
        let call = json!({"filepath": "wide.csv", "operations": operations, "offset": seen.len()});
        let answer = client.call_tool("analyze_csv", call).await.unwrap();
        assert!(answer.text().len() < 9 << 10, "{}", answer.text().len());
        let columns = answer.structured["columns"].as_array().unwrap();
        assert!(!columns.is_empty());
        seen.extend(columns.iter().map(|column| column["name"].as_str().unwrap().to_owned()));
        match answer.structured.get("more_columns") {
            Some(more) => assert_eq!(more, 300 - seen.len()),
            None => break,
        }
    }
    assert_eq!(seen, names);
}
