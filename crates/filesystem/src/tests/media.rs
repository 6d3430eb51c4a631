//! Several files at once, and files that are not text.

use mcp::Revision;
use serde_json::{Value, json};

use super::{call, connect, directory, etag, refusal};

#[tokio::test]
async fn one_that_cannot_be_read_does_not_stop_the_others() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let paths = json!(["lines.txt", "missing", "binary", ".env", "fifo", "folder/b.txt"]);
    let answer = call(&client, "read_multiple_files", json!({"paths": paths, "head": 2})).await;
    assert!(!answer.is_error);
    let etag = etag(&client, "lines.txt").await;
    let first = format!("lines.txt [etag {etag}; UTF-8; 9 bytes in all]\nl1\nl2\n");
    assert_eq!(answer.content[0]["text"], first);
    for (index, right) in [
        (1, "missing [error: \"missing\" was not found"),
        (2, "binary [error: \"binary\" is not text"),
        (3, ".env [error: \".env\" is kept from you"),
        (4, "fifo [error: \"fifo\" is not a regular file"),
        (5, "folder/b.txt [etag "),
    ] {
        let block = answer.content[index]["text"].as_str().unwrap();
        assert!(block.starts_with(right), "{block}");
    }
    for wrong in [json!([]), Value::Null] {
        assert!(call(&client, "read_multiple_files", json!({"paths": wrong})).await.is_error);
    }
}

#[tokio::test]
async fn several_files_share_one_budget() {
    let dir = directory();
    for number in 0..4 {
        let text = format!("{number}\n").repeat(60_000);
        std::fs::write(dir.path().join(format!("inside/big{number}")), text).unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let paths = json!(["big0", "big1", "big2", "big3"]);
    let answer = call(&client, "read_multiple_files", json!({"paths": paths})).await;
    assert!(answer.text().len() < 257 * 1024 + 200);
    let block = |index: usize| answer.content[index]["text"].as_str().unwrap();
    assert!(block(2).contains("; cut, go on with startByte: "), "{}", &block(2)[..100]);
    assert_eq!(block(3), "big3 [not read: the answer is full]");
}

#[tokio::test]
async fn the_kind_of_a_file_is_told_from_its_bytes() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for (name, bytes) in [
        ("image.txt", &png[..]),
        ("sound", b"ID3\x04\0\0\0\0\0\0"),
        ("paper.png", b"%PDF-1.7\n"),
        ("noise", b"\x01\x02\xff\xfe"),
    ] {
        std::fs::write(inside.join(name), bytes).unwrap();
    }
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (path, kind, mime_type) in [
        ("image.txt", "image", "image/png"),
        ("sound", "audio", "audio/mpeg"),
        ("paper.png", "resource", "application/pdf"),
        ("noise", "resource", "application/octet-stream"),
        ("lines.txt", "resource", "text/plain"),
    ] {
        let answer = call(&client, "read_media_file", json!({"path": path})).await;
        let block = &answer.content[0];
        assert_eq!(block["type"], kind, "{path}");
        let holder = if kind == "resource" { &block["resource"] } else { block };
        assert_eq!(holder["mimeType"], mime_type, "{path}");
        let note = answer.content[1]["text"].as_str().unwrap();
        assert!(note.contains(&etag(&client, path).await), "{note}");
    }
    let picture = call(&client, "read_media_file", json!({"path": "image.txt"})).await;
    assert_eq!(picture.content[0]["data"], "iVBORw0KGgoAAAANSUhEUg==");
    let said = refusal(&client, "read_media_file", json!({"path": "folder"})).await;
    assert!(said.contains("not a regular file"), "{said}");
}

#[tokio::test]
async fn what_is_too_long_to_inline_is_a_link() {
    let dir = directory();
    let file = std::fs::File::create(dir.path().join("inside/long file")).unwrap();
    file.set_len(5_000_000).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let answer = call(&client, "read_media_file", json!({"path": "long file"})).await;
    let link = &answer.content[0];
    assert_eq!((&link["type"], &link["size"]), (&json!("resource_link"), &json!(5_000_000)));
    let uri = link["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/inside/long%20file"), "{uri}");
    let contents = client.read_resource(uri).await.unwrap();
    assert_eq!(contents[0]["blob"].as_str().unwrap().len(), 5_000_000_usize.div_ceil(3) * 4);
}
