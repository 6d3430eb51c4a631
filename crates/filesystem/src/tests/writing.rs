//! write_file: in one step, with all that belongs to the file kept.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use mcp::Revision;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::json;

use super::{
    Set, call, connect, connect_with, connect_writing, directory, etag, refusal, text, tool_names,
};
use crate::backend::{Access, Backend, Content, WriteFile};
use crate::config::Config;

#[tokio::test]
async fn tools_that_write_are_not_there_unless_allowed() {
    let dir = directory();
    let inside = dir.path().join("inside").to_str().unwrap().to_owned();
    let with = |rw, allow_delete, suffix: &str| Config {
        dirs: vec![format!("{inside}{suffix}")],
        rw,
        allow_delete,
        ..Config::default()
    };
    for (config, writes, deletes) in [
        (with(false, false, ""), false, false),
        (with(false, true, ""), false, false),
        (with(true, false, ""), true, false),
        (with(true, true, ""), true, true),
        (with(true, true, ":ro"), false, false),
        (with(false, false, ":rw"), true, false),
    ] {
        let said = format!("{config:?}");
        let client = connect_with(dir.path(), Revision::V2025_11_25, config).await;
        let names = tool_names(&client).await;
        for tool in ["write_file", "edit_file", "create_directory", "move_file", "copy_file"] {
            assert_eq!(names.iter().any(|name| name == tool), writes, "{tool} {said}");
        }
        assert_eq!(names.iter().any(|name| name == "delete"), deletes, "{said}");
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let write = json!({"path": "new", "content": "x"});
    assert!(client.call_tool("write_file", write).await.is_err());
}

#[tokio::test]
async fn each_directory_is_read_only_or_not_and_the_innermost_decides() {
    let dir = directory();
    let inside = dir.path().join("inside").to_str().unwrap().to_owned();
    let folder = format!("{inside}/folder");
    for (dirs, outer, inner) in [
        ([format!("{inside}:ro"), format!("{folder}:rw")], false, true),
        ([format!("{inside}:rw"), format!("{folder}:ro")], true, false),
        ([format!("{folder}:ro"), inside.clone()], true, false),
    ] {
        let said = format!("{dirs:?}");
        let config = Config { dirs: dirs.to_vec(), rw: true, ..Config::default() };
        let client = connect_with(dir.path(), Revision::V2025_11_25, config).await;
        for (path, may) in [
            (format!("{inside}/lines.txt"), outer),
            (format!("{folder}/b.txt"), inner),
            (format!("{folder}/new-{}", said.len()), inner),
            ("folder/b.txt".to_owned(), inner),
            ("link-inside".to_owned(), inner),
        ] {
            let answer = call(&client, "write_file", json!({"path": path, "content": "x"})).await;
            assert_eq!(!answer.is_error, may, "{said} {path}: {}", answer.text());
            assert!(may || answer.text().contains("read-only"), "{}", answer.text());
        }
        let move_it = json!({"source": "folder", "destination": "elsewhere"});
        assert!(refusal(&client, "move_file", move_it).await.contains("served"));
    }
}

#[tokio::test]
async fn writes_new_and_old_files() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    let written = call(&client, "write_file", json!({"path": "new", "content": "a\r\n"})).await;
    assert_eq!(written.structured["created"], true);
    assert_eq!(written.structured["bytes"], 3);
    assert_eq!(written.structured["etag"], etag(&client, "new").await);
    assert_eq!(std::fs::read(inside.join("new")).unwrap(), b"a\r\n");
    let base64 = json!({"path": "new", "contentBase64": "/wA="});
    let written = call(&client, "write_file", base64).await;
    assert_eq!(written.structured["created"], false);
    assert_eq!(std::fs::read(inside.join("new")).unwrap(), b"\xff\0");
    for (arguments, why) in [
        (json!({"path": "new", "content": "x", "createOnly": true}), "exists already"),
        (json!({"path": "no/where", "content": "x"}), "create_directory"),
        (json!({"path": "folder", "content": "x"}), "not a regular file"),
        (json!({"path": "file/", "content": "x"}), "not a regular file"),
        (json!({"path": "new"}), "one of them"),
        (json!({"path": "new", "content": "x", "contentBase64": ""}), "one of them"),
        (json!({"path": "new", "contentBase64": "!"}), "contentBase64"),
    ] {
        let said = refusal(&client, "write_file", arguments.clone()).await;
        assert!(said.contains(why), "{arguments}: {said}");
    }
    let left: Vec<_> =
        std::fs::read_dir(&inside).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[tokio::test]
async fn what_somebody_else_wrote_is_not_overwritten() {
    let dir = directory();
    let file = dir.path().join("inside/lines.txt");
    let client = connect_writing(dir.path()).await;
    let seen = etag(&client, "lines.txt").await;
    let write = |etag: &str| json!({"path": "lines.txt", "content": "mine", "ifMatch": etag});
    let edit = |etag: &str| {
        let edits = json!([{"oldText": "l2", "newText": "L2"}]);
        json!({"path": "lines.txt", "edits": edits, "ifMatch": etag})
    };
    std::fs::write(&file, "l1\nl2\nL3\n").unwrap();
    for (tool, arguments) in [("write_file", write(&seen)), ("edit_file", edit(&seen))] {
        assert!(refusal(&client, tool, arguments).await.contains("has changed"), "{tool}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"l1\nl2\nL3\n");
    let seen = etag(&client, "lines.txt").await;
    let answer = call(&client, "edit_file", edit(&seen)).await;
    let note = answer.content[1]["text"].as_str().unwrap();
    let seen = note.trim_start_matches("[etag ").trim_end_matches(']');
    assert_eq!(call(&client, "write_file", write(seen)).await.structured["bytes"], 4);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    let missing = json!({"path": "missing", "content": "x", "ifMatch": seen});
    assert!(refusal(&client, "write_file", missing).await.contains("not found"));
}

#[tokio::test]
async fn mode_attributes_marks_and_links_are_kept() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let script = inside.join("script");
    std::fs::write(&script, "\u{feff}old").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o4750)).unwrap();
    let has_attributes = setxattr(&script, "user.note", b"kept", XattrFlags::empty()).is_ok();
    std::fs::write(inside.join("wide"), b"\xff\xfea\0").unwrap();
    std::fs::hard_link(inside.join("lines.txt"), inside.join("other-name")).unwrap();
    let client = connect_writing(dir.path()).await;
    for path in ["script", "wide", "other-name", "link-inside"] {
        call(&client, "write_file", json!({"path": path, "content": "n\u{e4}"})).await;
    }
    assert_eq!(std::fs::read(&script).unwrap(), "\u{feff}n\u{e4}".as_bytes());
    assert_eq!(script.metadata().unwrap().mode() & 0o7777, 0o4750);
    if has_attributes {
        let mut value = [0; 4];
        assert_eq!(getxattr(&script, "user.note", &mut value[..]), Ok(4));
        assert_eq!(&value, b"kept");
    }
    assert_eq!(std::fs::read(inside.join("wide")).unwrap(), b"\xff\xfen\0\xe4\0");
    call(&client, "write_file", json!({"path": "wide", "content": "\u{feff}n"})).await;
    assert_eq!(std::fs::read(inside.join("wide")).unwrap(), b"\xff\xfen\0");
    assert_eq!(std::fs::read(inside.join("lines.txt")).unwrap(), "n\u{e4}".as_bytes());
    assert!(inside.join("link-inside").is_symlink());
    assert_eq!(std::fs::read(inside.join("folder/b.txt")).unwrap(), "n\u{e4}".as_bytes());
    assert_eq!(text(&client, "read_text_file", json!({"path": "script"})).await, "n\u{e4}");
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let backend = Backend::open(&[(inside.clone(), Access::ReadWrite)], &[]).unwrap();
    let versions = ["a".repeat(300_000), "b".repeat(200_000)];
    std::fs::write(inside.join("file"), &versions[0]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _set_at_the_end = Set(&done);
            for round in 0..40 {
                let content = Content::Text(versions[round % 2].clone());
                let path = "file".to_owned();
                let request = WriteFile { path, content, create_only: false, if_match: None };
                backend.write(&request).unwrap();
            }
        });
        while !done.load(Ordering::Relaxed) {
            let seen = std::fs::read_to_string(inside.join("file")).unwrap();
            assert!(versions.contains(&seen), "{} bytes", seen.len());
        }
    });
}

