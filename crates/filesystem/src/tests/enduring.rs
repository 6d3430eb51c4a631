//! Nothing that lies in a served directory, and nothing that happens to it, makes the server hang,
//! die, or take memory without bound.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp::Revision;
use serde_json::json;

use super::attacks::looks;
use super::{Set, call, connect, connect_writing, directory, fifos, refusal, text};
use crate::backend::{Access, Backend, Lines, ReadText};

/// Highest use of memory of this process so far, in MiB: nextest gives each test its own.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn a_line_of_a_gigabyte_is_read_in_parts_and_fills_no_memory() {
    let dir = directory();
    let path = dir.path().join("inside/folder/long");
    let mut file = File::create(&path).unwrap();
    file.write_all("x".repeat(1024 * 1024).as_bytes()).unwrap();
    // The rest is a hole, which takes no space and reads as zeros: still the same line.
    file.set_len(1_000_000_000).unwrap();
    let client = connect_writing(dir.path()).await;
    let before = peak_mib();
    let part = text(&client, "read_text_file", json!({"path": "folder/long"})).await;
    assert_eq!(part, "x".repeat(256 * 1024));
    let next = json!({"path": "folder/long", "startByte": 512 * 1024, "head": 1});
    assert_eq!(text(&client, "read_text_file", next).await.len(), 256 * 1024);
    let edits = json!([{"oldText": "x", "newText": "y"}]);
    for (tool, arguments, why) in [
        ("read_text_file", json!({"path": "folder/long", "tail": 1}), "not text"),
        ("read_text_file", json!({"path": "folder/long", "startByte": 999_999_000}), "not text"),
        ("edit_file", json!({"path": "folder/long", "edits": edits}), "longer than"),
        ("apply_changes", json!({"changes": [{"path": "folder/long", "delete": true}]}), "longer"),
    ] {
        let said = refusal(&client, tool, arguments.clone()).await;
        assert!(said.contains(why), "{tool} {arguments}: {said}");
    }
    let after = json!({"path": "folder/long", "startLine": 2});
    assert_eq!(text(&client, "read_text_file", after).await, "");
    let found = json!({"path": "folder", "query": "b"});
    let found = text(&client, "search_content", found).await;
    assert!(found.contains("b.txt\n1:b\n"), "{found}");
    let media = call(&client, "read_media_file", json!({"path": "folder/long"})).await;
    assert_eq!(media.content[0]["type"], "resource_link");
    assert_eq!(media.content[0]["size"], 1_000_000_000);
    let uri = format!("file://{}", path.display());
    assert!(client.read_resource(&uri).await.is_err());
    let grown = peak_mib() - before;
    assert!(grown < 64, "{grown} MiB more");
}

#[tokio::test]
async fn a_directory_of_fifty_thousand_is_shown_in_parts() {
    let dir = directory();
    let many = dir.path().join("inside/many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..50_000 {
        File::create(many.join(format!("{number:05}"))).unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let listed = text(&client, "list_directory", json!({"path": "many"})).await;
    assert_eq!(listed.lines().count(), 1001);
    assert!(listed.ends_with("[50000 entries in all; go on with skip: 1000]\n"), "{listed}");
    let last = json!({"path": "many", "skip": 49_999, "sortBy": "size"});
    assert_eq!(text(&client, "list_directory", last).await, "[FILE] 49999\n");
    let tree = text(&client, "directory_tree", json!({"path": "many"})).await;
    assert!(tree.ends_with("[49500 more]\n") && tree.lines().count() == 501, "{tree}");
    let found = json!({"path": "many", "pattern": "*"});
    let found = text(&client, "search_files", found).await;
    assert!(found.contains("[50000 found; 1000 shown, go on with cursor: "), "{found}");
    let searched = text(&client, "search_content", json!({"path": "many", "query": "x"})).await;
    assert_eq!(searched, "[0 lines in 0 files]");
    let uri = format!("file://{}", many.display());
    let contents = client.read_resource(&uri).await.unwrap();
    assert!(contents[0]["text"].as_str().unwrap().ends_with("[50000 entries in all]\n"));
}

#[test]
fn a_file_may_shrink_grow_and_be_replaced_while_it_is_read() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let wholes = ["a".repeat(200_000), "b".repeat(100_000)];
    std::fs::write(inside.join("sized"), &wholes[0]).unwrap();
    std::fs::write(inside.join("replaced"), &wholes[0]).unwrap();
    let backend = Backend::open(&[(inside.clone(), Access::ReadOnly)], &[]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut sized = OpenOptions::new().append(true).open(inside.join("sized")).unwrap();
            while !done.load(Ordering::Relaxed) {
                for contents in wholes.iter().rev() {
                    sized.set_len(10).unwrap();
                    std::fs::write(inside.join("next"), contents).unwrap();
                    std::fs::rename(inside.join("next"), inside.join("replaced")).unwrap();
                    sized.write_all("a".repeat(199_990).as_bytes()).unwrap();
                }
            }
        });
        let _set_at_the_end = Set(&done);
        for lines in [Lines::From { start_byte: 0, first: 1, count: 9 }, Lines::Last(1)] {
            for _ in 0..2_000 {
                let (max_bytes, encoding) = (262_144, None);
                let path = "replaced".to_owned();
                let whole = ReadText { path, lines, max_bytes, encoding: None };
                assert!(wholes.contains(&backend.read(&whole).unwrap().text));
                let part = ReadText { path: "sized".to_owned(), lines, max_bytes, encoding };
                let part = backend.read(&part).unwrap().text;
                assert!(part.len() <= 200_000 && part.bytes().all(|byte| byte == b'a'));
                backend.read_whole("sized", 1_000_000).unwrap();
            }
        }
    });
}

