//! `--client-roots`: what a client says it works in narrows what it gets, and widens nothing.

use std::sync::{Arc, Mutex};

use mcp::Revision;
use mcp::client::{Answering, Client, ClientError};
use serde_json::{Value, json};

use super::{call, connect_answering, directory};
use crate::config::Config;

async fn connect(dir: &std::path::Path, revision: Revision, roots: Arc<Mutex<Value>>) -> Client {
    let answering = Answering::new(json!({"roots": {"listChanged": true}}), move |method, _| {
        assert_eq!(method, "roots/list");
        Ok(json!({"roots": roots.lock().unwrap().clone()}))
    });
    let config = Config { rw: true, client_roots: true, ..Config::default() };
    connect_answering(dir, revision, config, answering).await
}

#[tokio::test]
async fn a_client_narrows_and_never_widens() {
    let dir = directory();
    std::fs::create_dir(dir.path().join("inside/sp ace")).unwrap();
    std::fs::write(dir.path().join("inside/sp ace/s.txt"), "s").unwrap();
    std::fs::write(dir.path().join("inside/folder/.env"), "secret").unwrap();
    let at = |name: &str| format!("file://{}/{name}", dir.path().display());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (roots, allowed) in [
            (vec![at("inside/folder")], vec!["inside/folder/b.txt"]),
            (vec![at("inside/sp%20ace")], vec!["inside/sp ace/s.txt"]),
            (
                vec![at("inside")],
                vec!["inside/lines.txt", "inside/folder/b.txt", "inside/sp ace/s.txt"],
            ),
            (
                vec!["file:///".to_owned()],
                vec!["inside/lines.txt", "inside/folder/b.txt", "inside/sp ace/s.txt"],
            ),
            (vec![at("inside-too"), at("inside/folder")], vec!["inside/folder/b.txt"]),
            (vec![at("inside/link-up")], vec![]),
            (vec![at("inside/keys")], vec![]),
            (vec![at("inside/lines.txt")], vec![]),
            (vec![at("inside/folder/../../inside-too")], vec![]),
            (vec![], vec![]),
        ] {
            let named = roots.iter().map(|uri| json!({"uri": uri})).collect::<Value>();
            let client = connect(dir.path(), revision, Arc::new(Mutex::new(named))).await;
            for file in [
                "inside/lines.txt",
                "inside/folder/b.txt",
                "inside/sp ace/s.txt",
                "inside/folder/.env",
                "inside/keys/id",
                "inside-too/c.txt",
                "secret.txt",
            ] {
                let may = allowed.contains(&file);
                let read = call(&client, "read_text_file", json!({"path": path(file)})).await;
                assert_eq!(!read.is_error, may, "{revision} {roots:?} {file}: {}", read.text());
                let write = json!({"path": path(file), "content": std::fs::read_to_string(path(file)).unwrap()});
                assert_eq!(
                    !call(&client, "write_file", write).await.is_error,
                    may,
                    "{roots:?} {file}"
                );
            }
        }
    }
}

#[tokio::test]
async fn changed_directories_count_from_then_on() {
    let dir = directory();
    let at = |name: &str| json!([{"uri": format!("file://{}/{name}", dir.path().display())}]);
    let roots = Arc::new(Mutex::new(at("inside/folder")));
    let client = connect(dir.path(), Revision::V2025_11_25, Arc::clone(&roots)).await;
    let served = async || {
        let answer = call(&client, "list_allowed_directories", json!({})).await;
        answer.structured["directories"][0]["path"].as_str().unwrap().to_owned()
    };
    assert!(served().await.ends_with("/inside/folder"));
    *roots.lock().unwrap() = at("inside");
    client.notify("notifications/roots/list_changed", json!({}));
    assert!(served().await.ends_with("/inside"));
}

#[tokio::test]
async fn a_client_without_directories_gets_all_that_is_served_or_is_told() {
    let dir = directory();
    for revision in Revision::ALL {
        let config = Config { client_roots: true, ..Config::default() };
        let client = connect_answering(dir.path(), revision, config, Answering::nothing()).await;
        let read = json!({"name": "read_text_file", "arguments": {"path": "lines.txt"}});
        let answer = client.request("tools/call", read).await;
        // There a client is told what it must declare before the handler is asked.
        let is_told = revision == Revision::V2026_07_28;
        let says_roots = |error: &ClientError| error.to_string().contains("roots");
        assert_eq!(answer.as_ref().is_err_and(says_roots), is_told, "{revision}: {answer:?}");
        assert_eq!(answer.is_ok_and(|answer| answer["isError"] != true), !is_told, "{revision}");
    }
}
