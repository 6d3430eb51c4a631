//! Directories, moving, copying, deleting.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use super::{call, connect_writing, directory, refusal};

#[tokio::test]
async fn directories_are_made_with_those_they_are_in() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let client = connect_writing(dir.path()).await;
    for (path, created) in
        [("a/b/c", true), ("a/b/c", false), ("folder/", false), ("link-absolute-inside/x", true)]
    {
        let answer = call(&client, "create_directory", json!({"path": path})).await;
        assert_eq!(answer.structured["created"], created, "{path}: {}", answer.text());
    }
    assert!(inside.join("a/b/c").is_dir() && inside.join("folder/x").is_dir());
    for (path, why) in [
        ("lines.txt", "exists already"),
        ("lines.txt/x", "not a directory"),
        ("link-dangling", "not a directory"),
        ("a/.env/x", "kept from you"),
    ] {
        let said = refusal(&client, "create_directory", json!({"path": path})).await;
        assert!(said.contains(why), "{path}: {said}");
    }
}

#[tokio::test]
async fn moving_never_overwrites_unless_told() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("keep"), "KEEP").unwrap();
    std::fs::create_dir_all(inside.join("full/below")).unwrap();
    let client = connect_writing(dir.path()).await;
    for (source, destination, why) in [
        ("lines.txt", "keep", "exists already"),
        ("lines.txt", "folder", "exists already"),
        ("lines.txt", "link-dangling", "exists already"),
        ("lines.txt", "no/where", "create_directory"),
        ("missing", "x", "was not found"),
        ("full", "full/below/x", "into itself"),
        (".", "x", "not a regular file"),
    ] {
        let arguments = json!({"source": source, "destination": destination});
        let said = refusal(&client, "move_file", arguments).await;
        assert!(said.contains(why), "{source} {destination}: {said}");
    }
    assert_eq!(std::fs::read(inside.join("keep")).unwrap(), b"KEEP");
    call(&client, "move_file", json!({"source": "keep", "destination": "folder/kept"})).await;
    assert_eq!(std::fs::read(inside.join("folder/kept")).unwrap(), b"KEEP");
    call(&client, "move_file", json!({"source": "full", "destination": "fuller"})).await;
    assert!(inside.join("fuller/below").is_dir());
    let over = json!({"source": "folder/kept", "destination": "lines.txt", "overwrite": true});
    call(&client, "move_file", over).await;
    assert_eq!(std::fs::read(inside.join("lines.txt")).unwrap(), b"KEEP");
    call(&client, "move_file", json!({"source": "link-inside", "destination": "link-moved"})).await;
    assert!(inside.join("link-moved").is_symlink());
}

#[tokio::test]
async fn what_is_kept_from_sight_stays_where_it_is() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("project/deep")).unwrap();
    std::fs::write(inside.join("project/deep/.env"), "secret").unwrap();
    let client = connect_writing(dir.path()).await;
    let away = json!({"source": "project", "destination": "elsewhere"});
    assert!(refusal(&client, "move_file", away).await.contains("kept from you"));
    let gone = json!({"path": "project", "recursive": true});
    assert!(refusal(&client, "delete", gone).await.contains("kept from you"));
    assert!(inside.join("project/deep/.env").is_file());
}

#[tokio::test]
async fn copies_keep_permissions() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::set_permissions(inside.join("lines.txt"), PermissionsExt::from_mode(0o700)).unwrap();
    let client = connect_writing(dir.path()).await;
    let copy = json!({"source": "lines.txt", "destination": "folder/copy"});
    let answer = call(&client, "copy_file", copy.clone()).await;
    assert_eq!(answer.structured["bytes"], 9, "{}", answer.text());
    let made = inside.join("folder/copy");
    assert_eq!(std::fs::read(&made).unwrap(), b"l1\nl2\nl3\n");
    assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o700);
    assert!(refusal(&client, "copy_file", copy).await.contains("exists already"));
    let over = json!({"source": "umlaut.txt", "destination": "folder/copy", "overwrite": true});
    call(&client, "copy_file", over).await;
    assert_eq!(std::fs::read(&made).unwrap(), "\u{fc}\r\nend".as_bytes());
    let directory = json!({"source": "folder", "destination": "folder2"});
    assert!(refusal(&client, "copy_file", directory).await.contains("not a regular file"));
}

#[tokio::test]
async fn deleting_a_directory_with_something_in_it_must_be_said() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("full/below")).unwrap();
    std::os::unix::fs::symlink("../../..", inside.join("full/below/up")).unwrap();
    std::fs::write(inside.join("full/file"), "").unwrap();
    let client = connect_writing(dir.path()).await;
    assert!(refusal(&client, "delete", json!({"path": "full"})).await.contains("recursive"));
    let answer = call(&client, "delete", json!({"path": "full", "recursive": true})).await;
    assert_eq!(answer.structured["deleted"], 4, "{}", answer.text());
    assert!(!inside.join("full").exists() && dir.path().join("secret.txt").is_file());
    call(&client, "delete", json!({"path": "lines.txt"})).await;
    assert!(!inside.join("lines.txt").exists());
    assert!(refusal(&client, "delete", json!({"path": "lines.txt"})).await.contains("not found"));
}

/// The kernel says of two names of one file that it was moved, and leaves both.
#[tokio::test]
async fn a_file_can_be_moved_over_another_name_of_its_own() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::hard_link(inside.join("lines.txt"), inside.join("other")).unwrap();
    let client = connect_writing(dir.path()).await;
    let over = json!({"source": "lines.txt", "destination": "other", "overwrite": true});
    assert!(!call(&client, "move_file", over).await.is_error);
    assert!(!inside.join("lines.txt").exists());
    let to_itself = json!({"source": "other", "destination": "./other", "overwrite": true});
    call(&client, "move_file", to_itself).await;
    assert_eq!(std::fs::read(inside.join("other")).unwrap(), b"l1\nl2\nl3\n");
}