/// Two servers share no lock: only the kernel can say who was first.
#[test]
fn of_two_servers_that_create_a_file_one_wins() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let servers = ["one", "two"]
        .map(|name| (name, Backend::open(&[(inside.clone(), Access::ReadWrite)], &[]).unwrap()));
    let together = std::sync::Barrier::new(servers.len());
    for round in 0..100 {
        let create = |(name, server): &(&str, Backend)| {
            let (path, content) = (format!("new {round}"), Content::Text((*name).to_owned()));
            together.wait();
            let request = WriteFile { path, content, create_only: true, if_match: None };
            server.write(&request).is_ok().then(|| (*name).to_owned())
        };
        let winners: Vec<String> = std::thread::scope(|scope| {
            let threads = servers.each_ref().map(|server| scope.spawn(|| create(server)));
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        let content = std::fs::read_to_string(inside.join(format!("new {round}"))).unwrap();
        assert_eq!(winners, [content]);
    }
}

#[tokio::test]
async fn of_many_that_create_one_wins() {
    let dir = directory();
    let client = connect_writing(dir.path()).await;
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let arguments =
                json!({"path": "one", "content": format!("{number}"), "createOnly": true});
            client.start("tools/call", json!({"name": "write_file", "arguments": arguments}))
        })
        .collect();
    let mut winners = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        if call.answer().await.unwrap().get("isError").is_none_or(|error| error == false) {
            winners.push(number.to_string());
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(std::fs::read_to_string(dir.path().join("inside/one")).unwrap(), winners[0]);
}
