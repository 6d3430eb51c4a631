//! An edit changes what it was asked to, and not one byte more.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::peer::{Peer, json as answer};
use super::{TOKEN, client, good, issue, refused};
use crate::backend::edit::{BadEdit, Edit, apply};

fn replace(find: &str, text: &str) -> Edit {
    Edit::Replace { find: find.to_owned(), text: text.to_owned() }
}

fn check(item: &str, checked: bool) -> Edit {
    Edit::Check { item: item.to_owned(), checked }
}

fn section(heading: &str, text: &str) -> Edit {
    Edit::Section { heading: heading.to_owned(), text: text.to_owned() }
}

fn append(text: &str) -> Edit {
    Edit::Append { text: text.to_owned() }
}

#[test]
fn each_edit_does_what_it_says() {
    let code = "```\n- [ ] a\n# H\n```\n- [ ] a\n";
    for (body, edit, after) in [
        ("a b c", replace("b", "B"), "a B c"),
        ("a\r\nb\r\nc", replace("a\nb", "x\ny"), "x\r\ny\r\nc"),
        ("a\r\nb", replace("a\r\nb", "x\ny"), "x\ny"),
        ("Promise<string> <id>", replace("<id>", "<ID>"), "Promise<string> <ID>"),
        ("", append("x"), "x"),
        ("a", append("x"), "a\n\nx"),
        ("a\n", append("x"), "a\n\nx"),
        ("a\n\n", append("x"), "a\n\nx"),
        ("a\r\nb", append("x\ny"), "a\r\nb\r\n\r\nx\r\ny"),
        ("- [ ] a\n- [ ] b", check("b", true), "- [ ] a\n- [x] b"),
        ("* [X] a  \r\n", check("a", false), "* [ ] a  \r\n"),
        ("* [X] a", check("a", true), "* [X] a"),
        ("  1. [ ] a", check(" a ", true), "  1. [x] a"),
        (code, check("a", true), "```\n- [ ] a\n# H\n```\n- [x] a\n"),
        ("# A\nold\n# B\nkeep", section("A", "new"), "# A\n\nnew\n\n# B\nkeep"),
        ("# A\nold\n## deep\nx\n# B", section("# A", "new"), "# A\n\nnew\n\n# B"),
        ("## A\r\nold\r\n", section("A", "n\nm"), "## A\r\n\r\nn\r\nm\r\n"),
        ("# A", section("A", "new"), "# A\n\nnew\n"),
        ("# A\nold\n# B", section("A", ""), "# A\n\n# B"),
    ] {
        assert_eq!(
            apply(body, std::slice::from_ref(&edit)).as_deref(),
            Ok(after),
            "{body:?} {edit:?}"
        );
    }
    assert_eq!(apply("ab", &[replace("a", "b"), append("x")]).as_deref(), Ok("bb\n\nx"));
}

#[test]
fn what_is_not_there_or_there_twice_is_refused() {
    let missing = |what: &str| BadEdit::Missing { what: what.to_owned() };
    let twice = |what: &str| BadEdit::Ambiguous { what: what.to_owned(), times: 2 };
    for (body, edit, error) in [
        ("a", replace("b", "x"), missing("b")),
        ("aa", replace("a", "x"), twice("a")),
        ("a", replace("", "x"), BadEdit::Empty),
        ("- [ ] a\n- [x] a", check("a", true), twice("a")),
        ("- [ ] ab", check("a", true), missing("a")),
        ("-[ ]a", check("a", true), missing("a")),
        ("# A\n# A", section("A", "x"), twice("A")),
        ("A\n#A", section("A", "x"), missing("A")),
        ("```\n# A\n", section("A", "x"), missing("A")),
    ] {
        assert_eq!(apply(body, std::slice::from_ref(&edit)), Err(error), "{body:?} {edit:?}");
    }
}

/// Lines of the kinds the editor looks at.
fn body() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# Head".to_owned()),
        Just("## Deep".to_owned()),
        Just("```".to_owned()),
        Just("~~~~".to_owned()),
        Just("- [ ] item".to_owned()),
        Just("  * [X] item".to_owned()),
        Just("<!-- x --> Promise<T>".to_owned()),
        "\\PC{0,12}",
    ];
    let eol = prop_oneof![Just("\n"), Just("\r\n")];
    proptest::collection::vec((line, eol), 0..12)
        .prop_map(|lines| lines.into_iter().map(|(line, eol)| line + eol).collect())
}

