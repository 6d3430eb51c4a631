//! Nothing a program starts outlives its call, however the call ends. A process is known by an
//! argument no other process has.

use std::time::{Duration, Instant};

use serde_json::json;

use super::rig::{EVERYTHING, IS_PORTABLE, mark, marked, rig, stdout, until_marked};

/// Ways to get away, each with as many processes as sleep afterwards.
const ESCAPES: &[(&str, usize)] = &[
    ("sleep MARK & sleep MARK", 2),
    ("setsid sleep MARK & sleep MARK", 2),
    ("(setsid sleep MARK &) ; sleep MARK", 2),
    ("setsid sh -c 'setsid sleep MARK & sleep MARK' & wait", 2),
    ("trap '' TERM HUP INT; sleep MARK & sleep MARK; sleep MARK", 2),
    ("nohup sleep MARK >/dev/null 2>&1 & sleep MARK", 2),
    ("sh -c 'trap \"\" TERM; sleep MARK; sleep MARK' & kill -STOP $$", 1),
];

/// With a mark of its own for each.
fn escapes() -> impl Iterator<Item = (String, String, usize)> {
    ESCAPES.iter().filter(|(script, _)| is_found(script)).map(|(script, processes)| {
        let mark = mark();
        (script.replace("MARK", &mark), mark, *processes)
    })
}

/// Elsewhere than on Linux nobody finds what has left its group.
fn is_found(script: &str) -> bool {
    !IS_PORTABLE || !script.contains("setsid")
}

/// On Linux the last one is gone before anything is said; elsewhere it has been killed by then.
async fn nothing_is_left(mark: &str, script: &str) {
    if IS_PORTABLE {
        until_marked(mark, 0).await;
    }
    assert_eq!(marked(mark), Vec::<i32>::new(), "{script}");
}

#[tokio::test]
async fn a_timeout_leaves_nothing() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    for (script, mark, _) in escapes() {
        let begun = Instant::now();
        let arguments = json!({"command": "sh", "args": ["-c", script], "timeout_ms": 400});
        let answer = rig.execute(arguments).await;
        assert!(answer.is_error);
        assert_eq!(answer.structured["status"], "timed_out", "{script}");
        nothing_is_left(&mark, &script).await;
        let killed = answer.structured["killed_processes"].as_u64().unwrap();
        assert!(killed > 0 || IS_PORTABLE, "{script}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{script} {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    for (script, mark, processes) in escapes() {
        let arguments = json!({"command": "sh", "args": ["-c", script]});
        let call = rig
            .client
            .start("tools/call", json!({"name": "execute_command", "arguments": arguments}));
        until_marked(&mark, processes).await;
        call.cancel();
        until_marked(&mark, 0).await;
    }
}

#[tokio::test]
async fn a_server_that_goes_leaves_nothing() {
    for (script, mark, processes) in escapes() {
        let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
        let arguments = json!({"command": "sh", "args": ["-c", script], "background": true});
        rig.execute(arguments).await;
        until_marked(&mark, processes).await;
        drop(rig);
        until_marked(&mark, 0).await;
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    for script in [
        "sleep MARK & echo done",
        "setsid sleep MARK & echo done",
        "(trap '' TERM; sleep MARK; sleep MARK) & echo done",
        "(setsid sleep MARK &); echo done",
        "i=0; while [ $i -lt 39 ]; do sh -c 'while sleep 0.1; do :; done; sleep MARK' >/dev/null & i=$((i+1)); done; echo done",
        "(while :; do : MARK; done) & yes MARK >/dev/null & echo done",
    ] {
        if !is_found(script) {
            continue;
        }
        let mark = mark();
        let begun = Instant::now();
        let answer = rig.sh(&script.replace("MARK", &mark)).await;
        assert_eq!(stdout(&answer), "done\n", "{script}");
        assert_eq!(answer.structured["exit_code"], 0, "{script}");
        nothing_is_left(&mark, script).await;
        assert!(begun.elapsed() < Duration::from_secs(8), "{script}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_pipeline_whose_end_cannot_be_started_leaves_nothing() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    // Longer than the kernel lets an argument be.
    let too_long = "x".repeat(200_000);
    let mark = mark();
    let begun = Instant::now();
    let pipeline = json!([{"command": "echo", "args": [too_long]}]);
    let arguments = json!({"command": "sleep", "args": [mark], "pipeline": pipeline});
    let answer = rig.execute(arguments).await;
    assert!(answer.is_error && answer.text().contains("long"), "{}", answer.text());
    nothing_is_left(&mark, "sleep | echo").await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}
