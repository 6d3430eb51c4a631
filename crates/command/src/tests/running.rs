//! What comes back from a program.

use mcp::Revision;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rig::{EVERYTHING, rig, stdout};

#[tokio::test]
async fn says_how_it_went() {
    let rig = rig(EVERYTHING, &[]).await;
    for (arguments, status, code, signal) in [
        (json!({"command": "cat", "args": ["a.txt"]}), "exited", json!(0), Value::Null),
        (json!({"command": "false"}), "exited", json!(1), Value::Null),
        (json!({"command": "sh", "args": ["-c", "exit 7"]}), "exited", json!(7), Value::Null),
        (json!({"command": "sh", "args": ["-c", "kill -9 $$"]}), "signaled", Value::Null, json!(9)),
    ] {
        let answer = rig.execute(arguments.clone()).await;
        assert!(!answer.is_error, "{arguments} {}", answer.text());
        assert_eq!(answer.structured["status"], status, "{arguments}");
        assert_eq!(answer.structured["exit_code"], code, "{arguments}");
        assert_eq!(answer.structured["signal"], signal, "{arguments}");
    }
    let answer = rig.execute(json!({"command": "cat", "args": ["a.txt"]})).await;
    assert_eq!(stdout(&answer), "one\ntwo\n");
    assert_eq!(answer.structured["stdout"]["total_lines"], 2);
    assert_eq!(answer.structured["rule"], "program.cat");
    assert!(answer.structured["program"].as_str().unwrap().ends_with("/cat"));
    assert!(answer.text().starts_with("exit 0 after 0."), "{}", answer.text());
    assert!(answer.text().ends_with("[stdout: 8 bytes]\none\ntwo\n"), "{}", answer.text());
}

#[tokio::test]
async fn counts_time_and_memory() {
    let rig = rig(EVERYTHING, &[]).await;
    let answer = rig.sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").await;
    assert!(answer.structured["cpu_ms"].as_u64().unwrap() >= 10, "{}", answer.text());
    let answer = rig.sh("x=$(head -c 30000000 /dev/zero | tr '\\0' x); echo ${#x}").await;
    assert_eq!(stdout(&answer), "30000000\n");
    let rss = answer.structured["max_rss_bytes"].as_u64().unwrap();
    assert!((30_000_000..300_000_000).contains(&rss), "{rss}");
}

#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let rig = rig("", &[]).await;
    let args = ["; id", "$(id)", "a b", "*", "", "\n", "-", "|", ">pwned", "`id`", "${X:-id}", ""];
    let given: Vec<_> = ["%s\\0"].iter().chain(&args).collect();
    let answer = rig.execute(json!({"command": "printf", "args": given})).await;
    let right: String = args.iter().map(|arg| format!("{arg}\\x00")).collect();
    assert_eq!(stdout(&answer), right);
    assert!(!rig.inside("pwned").exists());
}

#[test]
fn any_arguments_reach_the_program_as_they_are() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rig = runtime.block_on(rig("", &[]));
    let words = prop::collection::vec("[^\0]{0,20}", 0..8);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let checked = runner.run(&words, |words| {
        let given: Vec<_> = std::iter::once("%s\\0".to_owned()).chain(words.clone()).collect();
        let arguments = json!({"command": "printf", "args": given, "max_output_bytes": 100_000});
        let answer = runtime.block_on(rig.execute(arguments));
        let id = answer.structured["job_id"].as_str().unwrap();
        let uri = format!("command://jobs/{id}/stdout");
        let read = runtime.block_on(rig.client.read_resource(&uri)).unwrap();
        let bytes: Vec<u8> = match read[0]["blob"].as_str() {
            Some(blob) => base64(blob),
            None => read[0]["text"].as_str().unwrap().into(),
        };
        // `printf` prints its format once even if there is nothing to put into it.
        let words = if words.is_empty() { vec![String::new()] } else { words };
        let right: Vec<u8> =
            words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
        prop_assert_eq!(bytes, right);
        Ok(())
    });
    checked.unwrap();
}

