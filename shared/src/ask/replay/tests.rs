//! A state opens for the request, the sender and the time it was sealed for. That all else is told
//! the same on the wire is tested in `shared/tests`.

use serde_json::{Value, json};

use super::*;

fn identity() -> Identity {
    Identity {
        server: "server".to_owned(),
        method: "tools/call".to_owned(),
        subject: "transfer".to_owned(),
        arguments: digest_of_arguments(r#"{"to":"Ada","amount":5}"#),
        principal: Some("alice".to_owned()),
    }
}

fn question() -> Question {
    let params = json!({"message": "Sure?"});
    Question { method: "elicitation/create", params, needs: &["elicitation"] }
}

fn capabilities() -> Map<String, Value> {
    json!({"elicitation": {}}).as_object().cloned().unwrap()
}

/// What a client gets when the handler has asked.
fn asked(seal: &Seal) -> String {
    let mut replay = Replay::default();
    replay.ask("sure", question(), &capabilities()).unwrap();
    match replay.suspend(seal, identity()) {
        Ok(Answer::InputRequired { state, .. }) => state,
        other => panic!("{other:?}"),
    }
}

fn opens(seal: &Seal, state: &str, identity: Identity) -> bool {
    match Replay::open(seal, None, Some(state), None, || identity) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.to_string(), "Invalid or expired `requestState`");
            false
        }
    }
}

#[test]
fn a_state_opens_for_what_it_was_sealed_for_and_nothing_else() {
    let seal = Seal::random();
    let state = asked(&seal);
    assert!(opens(&seal, &state, identity()));
    let text = str::to_owned;
    for other in [
        Identity { server: text("other"), ..identity() },
        Identity { method: text("prompts/get"), ..identity() },
        Identity { subject: text("transfer2"), ..identity() },
        Identity { arguments: digest_of_arguments(r#"{"to":"Eve","amount":5}"#), ..identity() },
        Identity { principal: Some(text("eve")), ..identity() },
        Identity { principal: None, ..identity() },
    ] {
        assert!(!opens(&seal, &state, other.clone()), "{other:?}");
    }
    assert!(!opens(&Seal::random(), &state, identity()));
}

#[test]
fn no_part_of_a_state_is_a_state() {
    let seal = Seal::random();
    let state = asked(&seal);
    for end in 0..state.len() {
        assert!(!opens(&seal, &state[..end], identity()), "{end}");
    }
    for text in ["=", "AAAA", "not base64!", "é"] {
        assert!(!opens(&seal, text, identity()), "{text}");
    }
    let cursor = seal.seal("cursor tools", b"{}").unwrap();
    assert!(!opens(&seal, &cursor, identity()), "another purpose");
    let nonsense = seal.seal(PURPOSE, b"[]").unwrap();
    assert!(!opens(&seal, &nonsense, identity()));
}

#[test]
fn a_state_has_its_time() {
    let seal = Seal::random();
    let at = |expires_at_secs: u64| {
        let record = Record { identity: Some(identity()), expires_at_secs, ..Record::default() };
        seal.seal(PURPOSE, &serde_json::to_vec(&record).unwrap()).unwrap()
    };
    let now = now_secs();
    for (expires_at_secs, is_open) in [(0, false), (now - 1, false), (now, false), (now + 60, true)]
    {
        assert_eq!(opens(&seal, &at(expires_at_secs), identity()), is_open, "{expires_at_secs}");
    }
    let plain = seal.open(PURPOSE, &asked(&seal)).unwrap();
    let record: Record = serde_json::from_slice(&plain).unwrap();
    let left = record.expires_at_secs.saturating_sub(now);
    assert!((LIFETIME.as_secs()..=LIFETIME.as_secs() + 5).contains(&left), "{left}");
}

#[test]
fn the_same_arguments_have_one_digest_however_they_are_written() {
    let same = [
        r#"{"a":1,"b":{"c":[1,2],"d":null}}"#,
        r#"{ "b": {"d": null, "c": [1, 2]}, "a": 1 }"#,
        r#"{"\u0061":1,"b":{"c":[1,2],"d":null}}"#,
    ];
    let digests: HashSet<_> = same.into_iter().map(digest_of_arguments).collect();
    assert_eq!(digests.len(), 1);
    for other in
        [r#"{"a":2,"b":{"c":[1,2],"d":null}}"#, r#"{"a":1,"b":{"c":[2,1],"d":null}}"#, "{}"]
    {
        assert!(!digests.contains(&digest_of_arguments(other)), "{other}");
    }
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(MAX_KEPT_BYTES));
    for arguments in [same[0], &long] {
        assert_eq!(KeptArguments::of(arguments).digest(), digest_of_arguments(arguments));
    }
    assert!(matches!(KeptArguments::of(&long), KeptArguments::Digest(_)));
}

/// An answer counts for the question it was given to, not for another under the same key.
#[test]
fn an_answer_to_another_question_is_not_taken() {
    let seal = Seal::random();
    let state = asked(&seal);
    let responses = RawValue::from_string(r#"{"sure":{"action":"accept"}}"#.to_owned()).unwrap();
    let open = || Replay::open(&seal, None, Some(&state), Some(&responses), identity).unwrap();
    assert!(open().ask("sure", question(), &capabilities()).unwrap().is_some());
    let other = Question { params: json!({"message": "Really?"}), ..question() };
    let mut replay = open();
    assert!(replay.ask("sure", other, &capabilities()).unwrap().is_none());
    assert!(replay.is_suspended());
}
