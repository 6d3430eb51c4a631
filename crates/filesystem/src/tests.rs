//! Through the protocol, in memory: what may be done, and what must not get out.

mod applying;
mod attacks;
mod edits;
mod enduring;
#[cfg(target_os = "linux")]
mod faults;
mod inputs;
#[cfg(target_os = "linux")]
mod journal;
mod listing;
mod managing;
mod planted;
mod reading;
mod reports;
mod resources;
mod media;
mod narrowing;
mod properties;
mod crashes;
mod searching;
mod trees;
mod undoing;
mod walls;
mod watching;
mod writing;

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::config::Config;
use crate::server;

/// In memory where there is such a place: tests flush often, and disks are slow at it.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A served directory `inside` and, beside it, what must stay out of reach.
fn directory() -> tempfile::TempDir {
    let dir = scratch();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("folder")).unwrap();
    std::fs::create_dir(inside.join("keys")).unwrap();
    for (path, text) in [
        ("inside/lines.txt", "l1\nl2\nl3\n"),
        ("inside/umlaut.txt", "\u{fc}\r\nend"),
        ("inside/folder/b.txt", "b"),
        ("inside/.env", "secret"),
        ("inside/keys/id", "secret"),
        ("secret.txt", "secret"),
        ("inside ", "secret"),
        ("inside\"", "secret"),
    ] {
        std::fs::write(dir.path().join(path), text).unwrap();
    }
    std::fs::write(inside.join("binary"), b"\xff\0").unwrap();
    std::fs::create_dir(dir.path().join("inside-too")).unwrap();
    std::fs::write(dir.path().join("inside-too/c.txt"), "secret").unwrap();
    symlink("folder/b.txt", inside.join("link-inside")).unwrap();
    symlink(".env", inside.join("link-denied")).unwrap();
    symlink("keys", inside.join("link-keys")).unwrap();
    symlink("../secret.txt", inside.join("link-out")).unwrap();
    symlink(dir.path().join("secret.txt"), inside.join("link-absolute")).unwrap();
    symlink("..", inside.join("link-up")).unwrap();
    symlink(inside.join("folder"), inside.join("link-absolute-inside")).unwrap();
    symlink("../folder/../link-inside", inside.join("folder/link-round")).unwrap();
    symlink("nowhere", inside.join("link-dangling")).unwrap();
    symlink("../nowhere", inside.join("link-dangling-out")).unwrap();
    symlink("/proc/self/root", inside.join("link-magic")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    fifos([&inside.join("fifo")]);
    UnixListener::bind(inside.join("socket")).unwrap();
    dir
}

fn fifos<P: AsRef<OsStr>>(paths: impl IntoIterator<Item = P>) {
    let made = Command::new("mkfifo").args(paths).status().unwrap();
    assert!(made.success());
}

/// Read-only.
async fn connect(dir: &Path, revision: Revision) -> Client {
    connect_with(dir, revision, Config::default()).await
}

/// All that can be allowed is allowed.
async fn connect_writing(dir: &Path) -> Client {
    let config = Config { rw: true, allow_delete: true, ..Config::default() };
    connect_with(dir, Revision::V2025_11_25, config).await
}

/// Serves `inside`, unless `config` says otherwise, without what `.env` and `keys` match.
async fn connect_with(dir: &Path, revision: Revision, config: Config) -> Client {
    connect_answering(dir, revision, config, Answering::nothing()).await
}

async fn connect_answering(
    dir: &Path,
    revision: Revision,
    mut config: Config,
    answering: Answering,
) -> Client {
    if config.dirs.is_empty() {
        config.dirs = vec![dir.join("inside").to_str().unwrap().to_owned()];
    }
    config.deny = vec![".env".to_owned(), "keys".to_owned()];
    let server = server(config).expect("server");
    Client::in_memory(server, revision, answering).await.expect("connect")
}

async fn call(client: &Client, tool: &str, arguments: Value) -> ToolAnswer {
    client.call_tool(tool, arguments).await.expect("answer")
}

/// The first text block of an answer that must be a success.
async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.content[0]["text"].as_str().unwrap().to_owned()
}

/// The text of an answer that must be a failure.
async fn refusal(client: &Client, tool: &str, arguments: Value) -> String {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.text()
}

async fn etag(client: &Client, path: &str) -> String {
    let info = call(client, "get_file_info", json!({"path": path})).await;
    info.structured["etag"].as_str().expect("etag").to_owned()
}

async fn tool_names(client: &Client) -> Vec<String> {
    let tools = client.list("tools/list", "tools").await.unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Exchanges two names all the time while `work` goes on.
fn while_swapping<T>(one: &Path, two: &Path, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _set_at_the_end = Set(&done);
        work()
    })
}

/// Sets a flag when it is dropped, even by a failed assertion: a test may fail, but not hang.
struct Set<'a>(&'a AtomicBool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
