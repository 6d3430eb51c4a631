//! What is listed and described, and what is not.

use mcp::Revision;
use serde_json::json;

use super::{call, connect, directory, text};

#[tokio::test]
async fn lists_without_the_denied_and_without_following() {
    let dir = directory();
    std::fs::write(dir.path().join("inside/folder/two\nlines"), "").unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let listed = |arguments| async { call(&client, "list_directory", arguments).await.text() };
    let all = listed(json!({"path": "."})).await;
    assert!(all.contains("[DIR] folder\n") && all.contains("[LINK] link-up\n"), "{all}");
    assert!(all.contains("[OTHER] fifo\n"), "{all}");
    assert!(!all.contains(".env") && !all.contains("[DIR] keys"), "{all}");
    let folder = listed(json!({"path": "folder"})).await;
    assert_eq!(folder, "[FILE] b.txt\n[LINK] link-round\n[FILE] two\\x0alines\n");
    let page = listed(json!({"path": "folder", "maxEntries": 1})).await;
    assert_eq!(page, "[FILE] b.txt\n[3 entries in all; go on with skip: 1]\n");
    let answer = call(&client, "list_directory", json!({"path": "lines.txt"})).await;
    assert!(answer.is_error && answer.text().contains("not a directory"));
}

#[tokio::test]
async fn describes_and_names_what_is_served() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let info = call(&client, "get_file_info", json!({"path": "lines.txt"})).await;
    assert_eq!(info.structured["size_bytes"], 9);
    assert_eq!(info.structured["kind"], "file");
    for special in ["fifo", "socket"] {
        let answer = call(&client, "get_file_info", json!({"path": special})).await;
        assert!(answer.is_error && answer.text().contains("not a regular file"));
    }
    let served = call(&client, "list_allowed_directories", json!({})).await;
    assert_eq!(
        served.structured["directories"],
        json!([{"path": dir.path().join("inside"), "writable": false}])
    );
    for wrong in [json!({"path": "lines.txt", "head": 0}), json!({"path": "lines.txt", "bogus": 1})]
    {
        assert!(call(&client, "read_text_file", wrong).await.is_error);
    }
}

#[tokio::test]
async fn a_name_that_is_listed_can_be_sent_back() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = directory();
    let folder = dir.path().join("inside/names");
    std::fs::create_dir(&folder).unwrap();
    let names: [&[u8]; 6] = [
        b"bad\xff.txt",
        b"new\nline",
        b"literal\\x41",
        b"back\\slash",
        "turn\u{202e}ed".as_bytes(),
        "plain \u{e4}".as_bytes(),
    ];
    for name in names {
        std::fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let listed = text(&client, "list_directory", json!({"path": "names"})).await;
    let mut found = Vec::new();
    for name in listed.lines().map(|line| line.strip_prefix("[FILE] ").unwrap()) {
        let path = format!("names/{name}");
        let info = call(&client, "get_file_info", json!({"path": path})).await;
        found.push(info.structured["size_bytes"].as_u64().unwrap());
    }
    found.sort_unstable();
    let mut right = names.map(|name| name.len() as u64);
    right.sort_unstable();
    assert_eq!(found, right, "{listed}");
}

#[tokio::test]
async fn lists_are_sorted_with_details_and_in_pages() {
    let dir = directory();
    let folder = dir.path().join("inside/sorted");
    std::fs::create_dir(&folder).unwrap();
    for (name, size, modified) in [("a", 5, 300), ("b", 70, 100), ("c", 6, 200)] {
        let file = std::fs::File::create(folder.join(name)).unwrap();
        file.set_len(size).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(modified);
        file.set_modified(at).unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (arguments, right) in [
        (json!({}), "[FILE] a\n[FILE] b\n[FILE] c\n"),
        (json!({"sortBy": "size"}), "[FILE] b\n[FILE] c\n[FILE] a\n"),
        (json!({"sortBy": "modified"}), "[FILE] a\n[FILE] c\n[FILE] b\n"),
        (
            json!({"sortBy": "size", "details": true, "maxEntries": 2}),
            "[FILE] b\t70\t100\n[FILE] c\t6\t200\n[3 entries in all; go on with skip: 2]\n",
        ),
        (json!({"details": true, "skip": 2}), "[FILE] c\t6\t200\n"),
        (json!({"skip": 9}), "[3 entries in all]"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("sorted");
        assert_eq!(text(&client, "list_directory", arguments.clone()).await, right, "{arguments}");
    }
}

#[tokio::test]
async fn a_long_list_is_cut_and_gone_on_with() {
    let dir = directory();
    let folder = dir.path().join("inside/long");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..3000 {
        std::fs::write(folder.join(format!("{number:0>200}")), "").unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let mut skip = 0;
    let mut listed = 0;
    loop {
        let arguments = json!({"path": "long", "skip": skip, "maxEntries": 20000});
        let page = text(&client, "list_directory", arguments).await;
        assert!(page.len() < 263_000, "{}", page.len());
        listed += page.lines().filter(|line| line.starts_with("[FILE]")).count();
        let Some((_, next)) = page.rsplit_once("skip: ") else {
            break;
        };
        skip = next.trim_end().trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(listed, 3000);
}
