//! Through the protocol, in memory, against a GitHub made for the test: `peer` is an HTTP server
//! that does what a test tells it, wrong things included; `contract` holds every request to GitHub's
//! own description.
//!
//! `tools`, `manage`, `relations` and `triage` are how each tool is used, `enterprise` what is left of
//! them on an old server, `reports` what went wrong in public with other programs,
//! `faults` what a network and a server can do, `limits` where an answer ends, `once` that nothing is created twice, `edit` that
//! bodies keep what they hold, `decoder`
//! that no answer of GitHub's costs more than itself, `safety` what must not get in or out.

mod peer;
mod contract;
mod tools;
mod manage;
mod relations;
mod enterprise;
mod triage;
mod edit;
mod reports;
mod faults;
mod limits;
mod once;
mod resources;
#[cfg(feature = "github-app")]
mod app;
mod decoder;
mod safety;

use std::time::Duration;

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use serde_json::{Value, json};

use crate::backend::Pauses;
use crate::config::Config;
use crate::server;
use peer::Peer;

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// The configuration for a fake GitHub, with pauses a test can wait for.
fn config(url: &str) -> Config {
    let token_file = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
    std::fs::write(&token_file, format!("{TOKEN}\n")).unwrap();
    Config {
        repos: vec!["o/r".to_owned()],
        api_url: url.to_owned(),
        token_file: Some(token_file),
        max_wait_secs: 2,
        request_timeout_secs: 1,
        ..Config::default()
    }
}

fn pauses() -> Pauses {
    let short = Duration::from_millis(5);
    Pauses { between_writes: short, retry: short, secondary: short, poll: short }
}

async fn connect(config: &Config, revision: Revision, answering: Answering) -> Client {
    let server = server(config, pauses()).expect("server");
    if let Some(path) = &config.token_file {
        std::fs::remove_file(path).unwrap();
    }
    Client::in_memory(server, revision, answering).await.expect("connect")
}

/// A client of a server of this GitHub.
async fn client(peer: &Peer) -> Client {
    connect(&config(&peer.url), Revision::V2025_11_25, Answering::nothing()).await
}

async fn call(client: &Client, tool: &str, arguments: Value) -> ToolAnswer {
    client.call_tool(tool, arguments).await.expect("answer")
}

/// The text of a call that must succeed.
async fn good(client: &Client, tool: &str, arguments: Value) -> String {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.text()
}

/// The text of a call that must fail.
async fn refused(client: &Client, tool: &str, arguments: Value) -> String {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.text()
}

/// An issue as GitHub sends it, as far as it matters.
fn issue(number: u64) -> Value {
    json!({
        "number": number, "id": 1000 + number, "title": format!("Issue {number}"),
        "body": "text", "state": "open", "user": {"login": "alice"},
        "author_association": "MEMBER", "labels": [], "assignees": [], "milestone": null,
        "comments": 0, "locked": false, "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-02T10:00:00Z", "html_url": format!("https://github.com/o/r/issues/{number}"),
        "repository_url": "https://api.github.com/repos/o/r",
    })
}
