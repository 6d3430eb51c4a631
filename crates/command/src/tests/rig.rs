//! A server over a directory of its own, and what tests ask about the machine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config::Config;
use crate::server;

/// Lets everything run, so that what holds is held by the kernel alone.
pub(super) const EVERYTHING: &str =
    "grant = ['data', 'config', 'writer', 'network', 'interpreter']";

pub(super) struct Rig {
    pub(super) outside: TempDir,
    pub(super) client: Client,
}

/// A server with `policy` (none if empty) over the directory `inside` of a fresh one.
pub(super) async fn rig(policy: &str, flags: &[&str]) -> Rig {
    connect(policy, flags, Revision::V2025_11_25).await
}

/// The same with no policy file, in another revision.
pub(super) async fn rig_in(revision: Revision) -> Rig {
    connect("", &[], revision).await
}

async fn connect(policy: &str, flags: &[&str], revision: Revision) -> Rig {
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(outside.path().join("inside")).unwrap();
    std::fs::write(outside.path().join("inside/a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(outside.path().join("secret.txt"), "hunter2").unwrap();
    let file = outside.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let inside = outside.path().join("inside");
    let mut all = vec!["mcp-command", "--root", inside.to_str().unwrap()];
    if !policy.is_empty() {
        all.extend(["--policy", file.to_str().unwrap()]);
    }
    all.extend(flags);
    let config: Config = clap::Parser::try_parse_from(all).unwrap();
    let server = server(config).unwrap();
    let client = Client::in_memory(server, revision, Answering::nothing());
    Rig { client: client.await.unwrap(), outside }
}

/// Of what only Linux does for a call nothing is done, nor said to be.
pub(super) const IS_PORTABLE: bool = cfg!(any(not(target_os = "linux"), feature = "portable"));

impl Rig {
    pub(super) fn inside(&self, name: &str) -> PathBuf {
        self.outside.path().join("inside").join(name)
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.client.call_tool(tool, arguments).await.unwrap()
    }

    pub(super) async fn execute(&self, arguments: Value) -> ToolAnswer {
        self.call("execute_command", arguments).await
    }

    /// Runs a shell script; the policy must let it.
    pub(super) async fn sh(&self, script: &str) -> ToolAnswer {
        self.execute(json!({"command": "sh", "args": ["-c", script], "timeout_ms": 45_000})).await
    }
}

pub(super) fn stdout(answer: &ToolAnswer) -> &str {
    answer.structured["stdout"]["head"].as_str().unwrap_or_else(|| panic!("{}", answer.text()))
}

/// A number of seconds no other test sleeps, as the mark of a process.
pub(super) fn mark() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("{}.{number:04}", 100_000 + std::process::id())
}

/// Living processes with `mark` as one of their arguments.
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    })
    .collect()
}

/// Waits until `number` processes bear the mark.
pub(super) async fn until_marked(mark: &str, number: usize) {
    for _ in 0..1000 {
        if marked(mark).len() == number {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} processes with the mark {mark}, not {number}", marked(mark).len());
}
