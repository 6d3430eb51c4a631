//! Faults of file servers that were reported in public, or seen by running some: each line is one
//! of them with the outcome that is right. What has a test file of its own is only named there:
//! edits (`edits`, `properties`), FIFOs, long lines, loops and large numbers (`enduring`), links
//! and races (`attacks`), kept modes, owners and hard links (`writing`).

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use mcp::Revision;
use serde_json::{Value, json};

use super::{call, connect, connect_with, connect_writing, directory, refusal, text, tool_names};
use crate::config::Config;

/// What it is about, file before, old and new text, file after.
type EditCase = (&'static str, &'static [u8], &'static str, &'static str, &'static [u8]);

#[tokio::test]
async fn edits_leave_the_file_as_its_author_wrote_it() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    let client = connect_writing(dir.path()).await;
    let cases: &[EditCase] = &[
        (
            "flush-left replacement of indented lines",
            b"f {\n    line1\n    line2\n}",
            "line1\nline2",
            "lineA\nlineB",
            b"f {\n    lineA\n    lineB\n}",
        ),
        (
            "no blanks are added to empty lines",
            b"  a\n\n  b\n",
            "a\n\nb",
            "a\n\nc\n\nb",
            b"  a\n\n  c\n\n  b\n",
        ),
        ("CRLF stays", b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n"),
        ("no CR CR LF", b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        ("mixed line ends stay", b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (
            "other encodings stay",
            b"caf\xe9 one\nsecond line\n",
            "second line",
            "2",
            b"caf\xe9 one\n2\n",
        ),
        (
            "newlines at the end stay",
            b"one  \ntwo\n\n\n",
            "one\ntwo",
            "ONE\ntwo",
            b"ONE\ntwo\n\n\n",
        ),
        (
            "tabs stay tabs",
            b"if x {\n\ty\n}\n",
            "    y\n",
            "    y\n        z\n",
            b"if x {\n\ty\n\t\tz\n}\n",
        ),
    ];
    for (what, before, old, new, after) in cases {
        std::fs::write(&file, before).unwrap();
        let edits = json!([{"oldText": old, "newText": new}]);
        text(&client, "edit_file", json!({"path": "file", "edits": edits})).await;
        let found = std::fs::read(&file).unwrap();
        assert_eq!(found.escape_ascii().to_string(), after.escape_ascii().to_string(), "{what}");
    }
}

#[tokio::test]
async fn edits_that_are_not_clear_change_nothing() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    let client = connect_writing(dir.path()).await;
    for (what, before, old, why) in [
        ("the first of several", "x = 1\nx = 1\n", "x = 1", "2 times"),
        ("the first of several, but for blanks", "  x\n\ty\n  x \n\ty\n", "x\ny", "2 times"),
        ("an empty text, which is everywhere", "x\n", "", "is empty"),
    ] {
        std::fs::write(&file, before).unwrap();
        let edits = json!([{"oldText": old, "newText": "changed"}]);
        let said = refusal(&client, "edit_file", json!({"path": "file", "edits": edits})).await;
        assert!(said.contains(why), "{what}: {said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{what}");
    }
}

#[tokio::test]
async fn a_near_miss_in_a_file_of_windows_is_told_at_once() {
    let dir = directory();
    let line = |number: u32| format!("    the line of number {number} says this and that;\r\n");
    let before: String = (0..300).map(line).collect();
    std::fs::write(dir.path().join("inside/file"), &before).unwrap();
    let client = connect_writing(dir.path()).await;
    let old = before.replace("\r\n", "\n").replace("number 150 says", "number 150 sayz");
    let edits = json!([{"oldText": old, "newText": "x"}]);
    let asked = Instant::now();
    let said = refusal(&client, "edit_file", json!({"path": "file", "edits": edits})).await;
    assert!(said.contains("sayz") && said.contains("says"), "{said}");
    // 50 ms is meant; without optimisation, on a busy machine, it may be more.
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    let edits = json!([{"oldText": before.replace("\r\n", "\n"), "newText": "one\ntwo\n"}]);
    text(&client, "edit_file", json!({"path": "file", "edits": edits})).await;
    assert_eq!(std::fs::read(dir.path().join("inside/file")).unwrap(), b"one\r\ntwo\r\n");
}

#[tokio::test]
async fn writing_keeps_what_is_not_the_text() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    std::fs::write(inside.join("script"), "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(inside.join("script"), PermissionsExt::from_mode(0o755)).unwrap();
    let edits = json!([{"oldText": "exit 1", "newText": "exit 0"}]);
    text(&client, "edit_file", json!({"path": "script", "edits": edits})).await;
    assert_eq!(inside.join("script").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    // A byte order mark outlives the text.
    std::fs::write(inside.join("marked"), b"\xef\xbb\xbfhi").unwrap();
    call(&client, "write_file", json!({"path": "marked", "content": "bye"})).await;
    assert_eq!(std::fs::read(inside.join("marked")).unwrap(), b"\xef\xbb\xbfbye");
    // What JSON cannot hold.
    call(&client, "write_file", json!({"path": "bytes", "contentBase64": "AP+A"})).await;
    assert_eq!(std::fs::read(inside.join("bytes")).unwrap(), b"\0\xff\x80");
    // UTF-8 in, UTF-8 out, whatever the locale is.
    call(&client, "write_file", json!({"path": "letters", "content": "\u{fc}\u{20ac}"})).await;
    assert_eq!(std::fs::read(inside.join("letters")).unwrap(), "\u{fc}\u{20ac}".as_bytes());
    assert_eq!(text(&client, "read_text_file", json!({"path": "letters"})).await, "\u{fc}\u{20ac}");
    // Moving never overwrites unless told.
    std::fs::write(inside.join("kept"), "KEEP").unwrap();
    let onto = json!({"source": "lines.txt", "destination": "kept"});
    assert!(refusal(&client, "move_file", onto).await.contains("exists already"));
    assert_eq!(std::fs::read(inside.join("kept")).unwrap(), b"KEEP");
}

#[tokio::test]
async fn numbers_of_lines_are_whole_and_at_least_one() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_06_18).await;
    for (member, number) in [
        ("head", json!(0)),
        ("tail", json!(0)),
        ("head", json!(1.5)),
        ("tail", json!(-1)),
        ("head", json!("2")),
        ("heads", json!(1)),
    ] {
        for tool in ["read_text_file", "read_file"] {
            let said = refusal(&client, tool, json!({"path": "lines.txt", member: number})).await;
            assert!(said.contains(member), "{tool}: {said}");
        }
    }
    for (arguments, right) in [
        (json!({"path": "lines.txt", "tail": 1}), "l3\n"),
        (json!({"path": "lines.txt", "tail": 2}), "l2\nl3\n"),
        (json!({"path": "lines.txt", "head": 1}), "l1\n"),
    ] {
        assert_eq!(text(&client, "read_file", arguments).await, right);
    }
}

#[tokio::test]
async fn long_lines_are_cut_between_characters_when_searched() {
    let dir = directory();
    let line = format!("{}needle{}", "\u{2019}".repeat(200_000), "\u{2019}".repeat(200_000));
    std::fs::write(dir.path().join("inside/quotes"), line).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let found = json!({"path": ".", "query": "needle", "contextLines": 2});
    let found = text(&client, "search_content", found).await;
    assert!(found.starts_with("quotes\n1:") && found.len() < 300_000, "{} bytes", found.len());
}

#[tokio::test]
async fn names_are_found_however_they_are_composed() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    // Decomposed, as file systems of macOS hold them, and a narrow blank, as its screenshots do.
    let folder = inside.join("\u{30b7}\u{3099}");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a 1\u{202f}PM.txt"), "found").unwrap();
    let asked = "\u{30b8}/a 1 PM.txt";
    assert_eq!(text(&client, "read_text_file", json!({"path": asked})).await, "found");
    let edits = json!([{"oldText": "found", "newText": "edited"}]);
    text(&client, "edit_file", json!({"path": asked, "edits": edits})).await;
    assert_eq!(std::fs::read(folder.join("a 1\u{202f}PM.txt")).unwrap(), b"edited");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    // The exact name comes first; of several others none.
    std::fs::write(folder.join("a 1 PM.txt"), "exact").unwrap();
    assert_eq!(text(&client, "read_text_file", json!({"path": asked})).await, "exact");
    std::fs::write(inside.join("o\u{308}.txt"), "1").unwrap();
    std::fs::write(inside.join("\u{ff4f}\u{308}.txt"), "2").unwrap();
    let said = refusal(&client, "read_text_file", json!({"path": "\u{f6}.txt"})).await;
    assert!(said.contains("was not found"), "{said}");
}

