//! edit_file: what it finds, what it refuses, and that every other byte stays.

use serde_json::{Value, json};

use super::{call, connect_writing, directory, refusal, text};

fn one(old: &str, new: &str) -> Value {
    json!([{"oldText": old, "newText": new}])
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_nothing_else() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    let client = connect_writing(dir.path()).await;
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a b c\n", "b", "B", b"a B c\n"),
        (b"no end", "end", "END", b"no END"),
        // Line ends.
        (b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (b"a\r\nb\r\nc\n", "a\nb\n", "A\nB\n", b"A\r\nB\r\nc\n"),
        (b"a\r\nb\r\nc\n", "a\nb", "A\nx\nB", b"A\r\nx\r\nB\r\nc\n"),
        (b"a\nb\n", "a\r\nb\r\n", "A\r\nB\r\n", b"A\nB\n"),
        (b"x\r\na\nb\r\n", "a\nb", "A\nB", b"x\r\nA\nB\r\n"),
        // Encodings.
        (b"caf\xe9 one\nsecond line\n", "second", "2nd", b"caf\xe9 one\n2nd line\n"),
        (b"caf\xe9 \xc3\xa4 x\n", "\u{e4} x", "y", b"caf\xe9 y\n"),
        (b"\xef\xbb\xbfhi\n", "hi", "bye", b"\xef\xbb\xbfbye\n"),
        (b"\xff\xfea\0\n\0b\0", "b", "\u{e4}", b"\xff\xfea\0\n\0\xe4\0"),
        (b"\xfe\xff\0a\0\r\0\n\0b", "a\nb", "b\na", b"\xfe\xff\0b\0\r\0\n\0a"),
        // Indentation.
        (
            b"f {\n    line1\n    line2\n}\n",
            "line1\nline2",
            "lineA\nlineB",
            b"f {\n    lineA\n    lineB\n}\n",
        ),
        (
            b"f {\n\tif x {\n\t\ty\n\t}\n}\n",
            "    if x {\n        y\n    }",
            "    if x {\n        y\n        if z {\n            w\n        }\n    }",
            b"f {\n\tif x {\n\t\ty\n\t\tif z {\n\t\t\tw\n\t\t}\n\t}\n}\n",
        ),
        (b"    a\n    b\n", "a\nb\n", "a\n\nb\n", b"    a\n\n    b\n"),
        (b"one  \ntwo\n\n\n", "one\ntwo", "ONE\ntwo", b"ONE\ntwo\n\n\n"),
        (b"  a\n  b", "a\nb\n", "A\nB\n", b"  A\n  B"),
        (b"        a\n        b\n", "    a\n    b\n", "a\n    b\n", b"    a\n        b\n"),
    ];
    for (before, old, new, after) in cases {
        std::fs::write(&file, before).unwrap();
        text(&client, "edit_file", json!({"path": "file", "edits": one(old, new)})).await;
        let found = std::fs::read(&file).unwrap();
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(shown(&found), shown(after), "{old:?} in {}", shown(before));
    }
}

#[tokio::test]
async fn what_is_not_clear_is_refused_with_help() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    let client = connect_writing(dir.path()).await;
    let before = "one\nfn two(a: u8) {\n\tx\n}\none\n  pad\npad\none\n";
    std::fs::write(&file, before).unwrap();
    for (old, new, help) in [
        ("one", "1", "3 times, at lines 1, 5, 8"),
        ("\tpad\n", "x\n", "2 times, at lines 6, 7"),
        ("", "x", "is empty"),
        ("one", "one", "the same"),
        ("nothing like that", "x", "Nothing like it"),
        (
            "fn two(b: u8) {",
            "x",
            "line 2 (- asked for, + in the file):\n- fn two(b: u8) {\n+ fn two(",
        ),
        ("fn two(a: u8) {\n\ty\n}", "x", "  fn two(a: u8) {\n- \\ty\n+ \\tx\n  }"),
    ] {
        let said =
            refusal(&client, "edit_file", json!({"path": "file", "edits": one(old, new)})).await;
        assert!(said.contains(help), "{old:?}: {said}");
    }
    // The first edit is fine, the second is not: none is made.
    let both = json!([
        {"oldText": "fn two", "newText": "fn 2"},
        {"oldText": "missing", "newText": ""},
    ]);
    let said = refusal(&client, "edit_file", json!({"path": "file", "edits": both})).await;
    assert!(said.contains("edit 2:") && said.contains("No edit was made"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[tokio::test]
async fn all_occurrences_on_request() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    std::fs::write(&file, b"\xff\xfea\0b\0a\0a\0").unwrap();
    let client = connect_writing(dir.path()).await;
    let edits = json!([{"oldText": "a", "newText": "xyz", "replaceAll": true}]);
    text(&client, "edit_file", json!({"path": "file", "edits": edits})).await;
    assert_eq!(std::fs::read(&file).unwrap(), b"\xff\xfex\0y\0z\0b\0x\0y\0z\0x\0y\0z\0",);
}

#[tokio::test]
async fn edits_follow_one_another_and_a_dry_run_shows_the_diff() {
    let dir = directory();
    let file = dir.path().join("inside/lines.txt");
    let client = connect_writing(dir.path()).await;
    let edits = json!([
        {"oldText": "l2", "newText": "new\nlines"},
        {"oldText": "lines\nl3", "newText": "end"},
    ]);
    let diff = "--- lines.txt\n+++ lines.txt\n@@ -1,3 +1,3 @@\n l1\n-l2\n-l3\n+new\n+end\n";
    let dry = json!({"path": "lines.txt", "edits": edits, "dryRun": true});
    let answer = call(&client, "edit_file", dry).await;
    assert_eq!(answer.content[0]["text"], diff);
    assert!(answer.content[1]["text"].as_str().unwrap().starts_with("[nothing was written"));
    assert_eq!(std::fs::read(&file).unwrap(), b"l1\nl2\nl3\n");
    let real = json!({"path": "lines.txt", "edits": edits});
    assert_eq!(text(&client, "edit_file", real).await, diff);
    assert_eq!(std::fs::read(&file).unwrap(), b"l1\nnew\nend\n");
}

#[tokio::test]
async fn text_goes_in_only_if_the_encoding_is_known_and_has_it() {
    let dir = directory();
    let file = dir.path().join("inside/file");
    std::fs::write(&file, b"caf\xe9\n").unwrap();
    let client = connect_writing(dir.path()).await;
    let edit = |new: &str, encoding: Value| json!({"path": "file", "edits": one("caf", new), "encoding": encoding});
    let said = refusal(&client, "edit_file", edit("\u{e4}", Value::Null)).await;
    assert!(said.contains("unknown encoding"), "{said}");
    let said = refusal(&client, "edit_file", edit("\u{4e2d}", json!("latin1"))).await;
    assert!(said.contains("windows-1252"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"caf\xe9\n");
    text(&client, "edit_file", edit("\u{e4}", json!("latin1"))).await;
    assert_eq!(std::fs::read(&file).unwrap(), b"\xe4\xe9\n");
    std::fs::write(&file, b"a\0b").unwrap();
    let said = refusal(&client, "edit_file", json!({"path": "file", "edits": one("a", "b")})).await;
    assert!(said.contains("not text"), "{said}");
}
