//! Nothing outside the served directories is opened, made, changed or named.

use std::collections::BTreeSet;
use std::path::Path;

use mcp::Revision;
use serde_json::{Value, json};

use super::{call, connect, connect_writing, directory, refusal, text, while_swapping};
use crate::backend::{Access, Backend, Content, Lines, Observer, ReadText, TwoPaths, WriteFile};

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
        ("link-dangling-out".to_owned(), "outside"),
        ("link-dangling".to_owned(), "was not found"),
        ("\\x2e\\x2e/secret.txt".to_owned(), "outside"),
        ("link-absolute-inside/../../secret.txt".to_owned(), "outside"),
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
        ("binary".to_owned(), "not text"),
        (".env".to_owned(), "is kept from you"),
        ("keys/id".to_owned(), "is kept from you"),
        ("keys/missing".to_owned(), "is kept from you"),
        ("link-denied".to_owned(), "is kept from you"),
        ("link-keys/id".to_owned(), "is kept from you"),
    ] {
        let answer = call(&client, "read_text_file", json!({"path": path})).await;
        let text = answer.text();
        assert!(answer.is_error && text.contains(refusal), "{path:?}: {text}");
        let said = text.replace(&format!("{path:?}"), "");
        assert!(!said.contains('/') && !said.contains("secret"), "{path:?}: {text}");
    }
}

/// However `--deny` is spelled, it denies, or the server does not start.
#[test]
fn what_is_denied_is_denied_in_every_spelling() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("folder/id"), "secret").unwrap();
    let open =
        |deny: &str| Backend::open(&[(inside.clone(), Access::ReadOnly)], &[deny.to_owned()]);
    let absolute = inside.join("keys").to_str().unwrap().to_owned();
    for deny in [
        "keys",
        "keys/",
        "keys//",
        "./keys",
        "./keys/",
        "keys/**",
        "**/keys",
        "keys/id",
        "id",
        "*d",
        "k[e]ys",
        "{keys,other}/",
        &absolute,
        &format!("{absolute}/"),
    ] {
        let backend = open(deny).map_err(|error| error.to_string()).unwrap();
        assert!(backend.info("keys/id").is_err(), "{deny}");
        assert!(backend.info("lines.txt").is_ok(), "{deny}");
        let is_at_any_depth = ["id", "*d"].contains(&deny);
        assert_eq!(backend.info("folder/id").is_err(), is_at_any_depth, "{deny}");
    }
    let itself = inside.to_str().unwrap();
    let outside = dir.path().join("secret.txt").to_str().unwrap().to_owned();
    for deny in
        ["", "/", "//", ".", "./", "..", "../x", "a/../b", "a//b", "/keys", "[", itself, &outside]
    {
        let said = open(deny).map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with(&format!("`--deny {deny}` would not")), "{deny}: {said}");
    }
}

/// How often a race is run: `MCP_FILESYSTEM_ATTACK_OPENS`, or as often as takes seconds.
fn opens() -> u64 {
    let opens = std::env::var("MCP_FILESYSTEM_ATTACK_OPENS").ok();
    opens.and_then(|opens| opens.parse().ok()).unwrap_or(20_000)
}

#[test]
fn a_directory_swapped_for_a_link_never_leads_outside() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(dir.path().join("b.txt"), "secret").unwrap();
    let backend = Backend::open(&[(inside.clone(), Access::ReadOnly)], &[]).unwrap();
    while_swapping(&inside.join("folder"), &inside.join("link-up"), || {
        let request = ReadText {
            path: "folder/b.txt".to_owned(),
            lines: Lines::From { start_byte: 0, first: 1, count: 9 },
            max_bytes: 99,
            encoding: None,
        };
        let texts: BTreeSet<String> = (0..opens())
            .filter_map(|_| backend.read(&request).ok())
            .map(|read| read.text)
            .collect();
        assert_eq!(texts, BTreeSet::from(["b".to_owned()]));
    });
}

