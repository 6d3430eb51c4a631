//! Entries of the crash journal that no server of ours has written: nothing is done that they name
//! outside, and what cannot be believed is left alone. The journal itself is out of every reach.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::attacks::{changes, everything, looks};
use super::{call, connect_writing, directory, fifos, text};
use crate::backend::{Access, Backend};

const ID: &str = "0123456789abcdef";

pub(super) fn journal_name() -> String {
    format!(".mcp-filesystem-{}", rustix::process::geteuid().as_raw())
}

/// A journal of ours in `root`, empty.
fn journal(root: &Path) -> PathBuf {
    let journal = root.join(journal_name());
    std::fs::create_dir(&journal).unwrap();
    std::fs::set_permissions(&journal, Permissions::from_mode(0o700)).unwrap();
    journal
}

/// An entry that says it is complete: with `plan` and `steps`.
fn entry(plan: &Value, steps: &Value) -> Vec<u8> {
    format!("{plan}\n{steps}\n").into_bytes()
}

fn over(path: &str) -> Vec<u8> {
    entry(&json!([path]), &json!([{"over": {"path": path}}]))
}

fn open(root: &Path) {
    let served = [(root.to_owned(), Access::ReadWrite), (root.join("ro"), Access::ReadOnly)];
    let deny = [".env", "keys"].map(str::to_owned);
    std::fs::create_dir_all(root.join("ro")).unwrap();
    drop(Backend::open(&served, &deny).unwrap());
}

fn all(dir: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut found = BTreeSet::new();
    everything(dir, &mut found);
    found
}

/// None that a server of ours would name.
const PATHS: [&str; 19] = [
    "../secret.txt",
    "..",
    ".",
    "",
    "/",
    "folder/../../secret.txt",
    "folder/../lines.txt",
    "link-up/secret.txt",
    "link-up/inside/lines.txt",
    "link-magic/etc/passwd",
    "link-absolute-inside/b.txt",
    "/etc/passwd",
    "\\x2e\\x2e/secret.txt",
    "\\x2fetc/passwd",
    "nul\\x00byte/x",
    ".env",
    "keys/id",
    "folder/.env",
    "ro/file",
];

#[test]
fn what_cannot_be_believed_is_left_alone() {
    let moving = |path: &str, to: &str| {
        entry(&json!([path]), &json!([{"move": {"path": path, "to": to, "inode": 1}}]))
    };
    let put = |path: &str| {
        let put = json!({"path": path, "before": null, "after": "1-1-1.1"});
        entry(&json!([path]), &json!([{"put": put}]))
    };
    let mut entries: Vec<Vec<u8>> = PATHS
        .iter()
        .copied()
        .chain([format!("{}/x", journal_name()).as_str()])
        .flat_map(|path| [over(path), put(path), moving(path, "x"), moving("lines.txt", path)])
        .collect();
    entries.extend([
        b"{}\n".to_vec(),
        b"not json\n".to_vec(),
        b"[\"lines.txt\"]\n[]\n\"forth\"\n".to_vec(),
        b"[\"lines.txt\"]\n[]\n\"back\"\n\"back\"\n".to_vec(),
        entry(&json!(["lines.txt"]), &json!([{"over": {"path": "lines.txt", "more": 1}}])),
        entry(&json!(["lines.txt"]), &json!([{"run": {"path": "lines.txt"}}])),
        [b"[".repeat(100_000), b"\n".to_vec()].concat(),
        [b"[]\n".to_vec(), b" ".repeat(5 * 1024 * 1024)].concat(),
    ]);
    for bytes in entries {
        let dir = directory();
        let root = dir.path().join("inside");
        open(&root);
        let journal = journal(&root);
        std::fs::write(journal.join(ID), &bytes).unwrap();
        for kind in ["old", "new"] {
            std::fs::write(journal.join(format!("{ID}-0.{kind}")), "secret").unwrap();
        }
        let before = all(dir.path());
        open(&root);
        assert!(
            before == all(dir.path()),
            "{}",
            String::from_utf8_lossy(&bytes[..99.min(bytes.len())])
        );
    }
}

#[test]
fn what_is_no_file_of_ours_is_no_entry() {
    for kind in
        ["fifo", "link", "directory", "open to all", "journal is a link", "journal is a file"]
    {
        let dir = directory();
        let root = dir.path().join("inside");
        open(&root);
        let at = root.join(journal_name());
        let believed = over("lines.txt");
        match kind {
            "fifo" => fifos([journal(&root).join(ID)]),
            "link" => {
                std::fs::write(dir.path().join("entry"), believed).unwrap();
                symlink("../../entry", journal(&root).join(ID)).unwrap();
            }
            "directory" => std::fs::create_dir(journal(&root).join(ID)).unwrap(),
            "journal is a link" => {
                std::fs::create_dir(dir.path().join("outside")).unwrap();
                std::fs::write(dir.path().join("outside").join(ID), believed).unwrap();
                symlink("../outside", &at).unwrap();
            }
            "journal is a file" => std::fs::write(&at, believed).unwrap(),
            _ => {
                std::fs::write(journal(&root).join(ID), believed).unwrap();
                std::fs::set_permissions(&at, Permissions::from_mode(0o777)).unwrap();
            }
        }
        let before = all(dir.path());
        open(&root);
        assert_eq!(before, all(dir.path()), "{kind}");
    }
}

