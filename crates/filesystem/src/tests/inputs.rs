//! Every kind of path somebody may send, to every tool and as a resource: what lies outside is
//! never read, listed, made, changed or named, and odd names inside mean what they say.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use mcp::Revision;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::attacks::{changes, everything, looks};
use super::{call, connect_with, connect_writing, directory, refusal, text};
use crate::config::Config;

/// As they are sent; `{dir}` is the directory that holds the served one.
const OUTSIDE: &[&str] = &[
    "..",
    "../",
    "../secret.txt",
    "folder/../../secret.txt",
    "nope/../../secret.txt",
    "./../secret.txt",
    "folder/../../../../../../etc/passwd",
    "{dir}",
    "{dir}/secret.txt",
    "{dir}/inside/../secret.txt",
    "{dir}/inside-too",
    "{dir}/inside-too/c.txt",
    "{dir}/inside ",
    "{dir}/inside\"",
    "/",
    "//",
    "///etc/passwd",
    "/etc/passwd",
    "/dev/zero",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/self/cwd",
    "link-out",
    "link-absolute",
    "link-up",
    "link-up/secret.txt",
    "link-up/new",
    "link-up/new/newer",
    "link-magic",
    "link-magic/etc/passwd",
    "link-magic/tmp/new/newer",
    "link-fd",
    "link-dir-out",
    "link-dir-out/new",
    "link-dir-out/new/newer",
    "link-dangling-out",
    "link-dangling-out/new",
    "chain",
    "chain/new",
    "loop",
    "loop/new",
    "loop-one/new",
    "\\x2e\\x2e/secret.txt",
    "\\x2e\\x2e\\x2fsecret.txt",
    "nul\0byte",
    "../secret.txt\0.txt",
    "\\x00/../secret.txt",
    "",
    // Kept from everybody.
    ".env",
    "keys",
    "keys/id",
    "folder/../keys/id",
    "link-denied",
    "link-keys/id",
];

fn add_links(dir: &std::path::Path) {
    std::fs::create_dir(dir.join("outside")).unwrap();
    let inside = dir.join("inside");
    for (target, name) in [
        ("../outside", "link-dir-out"),
        ("/proc/self/fd/0", "link-fd"),
        ("chain-two", "chain"),
        ("link-dir-out/../outside", "chain-two"),
        ("loop-two", "loop-one"),
        ("loop-one", "loop-two"),
    ] {
        symlink(target, inside.join(name)).unwrap();
    }
}

#[tokio::test]
async fn what_is_outside_is_neither_seen_nor_changed() {
    let dir = directory();
    add_links(dir.path());
    std::fs::write(dir.path().join("inside/folder/.env"), "secret").unwrap();
    let client = connect_writing(dir.path()).await;
    let mut before = BTreeSet::new();
    everything(dir.path(), &mut before);
    let outside = dir.path().to_str().unwrap();
    for path in OUTSIDE {
        let path = path.replace("{dir}", outside);
        for (tool, arguments) in looks(&path).into_iter().chain(changes(&path)) {
            // A link itself, which lies inside, can be moved and deleted.
            let is_link = ["link", "chain", "loop"].iter().any(|start| path.starts_with(start));
            let takes_links = matches!(tool, "move_file" | "delete" | "apply_changes");
            if is_link && takes_links && !path.contains('/') {
                continue;
            }
            let answer = call(&client, tool, arguments.clone()).await;
            let said = answer.text();
            assert!(answer.is_error, "{tool} {arguments}: {said}");
            let said = said.replace(&format!("{path:?}"), "");
            assert!(!said.contains("secret") && !said.contains(outside), "{tool} {path:?}: {said}");
        }
        let encoded = utf8_percent_encode(path.trim_start_matches('/'), NON_ALPHANUMERIC);
        for uri in [
            format!("file:///{encoded}"),
            format!("file://{outside}/inside/{encoded}"),
            format!("file://{outside}/inside/{path}"),
        ] {
            let is_root = path.is_empty() || path.starts_with('/');
            if let Ok(contents) = client.read_resource(&uri).await {
                let shown = contents[0]["text"].as_str().unwrap_or_default();
                assert!(is_root && shown.starts_with("binary\n"), "{uri}: {shown}");
            }
        }
        let mut after = BTreeSet::new();
        everything(dir.path(), &mut after);
        assert_eq!(before, after, "{path:?}");
    }
}