#[tokio::test]
async fn a_wrong_name_is_answered_with_those_most_like_it() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    let edits = json!([{"oldText": "a", "newText": "b"}]);
    for (tool, arguments, near) in [
        ("read_text_file", json!({"path": "line.txt"}), r#"there is "lines.txt""#),
        ("read_text_file", json!({"path": "foldr/b.txt"}), r#"there is "folder""#),
        (
            "edit_file",
            json!({"path": "folder/B.txt", "edits": edits}),
            r#"there is "folder/b.txt""#,
        ),
        ("list_directory", json!({"path": "Folder"}), r#"there is "folder""#),
        ("delete", json!({"path": "lines.tx"}), r#"there is "lines.txt""#),
        ("move_file", json!({"source": "lines.tx", "destination": "x"}), r#"there is "lines.txt""#),
        ("read_text_file", json!({"path": ".en"}), "was not found in the served directories"),
        (
            "read_text_file",
            json!({"path": r"C:\Users\me\a.txt"}),
            r#"would be like "Users/me/a.txt""#,
        ),
        ("read_text_file", json!({"path": r"\\nas\share\a"}), r#"would be like "nas/share/a""#),
    ] {
        let said = refusal(&client, tool, arguments.clone()).await;
        assert!(said.contains(near) && !said.contains(".env"), "{tool} {arguments}: {said}");
        assert!(!said.contains("os error") && !said.contains("ENOENT"), "{said}");
    }
}

#[tokio::test]
async fn filters_are_globs_and_what_they_leave_out_is_counted() {
    let dir = directory();
    let inside = dir.path().join("inside/project");
    for folder in ["node_modules/deep", "src"] {
        std::fs::create_dir_all(inside.join(folder)).unwrap();
    }
    std::fs::write(inside.join(".gitignore"), "node_modules\n").unwrap();
    for path in ["node_modules/deep/x.md", "catalog.md", "temporary.md", "a.log", "src/b.log"] {
        std::fs::write(inside.join(path), "text\n").unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let markdown =
        json!({"path": "project", "pattern": "*.md", "excludePatterns": ["*.log", "tmp"]});
    let found = text(&client, "search_files", markdown).await;
    assert_eq!(found, "project/catalog.md\nproject/temporary.md\n[2 found; 3 left out]");
    let all = json!({"path": "project", "pattern": "*.md", "includeIgnored": true});
    let found = text(&client, "search_files", all).await;
    assert!(found.ends_with("[3 found]"), "{found}");
    let content = json!({"path": "project", "query": "text", "output": "counts"});
    let found = text(&client, "search_content", content).await;
    assert!(found.ends_with("[4 lines in 4 files; 1 left out]"), "{found}");
}

#[tokio::test]
async fn a_broken_link_spoils_no_listing() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (tool, mark) in [
        ("directory_tree", "link-dangling-out [link]"),
        ("list_directory", "[LINK] link-dangling-out"),
        ("list_directory_with_sizes", "[LINK] link-dangling-out\t"),
    ] {
        let shown = text(&client, tool, json!({"path": "."})).await;
        assert!(shown.contains(mark) && shown.contains("lines.txt"), "{tool}: {shown}");
    }
}

/// A client's roots never replace what the operator serves, and nobody asks for them unless told.
#[tokio::test]
async fn directories_of_the_command_line_stay_the_bound() {
    let dir = directory();
    let link = dir.path().join("link-to-inside");
    std::os::unix::fs::symlink("inside", &link).unwrap();
    let served = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let dirs = vec![served(&link), served(&dir.path().join("inside-too"))];
    let config = Config { dirs, ..Config::default() };
    let client = connect_with(dir.path(), Revision::V2025_06_18, config).await;
    client.notify("notifications/roots/list_changed", Value::Null);
    // By the name of the link, by where it leads, and relative to either directory.
    for path in [served(&link.join("lines.txt")), served(&dir.path().join("inside/lines.txt"))] {
        assert_eq!(text(&client, "read_text_file", json!({"path": path})).await, "l1\nl2\nl3\n");
    }
    assert_eq!(text(&client, "read_text_file", json!({"path": "c.txt"})).await, "secret");
    let outside = json!({"path": served(&dir.path().join("secret.txt"))});
    assert!(refusal(&client, "read_text_file", outside).await.contains("outside"));
}

#[test]
fn a_directory_that_is_not_there_is_told_at_the_start() {
    let config = Config { dirs: vec!["/nowhere/at all".to_owned()], ..Config::default() };
    let error = crate::server(config).err().expect("refused").to_string();
    assert!(error.contains("/nowhere/at all"), "{error}");
}

/// So that a client's configuration for the reference server needs nothing but another command.
#[tokio::test]
async fn every_tool_and_argument_of_the_reference_server_is_there() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    let tools = client.list("tools/list", "tools").await.unwrap();
    let reference: &[(&str, &[&str])] = &[
        ("read_file", &["path", "head", "tail"]),
        ("read_text_file", &["path", "head", "tail"]),
        ("read_media_file", &["path"]),
        ("read_multiple_files", &["paths"]),
        ("write_file", &["path", "content"]),
        ("edit_file", &["path", "edits", "dryRun"]),
        ("create_directory", &["path"]),
        ("list_directory", &["path"]),
        ("list_directory_with_sizes", &["path", "sortBy"]),
        ("directory_tree", &["path", "excludePatterns"]),
        ("move_file", &["source", "destination"]),
        ("search_files", &["path", "pattern", "excludePatterns"]),
        ("get_file_info", &["path"]),
        ("list_allowed_directories", &[]),
    ];
    assert!(tool_names(&client).await.len() > reference.len());
    for (name, arguments) in reference {
        let tool = tools.iter().find(|tool| tool["name"] == *name).expect(name);
        for argument in *arguments {
            assert!(tool["inputSchema"]["properties"][argument].is_object(), "{name} {argument}");
        }
        let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        assert!(required.iter().all(|one| arguments.contains(&one.as_str().unwrap())), "{name}");
    }
    let all = serde_json::to_string(&tools).unwrap();
    // A model pays for every byte of it.
    assert!(all.len() <= 13 * 1024, "{} bytes of tools", all.len());
}
