//! Text a model is shown does nothing to it or to the terminal of whoever reads along.

use serde_json::json;

use super::rig::{EVERYTHING, rig, stdout};
use crate::backend::{Cleaned, Secrets, clean};

#[test]
fn what_acts_is_taken_out_or_shown() {
    let counts = |ansi, control, invisible, not_utf8| Cleaned {
        ansi,
        control,
        invisible,
        not_utf8,
        secrets: 0,
    };
    for (bytes, text, cleaned) in [
        (&b"plain\ttext\n"[..], "plain\ttext\n", counts(0, 0, 0, 0)),
        ("\u{e4}\u{1f600}\n".as_bytes(), "\u{e4}\u{1f600}\n", counts(0, 0, 0, 0)),
        (b"\x1b[2Ja\x1b[31mb\x1b[0m", "ab", counts(3, 0, 0, 0)),
        (b"\x1b]52;c;aGk=\x07x", "x", counts(1, 0, 0, 0)),
        (b"\x1b]0;title\x1b\\x", "x", counts(1, 0, 0, 0)),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", counts(2, 0, 0, 0)),
        (b"\x1bPq#0\x1b\\x", "x", counts(1, 0, 0, 0)),
        (b"\x1bcx", "x", counts(1, 0, 0, 0)),
        (b"a\x07\x08\x00b\x7f", "a\\x07\\x08\\x00b\\x7f", counts(0, 4, 0, 0)),
        ("a\u{9b}2Jb".as_bytes(), "a\\x9b2Jb", counts(0, 1, 0, 0)),
        (b"one\r\ntwo\r\n", "one\ntwo\n", counts(0, 0, 0, 0)),
        (b"safe\rrm -rf", "safe\\x0drm -rf", counts(0, 1, 0, 0)),
        ("a\u{202e}b\u{2066}c".as_bytes(), "a\\u{202e}b\\u{2066}c", counts(0, 0, 2, 0)),
        ("\u{e0041}\u{e007f}x".as_bytes(), "\\u{e0041}\\u{e007f}x", counts(0, 0, 2, 0)),
        ("a\u{200b}b\u{feff}".as_bytes(), "a\\u{200b}b\\u{feff}", counts(0, 0, 2, 0)),
        (b"a\xff\xfeb", "a\u{fffd}\u{fffd}b", counts(0, 0, 0, 2)),
        (b"a\xe2\x82", "a\u{fffd}", counts(0, 0, 0, 1)),
        (b"cut \x1b[3", "cut ", counts(0, 0, 0, 0)),
        (b"", "", counts(0, 0, 0, 0)),
    ] {
        let shown = clean(bytes, &Secrets::default());
        assert_eq!(shown, (text.to_owned(), cleaned), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn secrets_of_the_server_are_masked() {
    let environment = [
        ("GITHUB_TOKEN", "ghp_0123456789"),
        ("my_password", "correct horse"),
        ("SHORT_TOKEN", "x"),
        ("EDITOR", "some-editor"),
    ];
    let pairs = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let secrets = Secrets::of(pairs);
    let (text, cleaned) =
        clean(b"a ghp_0123456789, correct horse; ghp_0123456789 x some-editor", &secrets);
    assert_eq!(text, "a [masked], [masked]; [masked] x some-editor");
    assert_eq!(cleaned.secrets, 3);
}

#[tokio::test]
async fn a_result_says_what_was_done_to_it() {
    let rig = rig(EVERYTHING, &[]).await;
    let answer = rig.sh("printf '\\033[31mred\\033[0m \\a'").await;
    assert_eq!(stdout(&answer), "red \\x07");
    let cleaned = &answer.structured["stdout"]["cleaned"];
    assert_eq!(cleaned, &json!({"ansi": 2, "control": 1}));
    // The bytes themselves are to be had, as bytes.
    let uri = format!("command://jobs/{}/stdout", answer.structured["job_id"].as_str().unwrap());
    let contents = rig.client.read_resource(&uri).await.unwrap();
    assert_eq!(contents[0]["blob"], "G1szMW1yZWQbWzBtIAc=");
    // A message of the protocol is text like any other.
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let answer = rig.execute(json!({"command": "echo", "args": [message]})).await;
    assert_eq!(stdout(&answer), format!("{message}\n"));
}