#[tokio::test]
async fn the_served_directory_may_go_while_the_server_runs() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    std::fs::remove_dir_all(&inside).unwrap();
    for is_made_anew in [false, true] {
        if is_made_anew {
            // Another directory of the same name is not the one that is served.
            std::fs::create_dir(&inside).unwrap();
            std::fs::write(inside.join("lines.txt"), "new").unwrap();
        }
        for path in ["lines.txt", "."] {
            for (tool, arguments) in looks(path) {
                let said = refusal(&client, tool, arguments).await;
                assert!(!said.contains(dir.path().to_str().unwrap()), "{tool} {path}: {said}");
            }
        }
        let write = json!({"path": "new", "content": "x"});
        refusal(&client, "write_file", write).await;
        refusal(&client, "create_directory", json!({"path": "a/b"})).await;
        let served = call(&client, "list_allowed_directories", json!({})).await;
        assert_eq!(served.structured["directories"][0]["path"], inside.to_str().unwrap());
        let uri = format!("file://{}/lines.txt", inside.display());
        assert!(client.read_resource(&uri).await.is_err());
    }
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_hundred_fifos_hold_nobody_up() {
    let dir = directory();
    let pipes = dir.path().join("inside/pipes");
    std::fs::create_dir(&pipes).unwrap();
    fifos((0..100).map(|number| pipes.join(number.to_string())));
    let client = connect_writing(dir.path()).await;
    let read = |number: i32, tool: &str| {
        let call = json!({"name": tool, "arguments": {"path": format!("pipes/{number}")}});
        client.start("tools/call", call)
    };
    let mut reads = Vec::new();
    for number in 0..100 {
        reads.push(read(number, "read_text_file"));
        reads.push(read(number, "read_media_file"));
    }
    for read in reads {
        let answer = read.answer().await.unwrap();
        let said = answer["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("not a regular file"), "{said}");
    }
    let searched = text(&client, "search_content", json!({"path": ".", "query": "l2"})).await;
    assert!(searched.starts_with("lines.txt\n2:l2\n"), "{searched}");
    let paths: Vec<String> = (0..100).map(|number| format!("pipes/{number}")).collect();
    let answer = call(&client, "read_multiple_files", json!({"paths": paths})).await;
    assert_eq!(answer.content.len(), 100);
    let tree = text(&client, "directory_tree", json!({"path": "pipes"})).await;
    assert_eq!(tree.matches("[neither file nor directory]").count(), 100);
}

#[tokio::test]
async fn a_link_to_what_it_is_in_is_not_followed() {
    let dir = directory();
    let folder = dir.path().join("inside/folder");
    for name in ["loop", "again"] {
        symlink("..", folder.join(name)).unwrap();
    }
    symlink("again/folder/loop/folder", folder.join("through")).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let tree = text(&client, "directory_tree", json!({"path": "folder", "maxDepth": 100})).await;
    assert_eq!(tree, "again [link]\nb.txt\nlink-round [link]\nloop [link]\nthrough [link]\n");
    let found = json!({"path": "folder", "pattern": "b.txt"});
    assert_eq!(text(&client, "search_files", found).await, "folder/b.txt\n[1 found]");
    let found = json!({"path": "folder", "query": "b"});
    let found = text(&client, "search_content", found).await;
    assert_eq!(found, "folder/b.txt\n1:b\n[1 lines in 1 files]");
    let read = json!({"path": "folder/loop/folder/again/folder/through/b.txt"});
    assert_eq!(text(&client, "read_text_file", read).await, "b");
    let deep = format!("{}b.txt", "loop/folder/".repeat(300));
    refusal(&client, "read_text_file", json!({"path": format!("folder/{deep}")})).await;
}

#[tokio::test]
async fn a_million_million_lines_may_be_asked_for() {
    const MANY: u64 = 1_000_000_000_000;
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (arguments, right) in [
        (json!({"path": "lines.txt", "head": MANY}), "l1\nl2\nl3\n"),
        (json!({"path": "lines.txt", "tail": MANY}), "l1\nl2\nl3\n"),
        (json!({"path": "lines.txt", "tail": u64::MAX}), "l1\nl2\nl3\n"),
        (json!({"path": "lines.txt", "head": u64::MAX, "startLine": 2}), "l2\nl3\n"),
        (json!({"path": "lines.txt", "startLine": MANY}), ""),
        (json!({"path": "lines.txt", "startLine": u64::MAX, "lineNumbers": true}), ""),
        (json!({"path": "lines.txt", "startByte": MANY}), ""),
        (json!({"path": "lines.txt", "startByte": u64::MAX}), ""),
    ] {
        let found = text(&client, "read_text_file", arguments.clone()).await;
        assert_eq!(found, right, "{arguments}");
    }
    let many = json!({"paths": ["lines.txt"], "head": MANY});
    assert!(text(&client, "read_multiple_files", many).await.ends_with("l3\n"));
    let skipped = json!({"path": ".", "skip": u64::MAX});
    assert!(text(&client, "list_directory", skipped).await.ends_with("entries in all]"));
    // What no answer could hold is refused before anything is done.
    for (tool, arguments) in [
        ("list_directory", json!({"path": ".", "maxEntries": MANY})),
        ("directory_tree", json!({"path": ".", "maxDepth": MANY})),
        ("search_files", json!({"path": ".", "pattern": "*", "maxResults": MANY})),
        ("search_content", json!({"path": ".", "query": "x", "contextLines": MANY})),
    ] {
        let answer = client.call_tool(tool, arguments).await;
        assert!(answer.is_err() || answer.is_ok_and(|answer| answer.is_error), "{tool}");
    }
}

#[tokio::test]
async fn names_that_are_not_utf_8_can_be_sent_back() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    for (name, spelled) in [
        (&b"\xff\xfe.txt"[..], "\\xff\\xfe.txt"),
        (b"two\nlines", "two\\x0alines"),
        (b"\xe2\x80\xaegnp.exe", "\\xe2\\x80\\xaegnp.exe"),
        (b"caf\xe9", "caf\\xe9"),
        (b"a\\b", "a\\b"),
        (b"\\xff", "\\x5cxff"),
        (b"\xc3\xa4", "\u{e4}"),
    ] {
        let dir_path = inside.join("names");
        std::fs::create_dir(&dir_path).unwrap();
        let file = dir_path.join(OsStr::from_bytes(name));
        std::fs::write(&file, "found\n").unwrap();
        let path = format!("names/{spelled}");
        let listed = text(&client, "list_directory", json!({"path": "names"})).await;
        assert_eq!(listed, format!("[FILE] {spelled}\n"));
        let tree = text(&client, "directory_tree", json!({"path": "names"})).await;
        assert_eq!(tree, format!("{spelled}\n"));
        let found = text(&client, "search_files", json!({"path": "names", "pattern": "*"})).await;
        assert_eq!(found, format!("{path}\n[1 found]"));
        let found = json!({"path": "names", "query": "found"});
        let found = text(&client, "search_content", found).await;
        assert!(found.starts_with(&format!("{path}\n1:found\n")), "{found}");
        assert_eq!(text(&client, "read_text_file", json!({"path": &path})).await, "found\n");
        let edits = json!([{"oldText": "found", "newText": "changed"}]);
        text(&client, "edit_file", json!({"path": &path, "edits": edits})).await;
        assert_eq!(std::fs::read(&file).unwrap(), b"changed\n");
        let copied = json!({"source": &path, "destination": format!("names/{spelled}2")});
        assert!(!call(&client, "copy_file", copied).await.is_error);
        let typed = format!("{}/names/", inside.to_str().unwrap().trim_start_matches('/'));
        let completion = json!({
            "ref": {"type": "ref/resource", "uri": "file:///{+path}"},
            "argument": {"name": "path", "value": typed},
        });
        let completed = client.request("completion/complete", completion).await.unwrap();
        let completed = completed["completion"]["values"].to_string();
        assert!(completed.contains(&json!(spelled).to_string().trim_matches('"').to_owned()));
        let deleted = json!({"path": "names", "recursive": true});
        assert_eq!(call(&client, "delete", deleted).await.structured["deleted"], 3);
    }
}
