//! apply_changes: moving and deleting among the changes, and putting everything back.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mcp::Revision;
use mcp::client::Client;
use serde_json::{Value, json};

use super::{call, connect_with, connect_writing, directory, refusal};
use crate::config::Config;

/// Regular files below `dir` with their contents and modes.
fn files(dir: &Path) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() {
            let state = (std::fs::read(&path).unwrap(), kind.permissions().mode());
            found.insert(path.to_str().unwrap().to_owned(), state);
        }
    }
    found
}

fn every_kind() -> Value {
    json!([
        {"path": "lines.txt", "edits": [{"oldText": "l2", "newText": "L2"}]},
        {"path": "umlaut.txt", "content": "new"},
        {"path": "made.txt", "content": "made"},
        {"path": "folder", "moveTo": "renamed"},
        {"path": "gone.bin", "delete": true},
    ])
}

/// The id by which the changes can be undone.
async fn apply(client: &Client, arguments: Value) -> String {
    let answer = call(client, "apply_changes", arguments).await;
    assert!(!answer.is_error, "{}", answer.text());
    let note = answer.content[1]["text"].as_str().unwrap();
    let (_, id) = note.rsplit_once("[undo ").expect("an undo id");
    id.trim_end_matches(']').to_owned()
}

#[tokio::test]
async fn everything_is_put_back_and_again() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("gone.bin"), b"\xff\0gone").unwrap();
    std::fs::set_permissions(inside.join("gone.bin"), PermissionsExt::from_mode(0o741)).unwrap();
    std::fs::set_permissions(inside.join("lines.txt"), PermissionsExt::from_mode(0o755)).unwrap();
    let before = files(&inside);
    let client = connect_writing(dir.path()).await;
    let dry = json!({"changes": every_kind(), "dryRun": true});
    let diff = call(&client, "apply_changes", dry).await.text();
    assert!(diff.contains("rename from folder\nrename to renamed\n"), "{diff}");
    assert!(diff.contains("gone.bin is not text"), "{diff}");
    assert_eq!(files(&inside), before);
    let id = apply(&client, json!({"changes": every_kind()})).await;
    let after = files(&inside);
    let name = |name: &str| inside.join(name).to_str().unwrap().to_owned();
    assert_eq!(after[&name("lines.txt")], (b"l1\nL2\nl3\n".to_vec(), 0o100_755));
    assert_eq!(after[&name("umlaut.txt")].0, b"new");
    assert_eq!(after[&name("made.txt")].0, b"made");
    assert_eq!(after[&name("renamed/b.txt")].0, b"b");
    assert!(!after.contains_key(&name("gone.bin")) && !inside.join("folder").exists());
    let dry = call(&client, "apply_changes", json!({"undo": id, "dryRun": true})).await;
    assert!(dry.text().contains("-L2\n+l2\n"), "{}", dry.text());
    assert_eq!(files(&inside), after);
    let redo = apply(&client, json!({"undo": id})).await;
    assert_eq!(files(&inside), before);
    let said = refusal(&client, "apply_changes", json!({"undo": id})).await;
    assert!(said.contains("undone already"), "{said}");
    apply(&client, json!({"undo": redo})).await;
    assert_eq!(files(&inside), after);
}

#[tokio::test]
async fn what_somebody_changed_since_is_not_undone() {
    for name in ["lines.txt", "made.txt", "gone.bin", "renamed", "folder"] {
        let dir = directory();
        let inside = dir.path().join("inside");
        std::fs::write(inside.join("gone.bin"), "gone").unwrap();
        let client = connect_writing(dir.path()).await;
        let id = apply(&client, json!({"changes": every_kind()})).await;
        if name == "renamed" {
            std::fs::rename(inside.join("renamed"), inside.join("elsewhere")).unwrap();
            std::fs::create_dir(inside.join("renamed")).unwrap();
        } else {
            std::fs::write(inside.join(name), "by somebody else").unwrap();
        }
        let before = files(&inside);
        let said = refusal(&client, "apply_changes", json!({"undo": id})).await;
        assert!(said.contains(name), "{name}: {said}");
        assert_eq!(files(&inside), before, "{name}");
    }
}

#[tokio::test]
async fn one_that_cannot_be_done_leaves_all_undone() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("gone.bin"), "gone").unwrap();
    let before = files(&inside);
    let client = connect_writing(dir.path()).await;
    for (bad, why) in [
        (json!({"path": "missing", "delete": true}), "not found"),
        (json!({"path": "missing", "moveTo": "x"}), "not found"),
        (json!({"path": "binary", "moveTo": "lines.txt"}), "exists already"),
        (json!({"path": "binary", "moveTo": "../out"}), "outside"),
        (json!({"path": "../secret.txt", "moveTo": "x"}), "outside"),
        (json!({"path": "binary", "moveTo": ".env"}), "kept from you"),
        (json!({"path": ".env", "delete": true}), "kept from you"),
        (json!({"path": "../secret.txt", "delete": true}), "outside"),
        (json!({"path": "keys", "moveTo": "x"}), "kept from you"),
        (json!({"path": "link-out", "delete": true}), "outside"),
        (json!({"path": "renamed", "delete": true}), "not found"),
        (json!({"path": "binary", "delete": true, "ifMatch": "1-2-3"}), "has changed"),
        (json!({"path": "binary", "moveTo": "x", "ifMatch": "1-2-3"}), "needs one of"),
        (json!({"path": "binary"}), "needs one of"),
        (json!({"path": "binary", "delete": true, "content": "x"}), "needs one of"),
        (json!({"path": "folder/b.txt", "content": "x"}), "changed twice"),
        (json!({"path": "gone.bin", "content": "x"}), "changed twice"),
        (json!({"path": "binary", "moveTo": "folder/in"}), "changed twice"),
        (json!({"path": "folder/b.txt", "delete": true}), "changed twice"),
    ] {
        let mut changes = every_kind();
        changes.as_array_mut().unwrap().push(bad.clone());
        let said = refusal(&client, "apply_changes", json!({"changes": changes})).await;
        assert!(said.contains(why), "{bad}: {said}");
        assert_eq!(files(&inside), before, "{bad}");
    }
    for neither in [json!({}), json!({"changes": every_kind(), "undo": "1"})] {
        refusal(&client, "apply_changes", neither).await;
    }
}

#[tokio::test]
async fn deleting_needs_its_flag() {
    let dir = directory();
    let config = Config { rw: true, ..Config::default() };
    let client = connect_with(dir.path(), Revision::V2025_11_25, config).await;
    let delete = json!({"changes": [{"path": "lines.txt", "delete": true}]});
    assert!(refusal(&client, "apply_changes", delete).await.contains("not allowed"));
    let client = connect_writing(dir.path()).await;
    apply(&client, json!({"changes": [{"path": "lines.txt", "delete": true}]})).await;
    assert!(!dir.path().join("inside/lines.txt").exists());
}

#[tokio::test]
async fn only_the_last_few_changes_can_be_undone() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    let mut ids = Vec::new();
    for round in 0..17 {
        let change = json!({"path": "lines.txt", "content": round.to_string()});
        ids.push(apply(&client, json!({"changes": [change]})).await);
    }
    assert!(refusal(&client, "apply_changes", json!({"undo": ids[0]})).await.contains("too long"));
    apply(&client, json!({"undo": ids[16]})).await;
    assert_eq!(std::fs::read(dir.path().join("inside/lines.txt")).unwrap(), b"15");
}