#[tokio::test]
async fn absolute_links_to_the_inside_are_as_good_as_relative_ones() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::os::unix::fs::symlink(inside.join("link-absolute-inside"), inside.join("twice")).unwrap();
    let client = connect_writing(dir.path()).await;
    for path in ["link-absolute-inside/b.txt", "twice/b.txt", "twice/../folder/b.txt"] {
        assert_eq!(text(&client, "read_text_file", json!({"path": path})).await, "b", "{path}");
    }
    assert_eq!(text(&client, "read_text_file", json!({"path": "twice/link-round"})).await, "b");
    call(&client, "write_file", json!({"path": "twice/b.txt", "content": "B"})).await;
    assert_eq!(std::fs::read(inside.join("folder/b.txt")).unwrap(), b"B");
}

/// Everything below a directory: path, and contents or the target of a link.
pub(super) fn everything(dir: &Path, found: &mut BTreeSet<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let content = if kind.is_symlink() {
            std::fs::read_link(&path).unwrap().to_str().unwrap().as_bytes().to_vec()
        } else if kind.is_file() {
            std::fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        found.insert((path.to_str().unwrap().to_owned(), content));
        if kind.is_dir() {
            everything(&path, found);
        }
    }
}

/// Each way to look at something, aimed at `path`.
pub(super) fn looks(path: &str) -> [(&'static str, Value); 7] {
    [
        ("read_text_file", json!({"path": path})),
        ("read_media_file", json!({"path": path})),
        ("list_directory", json!({"path": path})),
        ("directory_tree", json!({"path": path})),
        ("search_files", json!({"path": path, "pattern": "*"})),
        ("search_content", json!({"path": path, "query": "x"})),
        ("get_file_info", json!({"path": path})),
    ]
}

/// Every way to change something, aimed at `path`.
pub(super) fn changes(path: &str) -> [(&'static str, Value); 13] {
    let edits = json!([{"oldText": "secret", "newText": "changed"}]);
    [
        ("write_file", json!({"path": path, "content": "changed"})),
        ("write_file", json!({"path": path, "content": "changed", "createOnly": true})),
        ("edit_file", json!({"path": path, "edits": edits})),
        ("create_directory", json!({"path": path})),
        ("move_file", json!({"source": path, "destination": "moved"})),
        ("move_file", json!({"source": "lines.txt", "destination": path, "overwrite": true})),
        ("copy_file", json!({"source": path, "destination": "copied"})),
        ("copy_file", json!({"source": "lines.txt", "destination": path, "overwrite": true})),
        ("delete", json!({"path": path, "recursive": true})),
        ("apply_changes", json!({"changes": [{"path": path, "content": "changed"}]})),
        ("apply_changes", json!({"changes": [{"path": path, "moveTo": "moved"}]})),
        ("apply_changes", json!({"changes": [{"path": "lines.txt", "moveTo": path}]})),
        ("apply_changes", json!({"changes": [{"path": path, "delete": true}]})),
    ]
}

#[tokio::test]
async fn nothing_outside_is_changed() {
    let dir = directory();
    std::fs::create_dir(dir.path().join("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", dir.path().join("inside/link-dir-out")).unwrap();
    let client = connect_writing(dir.path()).await;
    let mut before = BTreeSet::new();
    everything(dir.path(), &mut before);
    let beside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for path in [
        "../new".to_owned(),
        "..".to_owned(),
        "../secret.txt".to_owned(),
        "folder/../../new".to_owned(),
        "nope/../../new".to_owned(),
        "link-up/new".to_owned(),
        "link-up/new/newer".to_owned(),
        "link-up/secret.txt".to_owned(),
        "link-dir-out/new".to_owned(),
        "link-dir-out/new/newer".to_owned(),
        "link-dangling-out/new".to_owned(),
        "link-magic/tmp/new".to_owned(),
        "loop/new".to_owned(),
        "/proc/self/root/tmp/new".to_owned(),
        "nul\0byte/x".to_owned(),
        beside("new"),
        beside("inside-too/c.txt"),
        beside("inside-too/new"),
        beside("inside "),
        beside("inside\""),
        beside("inside/../new"),
        // Kept from everybody, or not to be touched at all.
        ".env".to_owned(),
        "keys".to_owned(),
        "keys/id".to_owned(),
        "keys/new".to_owned(),
        "folder/.env".to_owned(),
        "link-keys/id".to_owned(),
        ".".to_owned(),
        String::new(),
    ] {
        for (tool, arguments) in changes(&path) {
            let answer = call(&client, tool, arguments.clone()).await;
            let is_harmless = tool == "create_directory" && path == ".";
            assert!(answer.is_error || is_harmless, "{tool} {arguments}: {}", answer.text());
            let said = answer.text().replace(&format!("{path:?}"), "");
            assert!(
                !said.contains("secret") && !said.contains(dir.path().to_str().unwrap()),
                "{tool} {path:?}: {said}"
            );
        }
        let mut after = BTreeSet::new();
        everything(dir.path(), &mut after);
        assert_eq!(before, after, "{path:?}");
    }
}

#[tokio::test]
async fn a_link_that_leads_out_is_not_written_through_but_can_be_removed() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    for link in ["link-out", "link-absolute", "link-dangling-out", "link-dangling", "loop"] {
        for tool in ["write_file", "edit_file"] {
            let arguments = match tool {
                "write_file" => json!({"path": link, "content": "changed"}),
                _ => json!({"path": link, "edits": [{"oldText": "secret", "newText": "x"}]}),
            };
            refusal(&client, tool, arguments).await;
        }
        call(&client, "delete", json!({"path": link})).await;
        assert!(!dir.path().join("inside").join(link).is_symlink(), "{link}");
    }
    assert_eq!(std::fs::read(dir.path().join("secret.txt")).unwrap(), b"secret");
    assert!(!dir.path().join("nowhere").exists());
}

#[tokio::test]
async fn fifos_are_refused_a_hundred_times_without_waiting() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    for _ in 0..100 {
        for (tool, arguments) in [
            ("read_text_file", json!({"path": "fifo"})),
            ("write_file", json!({"path": "fifo", "content": "x"})),
            ("edit_file", json!({"path": "fifo", "edits": [{"oldText": "a", "newText": "b"}]})),
            ("copy_file", json!({"source": "fifo", "destination": "copy"})),
        ] {
            let said = refusal(&client, tool, arguments).await;
            assert!(said.contains("not a regular file"), "{tool}: {said}");
        }
    }
}

#[test]
fn a_directory_swapped_for_a_link_is_never_written_outside() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("b.txt"), "secret").unwrap();
    std::os::unix::fs::symlink("../outside", inside.join("link-outside")).unwrap();
    let backend = Backend::open(&[(inside.clone(), Access::ReadWrite)], &[]).unwrap();
    let mut before = BTreeSet::new();
    everything(&outside, &mut before);
    let mut successes = 0;
    while_swapping(&inside.join("folder"), &inside.join("link-outside"), || {
        for round in 0..opens() / 100 {
            let content = Content::Text(round.to_string());
            let path = "folder/b.txt".to_owned();
            let write = WriteFile { path, content, create_only: false, if_match: None };
            let source = "lines.txt".to_owned();
            let destination = format!("folder/copy{round}");
            let copy = TwoPaths { source, destination, overwrite: true };
            successes += u64::from(backend.write(&write).is_ok());
            successes += u64::from(backend.copy_file(&copy, &Unobserved).is_ok());
            successes += u64::from(backend.create_directory(&format!("folder/d{round}")).is_ok());
        }
    });
    let mut after = BTreeSet::new();
    everything(&outside, &mut after);
    assert_eq!(before, after);
    assert!(successes > 0);
}

struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _: u64, _: Option<u64>, _: &str) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}