/// Decodes it. The tests have no other use for a crate that does.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| LETTERS.iter().position(|known| *known == byte));
    let (mut bits, mut count, mut bytes) = (0usize, 0, Vec::new());
    for digit in digits {
        (bits, count) = ((bits << 6 | digit) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

#[tokio::test]
async fn input_is_nothing_unless_given() {
    let rig = rig(EVERYTHING, &[]).await;
    let answer = rig.execute(json!({"command": "cat"})).await;
    assert_eq!((stdout(&answer), &answer.structured["exit_code"]), ("", &json!(0)));
    let answer = rig.execute(json!({"command": "cat", "stdin": "a\u{e4}\n"})).await;
    assert_eq!(stdout(&answer), "a\u{e4}\n");
    // More than a pipe holds: to one that reads, one that never does, and one that ends at once.
    let long = "x".repeat(10_000_000);
    let answer = rig.execute(json!({"command": "wc", "args": ["-c"], "stdin": long})).await;
    assert_eq!(stdout(&answer), "10000000\n");
    let sleep = json!({"command": "sleep", "args": ["0.1"], "stdin": long});
    assert_eq!(rig.execute(sleep).await.structured["exit_code"], 0);
    let answer = rig.execute(json!({"command": "true", "stdin": long})).await;
    assert_eq!(answer.structured["exit_code"], 0);
}

#[tokio::test]
async fn the_environment_is_made_for_it() {
    let rig = rig(EVERYTHING, &[]).await;
    let answer =
        rig.execute(json!({"command": "env", "env": {"TZ": "UTC", "COLUMNS": "40"}})).await;
    let mut names: Vec<_> =
        stdout(&answer).lines().map(|line| line.split('=').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["COLUMNS", "HOME", "LANG", "PATH", "TERM", "TMPDIR", "TZ"]);
    assert!(!stdout(&answer).contains(super::parts::VARIABLE));
}

#[tokio::test]
async fn only_three_descriptors_are_open() {
    let rig = rig(EVERYTHING, &["--sandbox", "off"]).await;
    let answer = rig.execute(json!({"command": "ls", "args": ["/proc/self/fd"]})).await;
    assert!(answer.is_error, "outside of the roots");
    let answer = rig.sh("ls /proc/self/fd").await;
    // The fourth is the directory that is being listed.
    assert_eq!(stdout(&answer), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn a_pipeline_needs_no_shell() {
    let rig = rig("", &[]).await;
    let answer = rig
        .execute(json!({
            "command": "printf", "args": ["b\\na\\nb\\n"],
            "pipeline": [{"command": "sort"}, {"command": "uniq", "args": ["-c"]}],
        }))
        .await;
    assert_eq!(stdout(&answer), "      1 a\n      2 b\n");
    let exits = &answer.structured["pipeline"];
    assert_eq!(exits, &json!([{"code": 0}, {"code": 0}, {"code": 0}]));
    // The first is ended by the broken pipe, as in a shell.
    let answer = rig
        .execute(json!({
            "command": "seq", "args": ["1000000"],
            "pipeline": [{"command": "head", "args": ["-n", "1"]}],
        }))
        .await;
    assert_eq!(stdout(&answer), "1\n");
    assert_eq!(answer.structured["pipeline"][0], json!({"signal": 13}));
    let refused = json!({"command": "true", "pipeline": [{"command": "sh"}]});
    assert!(rig.execute(refused).await.is_error);
}

#[tokio::test]
async fn merged_streams_keep_their_order() {
    let rig = rig(EVERYTHING, &[]).await;
    let script = "echo 1; echo 2 >&2; echo 3";
    let arguments = json!({"command": "sh", "args": ["-c", script], "merge_stderr": true});
    assert_eq!(stdout(&rig.execute(arguments).await), "1\n2\n3\n");
    let answer = rig.sh(script).await;
    assert_eq!(stdout(&answer), "1\n3\n");
    assert_eq!(answer.structured["stderr"]["head"], "2\n");
}

#[tokio::test]
async fn a_terminal_is_one() {
    let rig = rig(EVERYTHING, &[]).await;
    let script = "test -t 0 && test -t 1 && stty size && read line < /dev/tty; echo \"<$line>\"";
    let arguments = json!({
        "command": "sh", "args": ["-c", script], "tty": true, "stdin": "typed\n", "timeout_ms": 5000,
    });
    let answer = rig.execute(arguments).await;
    assert!(stdout(&answer).contains("24 80\n"), "{}", answer.text());
    assert!(stdout(&answer).contains("<typed>\n"), "{}", answer.text());
}

#[tokio::test]
async fn sixteen_at_a_time_take_no_longer_than_one() {
    let rig = rig("", &[]).await;
    rig.execute(json!({"command": "true"})).await;
    let begun = std::time::Instant::now();
    let calls = (0..16).map(|_| {
        rig.client.start(
            "tools/call",
            json!({"name": "execute_command", "arguments": {"command": "sleep", "args": ["1"]}}),
        )
    });
    for call in calls.collect::<Vec<_>>() {
        call.answer().await.unwrap();
    }
    assert!(begun.elapsed().as_secs_f64() < 8.0, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_is_run_and_refused_is_recorded() {
    let outside = tempfile::tempdir().unwrap();
    let log = outside.path().join("log.jsonl");
    let rig = rig("", &["--command-log", log.to_str().unwrap()]).await;
    rig.execute(json!({"command": "echo", "args": ["hi"]})).await;
    rig.execute(json!({"command": "find", "args": [".", "-delete"]})).await;
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    while lines().len() < 3 {
        tokio::task::yield_now().await;
    }
    let event = |name: &str| lines().into_iter().find(|line| line["event"] == name).unwrap();
    assert_eq!(event("started")["commands"][0]["args"], json!(["hi"]));
    assert_eq!(event("started")["commands"][0]["rule"], "program.echo");
    assert!(event("started")["sandbox"]["fs_write"].is_string());
    assert_eq!(event("ended")["exits"], json!([{"code": 0}]));
    assert_eq!(event("ended")["stdout_bytes"], 3);
    assert_eq!(event("refused")["commands"], json!([["find", [".", "-delete"]]]));
    let told = rig.call("describe_policy", json!({})).await;
    assert_eq!(event("ended")["policy"], told.structured["digest"]);
}

#[tokio::test]
async fn the_same_in_every_revision() {
    for revision in Revision::ALL {
        let rig = super::rig::rig_in(revision).await;
        let answer = rig.execute(json!({"command": "echo", "args": ["hi"]})).await;
        assert!(answer.text().ends_with("hi\n"), "{revision} {}", answer.text());
    }
}
