//! Finding by name and by content: what is found, what is left out, and how long answers are cut.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp::Revision;
use serde_json::{Value, json};

use super::{call, connect, directory, refusal, text, while_swapping};
use crate::backend::{Access, Backend, Collect, Find, Grep, Observer};

/// A project in `inside/project`.
fn project(dir: &Path) {
    let project = dir.join("inside/project");
    for (path, content) in [
        (".gitignore", "/target\n*.log\n!keep.log\n"),
        (".git/config", "needle"),
        ("target/out.rs", "needle"),
        ("a.log", "needle"),
        ("keep.log", "needle"),
        ("catalog.md", "No Needle\nneedle two\r\nlast\n"),
        ("src/main.rs", "fn main() {\n    needle();\n}\n// needles\n"),
        ("src/.ignore", "gen.rs\n"),
        ("src/gen.rs", "needle"),
        ("src/deep/Mod.RS", "x"),
        ("src/.env", "needle"),
        ("node/keys/id", "needle"),
        ("weird\nname.txt", "needle"),
    ] {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::write(project.join("image.bin"), b"needle\0needle").unwrap();
    std::fs::write(project.join("wide.txt"), b"\xff\xfen\0e\0e\0d\0l\0e\0").unwrap();
    std::os::unix::fs::symlink("..", project.join("up")).unwrap();
    std::os::unix::fs::symlink("../../secret.txt", project.join("out")).unwrap();
}

async fn found(arguments: Value) -> String {
    let dir = directory();
    project(dir.path());
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    without_left_out(&text(&client, "search_files", arguments).await)
}

/// How much is left out is told in the note, and is the same for each question.
fn without_left_out(answer: &str) -> String {
    let (text, note) = answer.rsplit_once('[').expect("a note");
    let parts = note.trim_end_matches(']').split("; ");
    let others: Vec<&str> = parts.filter(|part| !part.ends_with("left out")).collect();
    format!("{text}[{}]", others.join("; "))
}

#[tokio::test]
async fn files_are_found_by_pattern_once_and_in_order() {
    for (arguments, right) in [
        (json!({"path": "project", "pattern": "*.rs"}), "project/src/main.rs\n[1 found]"),
        (
            json!({"path": "project", "pattern": "*.rs", "ignoreCase": true}),
            "project/src/deep/Mod.RS\nproject/src/main.rs\n[2 found]",
        ),
        (json!({"path": "project/src", "pattern": "/*.rs"}), "project/src/main.rs\n[1 found]"),
        (json!({"path": "project/src", "pattern": "./*.rs"}), "project/src/main.rs\n[1 found]"),
        (json!({"path": "project/src", "pattern": "*/*.rs"}), "[0 found]"),
        // Patterns of the directories above hold as well.
        (json!({"path": "project", "pattern": "*.log"}), "project/keep.log\n[1 found]"),
        (
            json!({"path": "project", "pattern": "*.rs", "includeIgnored": true}),
            "project/src/gen.rs\nproject/src/main.rs\nproject/target/out.rs\n[3 found]",
        ),
        (
            json!({"path": "project", "pattern": "**/*.md", "excludePatterns": ["src"]}),
            "project/catalog.md\n[1 found]",
        ),
        (
            json!({"path": "project", "pattern": "**/*.md", "excludePatterns": ["./src/"]}),
            "project/catalog.md\n[1 found]",
        ),
        (json!({"path": "project", "pattern": "node/"}), "project/node\n[1 found]"),
        (
            json!({"path": "project", "pattern": "{src,node}", "kind": "directory"}),
            "project/node\nproject/src\n[2 found]",
        ),
        (
            json!({"path": "project", "pattern": "*", "kind": "link"}),
            "project/out\nproject/up\n[2 found]",
        ),
        (json!({"path": "project", "pattern": "weird*"}), "project/weird\\x0aname.txt\n[1 found]"),
        (json!({"path": "project", "pattern": "id"}), "[0 found]"),
        (json!({"path": "project", "pattern": ".env", "includeIgnored": true}), "[0 found]"),
        (json!({"path": ".", "pattern": "main.rs"}), "project/src/main.rs\n[1 found]"),
        (json!({"path": "./project/", "pattern": "main.rs"}), "./project/src/main.rs\n[1 found]"),
        (
            json!({"path": "project", "pattern": "*.md", "minBytes": 24, "maxBytes": 40}),
            "project/catalog.md\n[1 found]",
        ),
        (json!({"path": "project", "pattern": "*.md", "maxBytes": 10}), "[0 found]"),
        (
            json!({"path": "project", "pattern": "*.md", "modifiedSinceUnixSecs": 4_000_000_000_u64}),
            "[0 found]",
        ),
    ] {
        assert_eq!(found(arguments.clone()).await, right, "{arguments}");
    }
}

#[tokio::test]
async fn contents_are_found_line_by_line() {
    let dir = directory();
    project(dir.path());
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (arguments, right) in [
        (
            json!({"query": "needle"}),
            "project/catalog.md\n2:needle two\nproject/keep.log\n1:needle\nproject/src/main.rs\n\
             2:    needle();\n4:// needles\nproject/weird\\x0aname.txt\n1:needle\n\
             project/wide.txt\n1:needle\n[6 lines in 5 files; 1 not text]",
        ),
        (
            json!({"query": "needle", "pattern": "*.rs", "contextLines": 1, "wholeWords": true}),
            "project/src/main.rs\n1-fn main() {\n2:    needle();\n3-}\n[1 lines in 1 files]",
        ),
        (
            json!({"query": "NEEDLE t.o$", "ignoreCase": true, "pattern": "*.md"}),
            "project/catalog.md\n2:needle two\n[1 lines in 1 files]",
        ),
        (
            json!({"query": "needle()", "literal": true}),
            "project/src/main.rs\n2:    needle();\n[1 lines in 1 files; 1 not text]",
        ),
        (
            json!({"query": "needle", "output": "counts", "excludePatterns": ["*.txt"]}),
            "project/catalog.md: 1\nproject/keep.log: 1\nproject/src/main.rs: 2\n\
             [4 lines in 3 files; 1 not text]",
        ),
        (
            json!({"query": "needle", "output": "files", "includeIgnored": true, "pattern": "*.rs"}),
            "project/src/gen.rs\nproject/src/main.rs\nproject/target/out.rs\n[3 files]",
        ),
        (json!({"query": "secret"}), "[0 lines in 0 files; 1 not text]"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("project");
        let answer = text(&client, "search_content", arguments.clone()).await;
        let answer = without_left_out(&answer);
        assert_eq!(answer, right, "{arguments}");
    }
    let one = json!({"path": "project/src/main.rs", "query": "^}"});
    assert_eq!(
        text(&client, "search_content", one).await,
        "project/src/main.rs\n3:}\n[1 lines in 1 files]"
    );
    for (arguments, why) in [
        (json!({"path": "project", "query": "("}), "`query` is wrong"),
        (json!({"path": "project", "query": "a\nb"}), "`query` is wrong"),
        (json!({"path": "project", "query": "a", "pattern": "["}), "`pattern` is wrong"),
        (json!({"path": "project", "query": "a", "cursor": "x"}), "`cursor`"),
        (json!({"path": "..", "query": "a"}), "outside"),
        (json!({"path": "fifo", "query": "a"}), "not a regular file"),
    ] {
        let said = refusal(&client, "search_content", arguments.clone()).await;
        assert!(said.contains(why), "{arguments}: {said}");
    }
}

#[tokio::test]
async fn cut_answers_go_on_to_the_end_without_gaps_or_doubles() {
    let dir = directory();
    let many = dir.path().join("inside/many");
    for folder in 0..7 {
        std::fs::create_dir_all(many.join(format!("d{folder}"))).unwrap();
        for file in 0..60 {
            let content = format!("hit {folder} {file}\nmiss\nhit again\n");
            std::fs::write(many.join(format!("d{folder}/{file}")), content).unwrap();
        }
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (tool, arguments, results) in [
        (
            "search_files",
            json!({"path": "many", "pattern": "*", "kind": "file", "maxResults": 37}),
            420,
        ),
        ("search_content", json!({"path": "many", "query": "hit", "maxResults": 101}), 840),
        (
            "search_content",
            json!({"path": "many", "query": "hit", "output": "files", "maxResults": 37}),
            420,
        ),
    ] {
        let mut arguments = arguments;
        let mut seen = BTreeSet::new();
        loop {
            let page = text(&client, tool, arguments.clone()).await;
            let (body, note) = page.rsplit_once("\n[").unwrap();
            let mut file = String::new();
            for line in body.lines() {
                if line.starts_with("many/") {
                    file = line.to_owned();
                }
                if tool == "search_files"
                    || !line.starts_with("many/")
                    || arguments["output"] == "files"
                {
                    assert!(seen.insert(format!("{file} {line}")), "{line} twice");
                }
            }
            let Some((_, cursor)) = note.split_once("cursor: ") else {
                break;
            };
            arguments["cursor"] = json!(cursor.trim_end_matches(']').split(';').next().unwrap());
        }
        assert_eq!(seen.len(), results, "{tool}");
    }
}

#[tokio::test]
async fn a_long_line_does_not_flood() {
    let dir = directory();
    let line = format!("{}needle{}\nneedle\n", "\u{e4}".repeat(100_000), "\u{e4}".repeat(100_000));
    std::fs::write(dir.path().join("inside/long"), line).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let answer = text(&client, "search_content", json!({"path": "long", "query": "needle"})).await;
    assert!(answer.len() < 1000 && answer.contains("needle\u{e4}"), "{answer}");
    assert!(answer.contains("\n2:needle\n[2 lines"), "{answer}");
}

struct Watching {
    cancel_after: u64,
    reports: AtomicU64,
}

impl Observer for Watching {
    fn progress(&self, _: u64, _: Option<u64>, _: &str) {
        self.reports.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.reports.load(Ordering::Relaxed) >= self.cancel_after
    }
}

fn grep_all() -> Grep {
    Grep {
        path: ".".to_owned(),
        query: "secret|b".to_owned(),
        is_literal: false,
        ignore_case: false,
        whole_words: false,
        pattern: None,
        exclude: Vec::new(),
        include_ignored: true,
        context_lines: 0,
        collect: Collect::Lines,
        max_bytes: 100_000,
        cursor: None,
    }
}

#[test]
fn a_walk_reports_and_ends_when_nobody_waits_for_it() {
    let dir = super::scratch();
    for folder in 0..15 {
        std::fs::create_dir(dir.path().join(format!("{folder}"))).unwrap();
        for file in 0..300 {
            std::fs::write(dir.path().join(format!("{folder}/{file}")), "b").unwrap();
        }
    }
    let backend = Backend::open(&[(dir.path().to_owned(), Access::ReadOnly)], &[]).unwrap();
    let watching = |cancel_after| Watching { cancel_after, reports: AtomicU64::new(0) };
    let all = watching(u64::MAX);
    assert_eq!(backend.grep(&grep_all(), &all).unwrap().total_files, 4500);
    assert!(all.reports.into_inner() >= 2);
    assert!(backend.grep(&grep_all(), &watching(1)).is_err());
    assert!(backend.grep(&grep_all(), &watching(0)).is_err());
}

#[test]
fn a_directory_swapped_for_a_link_is_never_walked_outside() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(dir.path().join("b.txt"), "secret").unwrap();
    let backend = Backend::open(
        &[(inside.clone(), Access::ReadOnly)],
        &["keys".to_owned(), ".env".to_owned()],
    )
    .unwrap();
    let watching = Watching { cancel_after: u64::MAX, reports: AtomicU64::new(0) };
    let find = Find {
        path: ".".to_owned(),
        pattern: "*".to_owned(),
        exclude: Vec::new(),
        ignore_case: false,
        include_ignored: true,
        kind: None,
        min_bytes: None,
        max_bytes: None,
        modified_since_unix_secs: None,
        max_results: 1000,
        max_bytes_shown: 100_000,
        cursor: None,
    };
    while_swapping(&inside.join("folder"), &inside.join("link-up"), || {
        let mut searched = 0;
        for _ in 0..100 {
            let matches = backend.grep(&grep_all(), &watching).unwrap();
            let lines = matches.files.values().flat_map(|hits| &hits.lines);
            for line in lines {
                assert_eq!(line.text, "b");
                searched += 1;
            }
            let names = backend.find(&find, &watching).unwrap();
            let leaked = names.paths.iter().find(|path| path.contains("secret"));
            assert_eq!(leaked, None);
        }
        assert!(searched > 0);
    });
}

#[test]
fn a_file_swapped_for_a_link_is_never_searched() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("lines.txt"), "b").unwrap();
    let backend =
        Backend::open(&[(inside.clone(), Access::ReadOnly)], &[".env".to_owned()]).unwrap();
    let watching = Watching { cancel_after: u64::MAX, reports: AtomicU64::new(0) };
    while_swapping(&inside.join("lines.txt"), &inside.join("link-out"), || {
        for _ in 0..500 {
            let matches = backend.grep(&grep_all(), &watching).unwrap();
            let found = matches.files.iter().filter(|(path, _)| !path.starts_with("keys"));
            for line in found.flat_map(|(_, hits)| &hits.lines) {
                assert_eq!(line.text, "b");
            }
        }
    });
}

#[tokio::test]
async fn a_cancelled_search_is_not_answered_and_the_next_call_is() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let arguments = json!({"path": ".", "query": "x"});
    client.start("tools/call", json!({"name": "search_content", "arguments": arguments})).cancel();
    assert!(!call(&client, "get_file_info", json!({"path": "."})).await.is_error);
}