/// What two texts have in common at their beginnings and ends is all but this of the first.
fn changed_middle<'a>(before: &'a str, after: &str) -> &'a str {
    let start = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let room = before.len().min(after.len()) - start;
    let end = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take(room)
        .take_while(|(a, b)| a == b)
        .count();
    before.get(start..before.len() - end).unwrap_or("a part of a letter")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tick_is_one_byte(body in body(), unique in "[a-z]{8}", checked in any::<bool>()) {
        let with_item = format!("{body}\n\n- [ ] {unique}\r\nrest");
        if let Ok(after) = apply(&with_item, &[check(&unique, checked)]) {
            prop_assert_eq!(with_item.len(), after.len());
            let different = with_item.bytes().zip(after.bytes()).filter(|(a, b)| a != b).count();
            prop_assert_eq!(different, usize::from(checked));
            let back = apply(&after, &[check(&unique, false)]);
            prop_assert_eq!(back.as_deref(), Ok(with_item.as_str()));
        }
    }

    #[test]
    fn a_replacement_leaves_all_around_it(before in body(), after in body(), text in "[A-Z\n]{0,8}") {
        let body = format!("{before}|mark|{after}");
        let eol = if body.contains("\r\n") { "\r\n" } else { "\n" };
        let expected = format!("{before}{}{after}", text.replace('\n', eol));
        let edited = apply(&body, &[replace("|mark|", &text)]);
        prop_assert_eq!(edited.as_deref(), Ok(expected.as_str()));
    }

    #[test]
    fn appending_and_sections_keep_the_rest(body in body(), text in "[a-z \n]{0,20}") {
        let appended = apply(&body, &[append(&text)]).unwrap();
        prop_assert!(appended.starts_with(&body));
        let with_section = format!("{body}\n```\n```\n# Mine\r\nold\n# Other\n{body}");
        if let Ok(after) = apply(&with_section, &[section("Mine", &text)]) {
            prop_assert!(after.starts_with(&format!("{body}\n```\n```\n# Mine\r\n")), "{}", after);
            prop_assert!(after.ends_with(&format!("# Other\n{body}")), "{}", after);
            prop_assert!(!changed_middle(&with_section, &after).contains("# Other"));
        }
    }
}

/// An issue whose body is what was last written.
async fn stored(body: &'static str) -> Peer {
    let mut stored = json!(body);
    Peer::start(move |seen| {
        if seen.method == "PATCH" {
            stored = seen.body["body"].clone();
        }
        let mut item = issue(7);
        item["body"] = stored.clone();
        answer(200, &item)
    })
    .await
}

fn hash(text: &str) -> String {
    text.split_once("hash ").unwrap().1.get(..16).unwrap().to_owned()
}

/// github-mcp-server#3165: reading, ticking a box and writing back destroyed bodies.
#[tokio::test]
async fn a_tick_reaches_github_as_one_byte() {
    let body = "Promise<string> \u{200B}`<id>`\r\n\r\n- [ ] done <b>\r\n<!-- keep -->";
    let peer = stored(body).await;
    let client = client(&peer).await;
    let edits = json!({"number": 7, "edits": [{"op": "check", "find": "done <b>"}]});
    let text = good(&client, "issue_edit_body", edits.clone()).await;
    assert_eq!(peer.writes()[0].body, json!({"body": body.replace("[ ]", "[x]")}));
    assert!(text.contains("changed"), "{text}");
    let text = good(&client, "issue_edit_body", edits).await;
    assert!(text.contains("nothing to change"), "{text}");
    assert_eq!(peer.writes().len(), 1);
}

#[tokio::test]
async fn a_body_that_changed_meanwhile_is_left_alone_and_shown() {
    let peer = stored("one\ntwo\nthree\n").await;
    let client = client(&peer).await;
    let seen = hash(&good(&client, "issue_get", json!({"number": 7})).await);
    let edit = |find: &str, text: &str, expect: &str| json!({"number": 7, "edits": [{"op": "replace", "find": find, "text": text}], "expect": expect});
    let next = hash(&good(&client, "issue_edit_body", edit("two", "2", &seen)).await);
    assert_ne!(next, seen);
    let text = refused(&client, "issue_edit_body", edit("one", "1", &seen)).await;
    assert!(text.contains("-two") && text.contains("+2"), "{text}");
    good(&client, "issue_edit_body", edit("one", "1", &next)).await;
    // A hash we know nothing of is a conflict as well, without a difference to show.
    let text = refused(&client, "issue_edit_body", edit("1", "one", "0123456789abcdef")).await;
    assert!(text.contains("issue_get"), "{text}");
    assert_eq!(peer.writes().len(), 2);
    assert_eq!(peer.writes()[1].body, json!({"body": "1\n2\nthree\n"}));
}

#[tokio::test]
async fn edits_that_cannot_be_made_write_nothing() {
    let peer = stored("one one").await;
    let client = client(&peer).await;
    let edits = |edit: Value| json!({"number": 7, "edits": [edit]});
    for (edit, says) in [
        (json!({"op": "replace", "find": "one", "text": "x"}), "2 times"),
        (json!({"op": "replace", "find": "two", "text": "x"}), "is not in the body"),
        (json!({"op": "replace", "find": "two"}), "`text` is missing"),
        (json!({"op": "check"}), "`find` is missing"),
        (json!({"op": "append", "text": TOKEN}), "Nothing was sent"),
        (json!({"op": "set", "text": "all new"}), "`expect`"),
    ] {
        let text = refused(&client, "issue_edit_body", edits(edit)).await;
        assert!(text.contains(says), "{text}");
    }
    refused(&client, "issue_edit_body", json!({"number": 7, "edits": []})).await;
    assert!(peer.writes().is_empty());
}

/// What somebody else has leaked already is theirs to take out; it must not lock everyone out.
#[tokio::test]
async fn a_secret_that_is_there_already_does_not_stop_an_edit() {
    let body: &'static str = Box::leak(format!("- [ ] a\n{TOKEN}").into_boxed_str());
    let peer = stored(body).await;
    let edits = json!({"number": 7, "edits": [{"op": "check", "find": "a"}]});
    good(&client(&peer).await, "issue_edit_body", edits).await;
    assert_eq!(peer.writes().len(), 1);
}
