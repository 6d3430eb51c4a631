//! Commands that go on while the model does something else.

use serde_json::json;

use super::rig::{EVERYTHING, mark, marked, rig, stdout, until_marked};
use crate::backend::{Backend, Input, Owner, Request};

#[tokio::test]
async fn a_slow_command_becomes_a_job() {
    let rig = rig(EVERYTHING, &[]).await;
    let script = "echo begun; read line; echo \"got $line\"";
    let answer = rig
        .execute(json!({
            "command": "sh", "args": ["-c", script], "open_stdin": true, "yield_ms": 1,
        }))
        .await;
    assert_eq!(answer.structured["status"], "running");
    assert!(!answer.is_error);
    let job = answer.structured["job_id"].clone();
    let answer = rig.call("wait", json!({"job_id": job, "until": "begun\n"})).await;
    assert_eq!(answer.structured["status"], "running", "{}", answer.text());
    assert_eq!(stdout(&answer), "begun\n");
    let written = rig.call("write_stdin", json!({"job_id": job, "data": "this\n"})).await;
    assert_eq!(written.structured["written_bytes"], 5);
    let answer = rig.call("wait", json!({"job_id": job})).await;
    assert_eq!(answer.structured["status"], "exited");
    assert_eq!(stdout(&answer), "begun\ngot this\n");
    let answer = rig.call("write_stdin", json!({"job_id": job, "data": "more\n"})).await;
    assert!(answer.is_error);
}

#[tokio::test]
async fn the_end_of_input_is_told() {
    let rig = rig("", &[]).await;
    let arguments = json!({"command": "cat", "open_stdin": true, "background": true});
    let job = rig.execute(arguments).await.structured["job_id"].clone();
    rig.call("write_stdin", json!({"job_id": job, "data": "a"})).await;
    rig.call("write_stdin", json!({"job_id": job, "data": "b", "eof": true})).await;
    let answer = rig.call("wait", json!({"job_id": job})).await;
    assert_eq!((stdout(&answer), &answer.structured["exit_code"]), ("ab", &json!(0)));
}

#[tokio::test]
async fn jobs_are_listed_and_signalled() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    let mark = mark();
    let arguments = json!({"command": "sleep", "args": [mark], "background": true});
    let job = rig.execute(arguments).await.structured["job_id"].clone();
    until_marked(&mark, 1).await;
    let jobs = rig.call("list_jobs", json!({})).await;
    let line = &jobs.structured["jobs"][0];
    assert_eq!(line["status"], "running");
    assert_eq!(line["command"], format!("sleep {mark}"));
    rig.call("signal", json!({"job_id": job, "signal": "INT"})).await;
    let answer = rig.call("wait", json!({"job_id": job})).await;
    assert_eq!(answer.structured["status"], "signaled");
    assert_eq!(answer.structured["signal"], 2);
    assert_eq!(marked(&mark), Vec::<i32>::new());
    let trapped = json!({
        "command": "sh", "args": ["-c", format!("trap 'echo caught; exit 3' USR1; echo on; sleep {mark} & wait")],
        "background": true,
    });
    let job = rig.execute(trapped).await.structured["job_id"].clone();
    rig.call("wait", json!({"job_id": job, "until": "on\n"})).await;
    rig.call("signal", json!({"job_id": job, "signal": "USR1"})).await;
    let answer = rig.call("wait", json!({"job_id": job})).await;
    assert_eq!((stdout(&answer), &answer.structured["exit_code"]), ("on\ncaught\n", &json!(3)));
}

#[tokio::test]
async fn only_the_last_jobs_are_kept() {
    let rig = rig("", &[]).await;
    for _ in 0..40 {
        rig.execute(json!({"command": "true"})).await;
    }
    let jobs = rig.call("list_jobs", json!({})).await;
    let jobs = jobs.structured["jobs"].as_array().unwrap().len();
    assert!((32..=33).contains(&jobs), "{jobs}");
    let gone = rig.call("read_output", json!({"job_id": "1"})).await;
    assert!(gone.is_error && gone.text().contains("There is no job"), "{}", gone.text());
}

#[tokio::test]
async fn those_waiting_for_their_turn_are_bounded() {
    let rig = rig("", &["--max-running", "1", "--max-waiting", "1"]).await;
    let arguments = json!({"command": "sleep", "args": ["100"], "background": true});
    let job = rig.execute(arguments).await.structured["job_id"].clone();
    let waiting = rig
        .client
        .start("tools/call", json!({"name": "execute_command", "arguments": {"command": "true"}}));
    // Answered in order of arrival, so the one before is waiting by now.
    let refused = rig.execute(json!({"command": "true"})).await;
    assert!(refused.is_error && refused.text().contains("Try again"), "{}", refused.text());
    rig.call("signal", json!({"job_id": job})).await;
    let answer = waiting.answer().await.unwrap();
    assert_eq!(answer["structuredContent"]["exit_code"], 0);
}

#[tokio::test]
async fn a_long_call_says_how_far_it_is() {
    let rig = rig(EVERYTHING, &[]).await;
    let script = "echo one; echo two; sleep 2";
    let call = json!({
        "name": "execute_command", "arguments": {"command": "sh", "args": ["-c", script]},
        "_meta": {"progressToken": "p"},
    });
    rig.client.request("tools/call", call).await.unwrap();
    let notification = rig.client.notification().await.unwrap();
    assert_eq!(notification.method, "notifications/progress");
    assert_eq!(notification.params["progress"], 8);
    assert_eq!(notification.params["message"], "two");
}

/// Over HTTP many clients share one server, so each job has an owner.
#[tokio::test]
async fn a_job_is_its_owners_alone() {
    let root = tempfile::tempdir().unwrap();
    let flags = ["x", "--root", root.path().to_str().unwrap()];
    let config: crate::config::Config = clap::Parser::try_parse_from(flags).unwrap();
    let backend = Backend::open(&config.settings()).unwrap();
    let principal = |name: &str| Owner::Principal(name.to_owned());
    let owners =
        [principal("a"), principal("b"), Owner::Session(1), Owner::Session(2), Owner::Bearer];
    let mut jobs = Vec::new();
    for owner in &owners {
        let request = Request {
            owner: owner.clone(),
            commands: vec![("echo".to_owned(), vec!["hi".to_owned()])],
            cwd: None,
            env: std::collections::BTreeMap::default(),
            input: Input::Nothing,
            timeout: None,
            merge_stderr: false,
            tty: false,
        };
        let job = backend.begin(request).await.unwrap();
        job.ended().await;
        jobs.push(job.id.clone());
    }
    for (number, id) in jobs.iter().enumerate() {
        for (other, owner) in owners.iter().enumerate() {
            assert_eq!(backend.job(id, owner).is_ok(), number == other, "{id} {owner:?}");
        }
    }
    for (owner, id) in owners.iter().zip(&jobs) {
        let listed: Vec<_> = backend.jobs(owner).iter().map(|job| job.id.clone()).collect();
        match owner {
            // Whoever could list them would not have to know their names.
            Owner::Bearer => assert_eq!(listed, Vec::<String>::new()),
            _ => assert_eq!(listed, std::slice::from_ref(id)),
        }
    }
    let bearer = jobs.last().unwrap();
    assert!(bearer.len() == 24 && bearer.bytes().all(|it| it.is_ascii_hexdigit()), "{bearer}");
}
