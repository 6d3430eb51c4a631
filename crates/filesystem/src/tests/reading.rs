//! What reading gives, and how it is cut.

use mcp::Revision;
use serde_json::json;

use super::{call, connect, directory, etag, refusal, text};

#[tokio::test]
async fn reads_what_is_inside_in_every_revision() {
    let dir = directory();
    let absolute = dir.path().join("inside/lines.txt");
    for revision in Revision::ALL {
        let client = connect(dir.path(), revision).await;
        for (arguments, right) in [
            (json!({"path": "lines.txt"}), "l1\nl2\nl3\n"),
            (json!({"path": &absolute}), "l1\nl2\nl3\n"),
            (json!({"path": "./folder/../lines.txt", "head": 1}), "l1\n"),
            (json!({"path": "lines.txt", "head": 1_000_000_000_000u64}), "l1\nl2\nl3\n"),
            (json!({"path": "lines.txt", "startLine": 2, "head": 1}), "l2\n"),
            (json!({"path": "lines.txt", "tail": 1}), "l3\n"),
            (json!({"path": "umlaut.txt", "tail": 1}), "end"),
            (json!({"path": "umlaut.txt"}), "\u{fc}\r\nend"),
            (json!({"path": "link-inside"}), "b"),
        ] {
            let answer = call(&client, "read_text_file", arguments.clone()).await;
            assert_eq!(answer.content[0]["text"], right, "{revision} {arguments}");
            assert!(!answer.is_error);
        }
    }
}

#[tokio::test]
async fn a_long_line_is_cut_between_characters() {
    let dir = directory();
    let long = "\u{20ac}".repeat(200_000);
    std::fs::write(dir.path().join("inside/long"), &long).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for arguments in [json!({"path": "long"}), json!({"path": "long", "tail": 1})] {
        let answer = call(&client, "read_text_file", arguments).await;
        let text = answer.content[0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 262_143);
        assert!(long.starts_with(text));
        assert!(answer.content[1]["text"].as_str().unwrap().contains("; cut, "));
    }
}

#[tokio::test]
async fn a_cut_text_is_gone_on_with_to_the_end() {
    let dir = directory();
    let whole: String = (0..60_000).map(|line| format!("line {line} \u{e4}\n")).collect();
    std::fs::write(dir.path().join("inside/whole"), &whole).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let mut read = String::new();
    let mut arguments = json!({"path": "whole"});
    loop {
        let answer = call(&client, "read_text_file", arguments).await;
        let part = answer.content[0]["text"].as_str().unwrap();
        assert!(part.len() <= 256 * 1024 && part.ends_with('\n'));
        read += part;
        let note = answer.content[1]["text"].as_str().unwrap().to_owned();
        let Some((_, next)) = note.split_once("startByte: ") else {
            break;
        };
        let next: u64 = next.trim_end_matches(']').parse().unwrap();
        arguments = json!({"path": "whole", "startByte": next});
    }
    assert!(read == whole, "{} bytes of {}", read.len(), whole.len());
    let tail = text(&client, "read_text_file", json!({"path": "whole", "tail": 50_000})).await;
    assert!(whole.ends_with(&tail) && tail.starts_with("line ") && tail.len() > 250_000);
}

#[tokio::test]
async fn encodings_are_found_or_named() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("bom8"), b"\xef\xbb\xbfa\nb\n").unwrap();
    std::fs::write(inside.join("le16"), b"\xff\xfea\0\n\0\xe4\0\n\0").unwrap();
    std::fs::write(inside.join("be16"), b"\xfe\xff\0a\0\n\0\xe4").unwrap();
    std::fs::write(inside.join("latin"), b"a\ncaf\xe9\n").unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (arguments, right, encoding) in [
        (json!({"path": "bom8", "head": 1}), "a\n", "UTF-8 with a byte order mark"),
        (json!({"path": "bom8", "tail": 9}), "a\nb\n", "UTF-8 with a byte order mark"),
        (json!({"path": "le16", "tail": 1}), "\u{e4}\n", "UTF-16LE with a byte order mark"),
        (json!({"path": "be16", "startLine": 2}), "\u{e4}", "UTF-16BE with a byte order mark"),
        (json!({"path": "latin", "encoding": "latin1"}), "a\ncaf\u{e9}\n", "windows-1252"),
        (json!({"path": "lines.txt"}), "l1\nl2\nl3\n", "; UTF-8; 9 bytes in all]"),
    ] {
        let answer = call(&client, "read_text_file", arguments.clone()).await;
        assert_eq!(answer.content[0]["text"], right, "{arguments}");
        let note = answer.content[1]["text"].as_str().unwrap();
        assert!(note.contains(encoding), "{note}");
    }
    let said = refusal(&client, "read_text_file", json!({"path": "latin"})).await;
    assert!(said.contains("name `encoding`"), "{said}");
    let wrong = json!({"path": "latin", "encoding": "klingon"});
    assert!(refusal(&client, "read_text_file", wrong).await.contains("is not an encoding"));
}

#[tokio::test]
async fn lines_are_numbered_on_request() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let numbered = json!({"path": "lines.txt", "startLine": 2, "lineNumbers": true});
    assert_eq!(text(&client, "read_text_file", numbered).await, "2\tl2\n3\tl3\n");
    let wrong = json!({"path": "lines.txt", "tail": 2, "lineNumbers": true});
    assert!(refusal(&client, "read_text_file", wrong).await.contains("startLine"));
}

#[tokio::test]
async fn every_read_has_the_etag() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let answer = call(&client, "read_text_file", json!({"path": "lines.txt"})).await;
    let etag = etag(&client, "lines.txt").await;
    assert!(answer.content[1]["text"].as_str().unwrap().starts_with(&format!("[etag {etag};")));
}