/// What an entry says well, but of something that is not a file, or of too much.
#[test]
fn only_files_are_written_over() {
    for path in
        ["fifo", "link-out", "link-absolute", "link-dangling-out", "folder", "socket", "missing"]
    {
        let dir = directory();
        let root = dir.path().join("inside");
        open(&root);
        let journal = journal(&root);
        let mut before = all(dir.path());
        std::fs::write(journal.join(ID), over(path)).unwrap();
        for (kind, content) in [("old", "secret"), ("new", "changed")] {
            std::fs::write(journal.join(format!("{ID}-0.{kind}")), content).unwrap();
        }
        open(&root);
        before.retain(|(path, _)| !path.ends_with(&journal_name()));
        before.insert((
            root.join(format!(".mcp-{ID}-0.kept")).to_str().unwrap().to_owned(),
            b"changed".to_vec(),
        ));
        assert_eq!(before, all(dir.path()), "{path}");
    }
    let dir = directory();
    let root = dir.path().join("inside");
    let journal = journal(&root);
    std::fs::write(journal.join(ID), over("lines.txt")).unwrap();
    std::fs::copy(root.join("lines.txt"), journal.join(format!("{ID}-0.old"))).unwrap();
    let huge = std::fs::File::create(journal.join(format!("{ID}-0.new"))).unwrap();
    // Just too much, so that not even a broken limit could fill the disk.
    huge.set_len(256 * 1024 * 1024 + 1).unwrap();
    open(&root);
    assert_eq!(std::fs::read(root.join("lines.txt")).unwrap(), b"l1\nl2\nl3\n");
}

/// An entry about two served directories waits until both are served.
#[test]
fn a_file_in_another_served_directory_is_finished_with_it() {
    let dir = directory();
    let (root, other) = (dir.path().join("inside"), dir.path().join("inside-too"));
    let journal = journal(&root);
    let path = other.join("c.txt");
    std::fs::write(journal.join(ID), over(path.to_str().unwrap())).unwrap();
    std::fs::write(journal.join(format!("{ID}-0.old")), "secret").unwrap();
    std::fs::write(journal.join(format!("{ID}-0.new")), "new").unwrap();
    open(&root);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let served = [(root.clone(), Access::ReadWrite), (other.clone(), access)];
        drop(Backend::open(&served, &[]).unwrap());
        let is_new = std::fs::read_to_string(&path).unwrap() == "new";
        assert_eq!(is_new, access == Access::ReadWrite);
        assert_eq!(journal.exists(), !is_new);
    }
}

#[tokio::test]
async fn the_journal_is_out_of_every_reach() {
    let dir = directory();
    let root = dir.path().join("inside");
    let journal = journal(&root);
    std::fs::write(journal.join("needle"), "secret x").unwrap();
    let client = connect_writing(dir.path()).await;
    let before = all(dir.path());
    let name = journal_name();
    for path in
        [name.clone(), format!("{name}/needle"), format!("./{name}/new"), format!("folder/{name}")]
    {
        for (tool, arguments) in looks(&path).into_iter().chain(changes(&path)) {
            let answer = call(&client, tool, arguments.clone()).await;
            assert!(answer.is_error, "{tool} {arguments}: {}", answer.text());
            assert!(answer.text().contains("kept from you"), "{tool} {path}: {}", answer.text());
        }
        assert_eq!(before, all(dir.path()), "{path}");
    }
    for (tool, arguments) in looks(".").into_iter().skip(2) {
        let answer = call(&client, tool, arguments).await;
        let said = format!("{} {}", answer.text(), answer.structured);
        assert!(!said.contains(&name) && !said.contains("needle"), "{tool}: {said}");
    }
    // Nor can be told whether there is one.
    std::fs::remove_dir_all(&journal).unwrap();
    let without_deny = Backend::open(&[(root.clone(), Access::ReadWrite)], &[]).unwrap();
    for path in [name.clone(), format!("{name}/needle")] {
        let said = without_deny.info(&path).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("kept from you"), "{said}");
    }
    // It is in the way of nothing else.
    text(&client, "write_file", json!({"path": "lines.txt", "content": "x"})).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes of any kind, and well-formed entries that name anything.
    #[test]
    fn nothing_outside_is_touched_whatever_an_entry_says(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        paths in proptest::collection::vec(
            proptest::collection::vec(
                prop::sample::select(vec!["..", ".", "", "folder", "link-up", "secret.txt", "a", "\\x2e\\x2e"]),
                1..5,
            ),
            1..4,
        ),
    ) {
        let dir = directory();
        let root = dir.path().join("inside");
        let journal = journal(&root);
        let paths: Vec<String> = paths.iter().map(|parts| parts.join("/")).collect();
        let steps: Vec<Value> = paths.iter().map(|path| json!({"over": {"path": path}})).collect();
        std::fs::write(journal.join(ID), bytes).unwrap();
        std::fs::write(journal.join("f".repeat(16)), entry(&json!(paths), &json!(steps))).unwrap();
        let named = format!(".mcp-{}-0.tmp", "f".repeat(16));
        std::fs::write(dir.path().join(named), "secret").unwrap();
        for (kind, content) in [("old", "secret"), ("new", "changed")] {
            std::fs::write(journal.join(format!("{}-0.{kind}", "f".repeat(16))), content).unwrap();
        }
        let outside = |found: BTreeSet<(String, Vec<u8>)>| -> BTreeSet<_> {
            let inside = format!("{}/", root.display());
            found.into_iter().filter(|(path, _)| !path.starts_with(&inside)).collect()
        };
        let before = outside(all(dir.path()));
        drop(Backend::open(&[(root.clone(), Access::ReadWrite)], &[]).unwrap());
        prop_assert_eq!(before, outside(all(dir.path())));
    }
}
