//! Through the protocol, in memory: what may be read, and what must not get out.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::{Value, json};

use crate::backend::{Backend, Lines};
use crate::config::Config;
use crate::server;

/// A served directory `inside` and, beside it, what must stay out of reach.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
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
    symlink("/proc/self/root", inside.join("link-magic")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    mknodat(CWD, inside.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    UnixListener::bind(inside.join("socket")).unwrap();
    dir
}

async fn connect(dir: &Path, revision: Revision) -> Client {
    let config =
        Config { dirs: vec![dir.join("inside")], deny: vec![".env".to_owned(), "keys".to_owned()] };
    let server = server(config).expect("server");
    Client::in_memory(server, revision, Answering::nothing()).await.expect("connect")
}

async fn call(client: &Client, tool: &str, arguments: Value) -> ToolAnswer {
    client.call_tool(tool, arguments).await.expect("answer")
}

#[tokio::test]
async fn reads_what_is_inside_in_every_revision() {
    let dir = directory();
    let absolute = dir.path().join("inside/lines.txt");
    for revision in Revision::ALL {
        let client = connect(dir.path(), revision).await;
        for (arguments, right) in [
            (json!({"path": "lines.txt"}), "l1\nl2\nl3\n"),
            (json!({"path": &absolute}), "l1\nl2\nl3\n"),
            (json!({"path": "./folder/../lines.txt", "head": 1}), "l1\n"),
            (json!({"path": "lines.txt", "head": 1_000_000_000_000u64}), "l1\nl2\nl3\n"),
            (json!({"path": "lines.txt", "startLine": 2, "head": 1}), "l2\n"),
            (json!({"path": "lines.txt", "tail": 1}), "l3\n"),
            (json!({"path": "umlaut.txt", "tail": 1}), "end"),
            (json!({"path": "umlaut.txt"}), "\u{fc}\r\nend"),
            (json!({"path": "link-inside"}), "b"),
        ] {
            let answer = call(&client, "read_text_file", arguments.clone()).await;
            assert_eq!(answer.text(), right, "{revision} {arguments}");
            assert!(!answer.is_error);
        }
    }
}

#[tokio::test]
async fn refuses_everything_else() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let beside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (path, refusal) in [
        ("../secret.txt".to_owned(), "outside"),
        ("folder/../../secret.txt".to_owned(), "outside"),
        (beside("secret.txt"), "outside"),
        (beside("inside-too/c.txt"), "outside"),
        (beside("inside "), "outside"),
        (beside("inside\""), "outside"),
        (beside("inside/../secret.txt"), "outside"),
        ("/proc/self/root/etc/passwd".to_owned(), "outside"),
        ("/proc/self/fd/0".to_owned(), "outside"),
        ("link-out".to_owned(), "outside"),
        ("link-absolute".to_owned(), "outside"),
        ("link-up/secret.txt".to_owned(), "outside"),
        ("link-magic/etc/passwd".to_owned(), "outside"),
        ("loop".to_owned(), "outside"),
        // Not found would tell that something was looked for out there.
        ("../missing".to_owned(), "outside"),
        ("link-up/missing".to_owned(), "outside"),
        ("nope/../../x".to_owned(), "was not found"),
        ("missing".to_owned(), "was not found"),
        ("~".to_owned(), "was not found"),
        (String::new(), "was not found"),
        ("nul\0byte".to_owned(), "was not found"),
        ("C:\\x".to_owned(), "was not found"),
        (".".to_owned(), "not a regular file"),
        ("fifo".to_owned(), "not a regular file"),
        ("socket".to_owned(), "not a regular file"),
        ("binary".to_owned(), "not UTF-8"),
        (".env".to_owned(), "may not be read"),
        ("keys/id".to_owned(), "may not be read"),
        ("keys/missing".to_owned(), "may not be read"),
        ("link-denied".to_owned(), "may not be read"),
        ("link-keys/id".to_owned(), "may not be read"),
    ] {
        let answer = call(&client, "read_text_file", json!({"path": path})).await;
        let text = answer.text();
        assert!(answer.is_error && text.contains(refusal), "{path:?}: {text}");
        let said = text.replace(&format!("{path:?}"), "");
        assert!(!said.contains('/') && !said.contains("secret"), "{path:?}: {text}");
    }
}

#[tokio::test]
async fn lists_without_the_denied_and_without_following() {
    let dir = directory();
    std::fs::write(dir.path().join("inside/folder/two\nlines"), "").unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let listed = |arguments| async { call(&client, "list_directory", arguments).await.text() };
    let all = listed(json!({"path": "."})).await;
    assert!(all.contains("[DIR] folder\n") && all.contains("[LINK] link-up\n"), "{all}");
    assert!(all.contains("[OTHER] fifo\n"), "{all}");
    assert!(!all.contains(".env") && !all.contains("[DIR] keys"), "{all}");
    let folder = listed(json!({"path": "folder"})).await;
    assert_eq!(folder, "[FILE] b.txt\n[FILE] two\\nlines\n");
    let page = listed(json!({"path": "folder", "maxEntries": 1})).await;
    assert_eq!(page, "[FILE] b.txt\n[2 entries in all; go on with skip: 1]\n");
    let answer = call(&client, "list_directory", json!({"path": "lines.txt"})).await;
    assert!(answer.is_error && answer.text().contains("not a directory"));
}

#[tokio::test]
async fn a_long_line_is_cut_between_characters() {
    let dir = directory();
    let long = "\u{20ac}".repeat(200_000);
    std::fs::write(dir.path().join("inside/long"), &long).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for arguments in [json!({"path": "long"}), json!({"path": "long", "tail": 1})] {
        let answer = call(&client, "read_text_file", arguments).await;
        let text = answer.content[0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 262_143);
        assert!(long.starts_with(text));
        assert!(answer.content[1]["text"].as_str().unwrap().starts_with("[cut"));
    }
}

#[tokio::test]
async fn describes_and_names_what_is_served() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let info = call(&client, "get_file_info", json!({"path": "lines.txt"})).await;
    assert_eq!(info.structured["size_bytes"], 9);
    assert_eq!(info.structured["kind"], "file");
    for special in ["fifo", "socket"] {
        let answer = call(&client, "get_file_info", json!({"path": special})).await;
        assert!(answer.is_error && answer.text().contains("not a regular file"));
    }
    let served = call(&client, "list_allowed_directories", json!({})).await;
    assert_eq!(served.structured["directories"], json!([dir.path().join("inside")]));
    for wrong in [json!({"path": "lines.txt", "head": 0}), json!({"path": "lines.txt", "bogus": 1})]
    {
        assert!(call(&client, "read_text_file", wrong).await.is_error);
    }
}

#[test]
fn a_directory_swapped_for_a_link_never_leads_outside() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(dir.path().join("b.txt"), "secret").unwrap();
    let backend = Backend::open(std::slice::from_ref(&inside), &[]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (folder, link) = (inside.join("folder"), inside.join("link-up"));
                renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let whole = Lines::From { first: 1, count: 9 };
        let texts: BTreeSet<String> = (0..20_000)
            .filter_map(|_| backend.read("folder/b.txt", whole, 99).ok())
            .map(|read| read.text)
            .collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(texts, BTreeSet::from(["b".to_owned()]));
    });
}
