//! Two servers together: what `handoff_csv` of the CSV server writes, the PostgreSQL server loads and
//! proves, as the README of the latter says.

use std::fs;

use serde_json::{Value, json};
use workspace_tests::cluster::Cluster;

use crate::built::binary;
use crate::policies::running::Running;

const FILE: &str = "id,name,price,note\n1,Ada,19.90,\"a, b\"\n2,\"Gr\"\"ace\",5.00,\n\
    9007199254740993,Łucja,1000000.01,\"two\nlines\"\n";

fn start(command: &[&str]) -> Running {
    let command: Vec<String> = command.iter().map(|part| (*part).to_owned()).collect();
    Running::spawn(&command)
}

/// A call in 2026-07-28 by a client that cannot be asked anything.
fn call(server: &mut Running, tool: &str, arguments: &Value) -> Value {
    let answer = server.call(&json!({"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "handoff", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}));
    answer["result"].clone()
}

#[test]
fn what_the_csv_server_hands_over_is_loaded_and_proved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.csv");
    fs::write(&file, FILE).unwrap();
    let shared = folder.path().display().to_string();
    let cluster = Cluster::start("shop", "").unwrap();
    let url = cluster.url("shop");
    let mut csv = start(&[&binary("mcp-csv").display().to_string(), &shared]);
    let program = binary("mcp-postgres").display().to_string();
    let mut postgres = start(&[&program, &url, "--allow-write", "--load-dir", &shared]);

    let ask = json!({"filepath": "orders.csv", "target": "postgres", "table": "Orders"});
    let handed = call(&mut csv, "handoff_csv", &ask)["structuredContent"].clone();
    // One statement in each, as `execute` wants them.
    let statements: Vec<&str> = handed["load"].as_str().unwrap().split(";\n").collect();
    let proof = json!({"sql": handed["verify"], "expected": handed["expected"]});
    let mut change = json!({"statements": statements, "verify": proof});
    let shown = call(&mut postgres, "execute", &change)["structuredContent"].clone();
    assert_eq!(shown["rows_affected"], json!([0, 0, 3, 3]), "{handed:#} {shown:#}");
    assert_eq!(shown["committed"], false);
    change["confirm"] = shown["confirm"].clone();
    let made = call(&mut postgres, "execute", &change)["structuredContent"].clone();
    assert_eq!(made["committed"], true, "{made:#}");

    let sql = json!({"sql": "SELECT * FROM \"Orders\" ORDER BY id"});
    let rows = call(&mut postgres, "query", &sql)["structuredContent"]["rows"].clone();
    let right = json!([
        [1, "Ada", "19.90", "a, b"],
        [2, "Gr\"ace", "5.00", null],
        ["9007199254740993", "Łucja", "1000000.01", "two\nlines"],
    ]);
    assert_eq!(rows, right);

    // A file that is not what was handed over any more is not loaded.
    fs::write(&file, FILE.replace("19.90", "19.91")).unwrap();
    let again = json!({"filepath": "orders.csv", "target": "postgres", "table": "other"});
    let handed = call(&mut csv, "handoff_csv", &again)["structuredContent"].clone();
    fs::write(&file, FILE).unwrap();
    let statements: Vec<&str> = handed["load"].as_str().unwrap().split(";\n").collect();
    let proof = json!({"sql": handed["verify"], "expected": handed["expected"]});
    let refused =
        call(&mut postgres, "execute", &json!({"statements": statements, "verify": proof}));
    assert_eq!(refused["isError"], true, "{refused:#}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Nothing was written: `verify` gave"), "{text}");
}