/// Of other systems, or of a shell: here each is a name like any other, or none.
#[tokio::test]
async fn what_means_more_elsewhere_is_only_a_name() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    let mut outside = BTreeSet::new();
    everything(&dir.path().join("inside-too"), &mut outside);
    for path in [
        "~",
        "~root",
        "$HOME",
        "C:x",
        "C:\\",
        "C:\\Windows",
        "\\\\?\\C:\\x",
        "\\\\srv\\share",
        "NUL",
        "COM\u{b9}",
        "a.txt:s",
        "a.",
        "a ",
        "PROGRA~1",
        "*",
        "-rf",
        "a\nb",
        "\u{202e}gnp.exe",
        "\u{200b}",
        "\\xff\\xfe",
    ] {
        for (tool, arguments) in looks(path) {
            let said = refusal(&client, tool, arguments).await;
            assert!(said.contains("was not found"), "{tool} {path:?}: {said}");
        }
        let write = json!({"path": path, "content": path, "createOnly": true});
        let written = call(&client, "write_file", write).await;
        assert!(!written.is_error, "{path:?}: {}", written.text());
        assert_eq!(text(&client, "read_text_file", json!({"path": path})).await, path);
        assert_eq!(call(&client, "delete", json!({"path": path})).await.structured["deleted"], 1);
    }
    let names = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 5, "something was made beside the served directory");
    let mut after = BTreeSet::new();
    everything(&dir.path().join("inside-too"), &mut after);
    assert_eq!(outside, after);
}

#[tokio::test]
async fn odd_names_inside_are_served() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let long = "n".repeat(255);
    for (name, content) in [
        (long.as_str(), "long"),
        ("Case", "upper"),
        ("case", "lower"),
        ("\u{e9}", "composed"),
        ("e\u{301}", "decomposed"),
    ] {
        std::fs::write(inside.join(name), content).unwrap();
    }
    let absolute = inside.to_str().unwrap().to_owned();
    let client = connect_writing(dir.path()).await;
    for (path, right) in [
        (long.clone(), "long"),
        ("Case".to_owned(), "upper"),
        ("case".to_owned(), "lower"),
        ("\u{e9}".to_owned(), "composed"),
        ("e\u{301}".to_owned(), "decomposed"),
        ("folder//b.txt".to_owned(), "b"),
        ("./folder/./b.txt".to_owned(), "b"),
        ("folder/../folder/b.txt".to_owned(), "b"),
        (format!("{absolute}//folder/b.txt"), "b"),
        (format!("{absolute}/../inside/folder/b.txt"), "b"),
        ("link-absolute-inside/b.txt".to_owned(), "b"),
        ("link-inside".to_owned(), "b"),
        ("folder/link-round".to_owned(), "b"),
    ] {
        let answer = call(&client, "read_text_file", json!({"path": path})).await;
        let is_right = answer.text().starts_with(right);
        // Out of the directory and in again is out.
        assert_eq!(is_right, !path.contains("/../inside"), "{path}: {}", answer.text());
    }
    for path in ["folder/", "folder//", "folder/.", "link-absolute-inside/"] {
        let listed = text(&client, "list_directory", json!({"path": path})).await;
        assert_eq!(listed, "[FILE] b.txt\n[LINK] link-round\n", "{path}");
    }
    let too_long = format!("{long}n");
    for path in [too_long.as_str(), "folder/b.txt/", "folder/b.txt/x", "lines.txt/.."] {
        refusal(&client, "read_text_file", json!({"path": path})).await;
        refusal(&client, "write_file", json!({"path": path, "content": "x"})).await;
    }
}

/// `/dev` holds devices, links into `/proc`, and another file system.
#[tokio::test]
async fn devices_are_refused_and_other_file_systems_below_are_served() {
    let scratch = super::scratch();
    std::fs::write(scratch.path().join("file"), "elsewhere").unwrap();
    let config = Config { dirs: vec!["/dev".to_owned()], ..Config::default() };
    let client = connect_with(scratch.path(), Revision::V2025_11_25, config).await;
    for device in ["zero", "null", "random", "full", "tty", "fd/0", "stdin", "loop0", "vda", "sda"]
    {
        for path in [device.to_owned(), format!("/dev/{device}")] {
            refusal(&client, "read_text_file", json!({"path": path})).await;
            refusal(&client, "read_media_file", json!({"path": path})).await;
            refusal(&client, "search_content", json!({"path": path, "query": "x"})).await;
        }
    }
    if let Ok(inner) = scratch.path().strip_prefix("/dev") {
        let read = json!({"path": inner.join("file")});
        assert_eq!(text(&client, "read_text_file", read).await, "elsewhere");
    }
}
