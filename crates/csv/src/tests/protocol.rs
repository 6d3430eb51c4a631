//! The tool as a client sees it, in memory, in every revision.

use std::path::{Path, PathBuf};

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::json;

use crate::config::Config;
use crate::server;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

async fn connect(dir: PathBuf, revision: Revision) -> Client {
    let server = server(Config { dirs: vec![dir] }).unwrap();
    Client::in_memory(server, revision, Answering::nothing()).await.unwrap()
}

#[tokio::test]
async fn a_file_is_analysed_in_every_revision() {
    for revision in Revision::ALL {
        let client = connect(fixtures(), revision).await;
        let call = json!({"filepath": "sales.csv", "operations": ["sum", "count"], "columns": ["unit_price"]});
        let answer = client.call_tool("analyze_csv", call).await.unwrap();
        let text: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(text["columns"][0]["sum"], json!({"value": 1852.72, "exact": true}));
        assert_eq!(text["columns"][0]["count"]["value"], 20);
        let structured = revision >= Revision::V2025_06_18;
        assert_eq!(answer.structured.is_object(), structured, "{revision}");
    }
}

#[tokio::test]
async fn progress_ends_at_the_size_of_the_file() {
    let client = connect(fixtures(), Revision::V2025_11_25).await;
    let call = json!({
        "name": "analyze_csv",
        "arguments": {"filepath": "sales.csv", "operations": ["count"]},
        "_meta": {"progressToken": 1},
    });
    client.request("tools/call", call).await.unwrap();
    let size = std::fs::metadata(fixtures().join("sales.csv")).unwrap().len();
    let progress = client.notification().await.unwrap().params;
    assert_eq!((&progress["progress"], &progress["total"]), (&json!(size), &json!(size)));
    assert_eq!(progress["message"], "20 rows");
}

#[test]
fn progress_tells_how_long_the_rest_takes() {
    for (done, total, seconds, message) in [
        (50, 100, 10, "7 rows, about 10 s left"),
        (1, 100, 1, "7 rows, about 99 s left"),
        (99, 100, 1, "7 rows, about 1 s left"),
        (100, 100, 10, "7 rows"),
        (0, 100, 10, "7 rows"),
        // A file that grows while it is read.
        (101, 100, 10, "7 rows"),
    ] {
        let elapsed = std::time::Duration::from_secs(seconds);
        assert_eq!(crate::tools::message(done, total, 7, elapsed), message, "{done} of {total}");
    }
}

#[tokio::test]
async fn failures_say_what_to_mend_and_nothing_of_the_machine() {
    let client = connect(fixtures(), Revision::V2025_11_25).await;
    for (arguments, says) in [
        (json!({"filepath": "none.csv", "operations": ["sum"]}), "was not found"),
        (json!({"filepath": "../Cargo.toml", "operations": ["sum"]}), "outside"),
        (json!({"filepath": "/etc/passwd", "operations": ["sum"]}), "outside"),
        (json!({"filepath": "sales.csv", "operations": []}), "at least 1"),
        (json!({"filepath": "sales.csv", "operations": ["som"]}), "\"sum\""),
        (json!({"filepath": "sales.csv", "operations": ["sum"], "columns": ["x"]}), "unit_price"),
        (json!({"filpath": "sales.csv", "operations": ["sum"]}), "did you mean `filepath`"),
    ] {
        let answer = client.call_tool("analyze_csv", arguments.clone()).await.unwrap();
        assert!(answer.is_error && answer.text().contains(says), "{arguments}: {}", answer.text());
        assert!(!answer.text().contains(env!("CARGO_MANIFEST_DIR")), "{}", answer.text());
    }
}

/// A scan that would take long is stopped, and the next one is served.
#[tokio::test]
async fn a_cancelled_scan_makes_room_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,2.5,three\n".repeat(4_000_000);
    std::fs::write(dir.path().join("long.csv"), format!("a,b,c\n{rows}")).unwrap();
    std::fs::write(dir.path().join("short.csv"), "a\n1\n").unwrap();
    let client = connect(dir.path().to_owned(), Revision::V2025_11_25).await;
    let long = client.start(
        "tools/call",
        json!({
            "name": "analyze_csv",
            "arguments": {"filepath": "long.csv", "operations": ["sum"]},
            "_meta": {"progressToken": "t"},
        }),
    );
    let progress = client.notification().await.unwrap();
    let message = progress.params["message"].as_str().unwrap();
    assert!(message.contains(" rows, about ") && message.ends_with(" s left"), "{message}");
    long.cancel();
    let short = json!({"filepath": "short.csv", "operations": ["sum"]});
    let answer = client.call_tool("analyze_csv", short).await.unwrap();
    assert_eq!(answer.structured["columns"][0]["sum"]["value"], 1);
}
