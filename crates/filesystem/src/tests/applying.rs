//! apply_changes: all or none.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{call, connect_writing, directory, etag, refusal, while_swapping};
use crate::backend::{Access, Backend, Change, Content, WriteFile};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"oldText": old, "newText": new}]})
}

#[tokio::test]
async fn several_files_change_together() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    let changes = json!([
        edit("lines.txt", "l2", "L2"),
        {"path": "new", "content": "made\n"},
        {"path": "folder/b.txt", "content": "B"},
    ]);
    let diff = "--- lines.txt\n+++ lines.txt\n@@ -1,3 +1,3 @@\n l1\n-l2\n+L2\n l3\n\
                --- new\n+++ new\n@@ -0,0 +1 @@\n+made\n";
    let dry = json!({"changes": changes, "dryRun": true});
    let answer = call(&client, "apply_changes", dry).await;
    assert!(answer.content[0]["text"].as_str().unwrap().starts_with(diff), "{}", answer.text());
    assert!(!inside.join("new").exists());
    let answer = call(&client, "apply_changes", json!({"changes": changes})).await;
    assert!(answer.content[0]["text"].as_str().unwrap().starts_with(diff), "{}", answer.text());
    let note = answer.content[1]["text"].as_str().unwrap();
    for (path, content) in [("lines.txt", "l1\nL2\nl3\n"), ("new", "made\n"), ("folder/b.txt", "B")]
    {
        assert_eq!(std::fs::read_to_string(inside.join(path)).unwrap(), content);
        let etag = etag(&client, path).await;
        assert!(note.contains(&format!("[{path} etag {etag}]")), "{note}");
    }
    assert_eq!(std::fs::read_dir(inside.join("folder")).unwrap().count(), 2);
}

#[tokio::test]
async fn one_that_fails_leaves_all_as_they_were() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::hard_link(inside.join("lines.txt"), inside.join("one-more-name")).unwrap();
    let client = connect_writing(dir.path()).await;
    let before = inside.join("lines.txt").metadata().unwrap().ino();
    let good = edit("lines.txt", "l2", "L2");
    let made = json!({"path": "new", "content": "x"});
    for (bad, why) in [
        (edit("folder/b.txt", "missing", "x"), "was not found"),
        (edit("lines.txt", "l1", "L1"), "changed twice"),
        (edit("./folder/../lines.txt", "l1", "L1"), "changed twice"),
        (edit("missing", "end", "END"), "was not found"),
        (edit("one-more-name", "l1", "L1"), "changed twice"),
        (json!({"path": "folder/b.txt", "content": "x", "createOnly": true}), "exists already"),
        (json!({"path": "folder/b.txt", "content": "x", "ifMatch": "1-2-3"}), "has changed"),
        (json!({"path": "../out", "content": "x"}), "outside"),
        (json!({"path": ".env", "content": "x"}), "kept from you"),
        (json!({"path": "no/where", "content": "x"}), "create_directory"),
        (json!({"path": "x"}), "needs one of"),
    ] {
        let changes = json!({"changes": [good, made, bad]});
        let said = refusal(&client, "apply_changes", changes.clone()).await;
        assert!(said.contains(why), "{changes}: {said}");
        assert_eq!(inside.join("lines.txt").metadata().unwrap().ino(), before);
        assert_eq!(std::fs::read(inside.join("lines.txt")).unwrap(), b"l1\nl2\nl3\n");
        let names = std::fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = names
            .filter(|name| name == "new" || name.to_string_lossy().ends_with(".tmp"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Another program replaces the second file all the time, so that swapping it in often fails after
/// the first has been.
#[test]
fn what_was_swapped_in_is_taken_back_if_the_next_cannot_be() {
    let dir = directory();
    is_taken_back(&dir.path().join("inside"));
}

#[test]
fn what_was_written_over_is_taken_back_if_the_next_cannot_be() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::hard_link(inside.join("lines.txt"), inside.join("linked")).unwrap();
    is_taken_back(&inside);
    let inode = |name: &str| inside.join(name).metadata().unwrap().ino();
    assert_eq!(inode("lines.txt"), inode("linked"));
}

fn is_taken_back(inside: &Path) {
    for name in ["second", "other"] {
        std::fs::write(inside.join(name), "").unwrap();
    }
    let backend = Backend::open(&[(inside.to_owned(), Access::ReadWrite)], &[]).unwrap();
    let (mut applied, mut refused) = (0, 0);
    while_swapping(&inside.join("second"), &inside.join("other"), || {
        let write = |path: &str, content: String| {
            let (path, content) = (path.to_owned(), Content::Text(content));
            Change::Write(WriteFile { path, content, create_only: false, if_match: None })
        };
        let mut first = std::fs::read_to_string(inside.join("lines.txt")).unwrap();
        for round in 0..300 {
            let changes = [
                write("lines.txt", format!("round {round}")),
                write(&format!("new {round}"), String::new()),
                write("second", format!("{round}")),
            ];
            let is_applied = backend.apply(&changes, false).is_ok();
            if is_applied {
                first = format!("round {round}");
                applied += 1;
            } else {
                refused += 1;
            }
            assert_eq!(std::fs::read_to_string(inside.join("lines.txt")).unwrap(), first);
            assert_eq!(inside.join(format!("new {round}")).exists(), is_applied);
        }
    });
    assert!(applied + refused == 300 && refused > 0, "{applied} {refused}");
    let names = std::fs::read_dir(inside).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".mcp-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
