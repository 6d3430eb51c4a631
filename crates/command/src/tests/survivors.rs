//! Nothing a program starts outlives its call, however the call ends. A process is known by an
//! argument no other process has.

use std::time::{Duration, Instant};

use serde_json::json;

use super::rig::{EVERYTHING, mark, marked, rig, stdout, until_marked};

/// Ways to get away, each with as many processes as sleep afterwards.
fn escapes(mark: &str) -> Vec<(String, usize)> {
    vec![
        (format!("sleep {mark} & sleep {mark}"), 2),
        (format!("setsid sleep {mark} & sleep {mark}"), 2),
        (format!("(setsid sleep {mark} &) ; sleep {mark}"), 2),
        (format!("setsid sh -c 'setsid sleep {mark} & sleep {mark}' & wait"), 2),
        (format!("trap '' TERM HUP INT; sleep {mark} & sleep {mark}; sleep {mark}"), 2),
        (format!("nohup sleep {mark} >/dev/null 2>&1 & sleep {mark}"), 2),
        (format!("sh -c 'trap \"\" TERM; sleep {mark}; sleep {mark}' & kill -STOP $$"), 1),
    ]
}

#[tokio::test]
async fn a_timeout_leaves_nothing() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    for number in 0..7 {
        let mark = mark();
        let (script, _) = escapes(&mark).swap_remove(number);
        let begun = Instant::now();
        let arguments = json!({"command": "sh", "args": ["-c", script], "timeout_ms": 400});
        let answer = rig.execute(arguments).await;
        assert!(answer.is_error);
        assert_eq!(answer.structured["status"], "timed_out", "{script}");
        assert_eq!(marked(&mark), Vec::<i32>::new(), "{script}");
        assert!(answer.structured["killed_processes"].as_u64().unwrap() > 0, "{script}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{script} {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing() {
    let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
    for number in 0..7 {
        let mark = mark();
        let (script, processes) = escapes(&mark).swap_remove(number);
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
    for number in 0..7 {
        let rig = rig(EVERYTHING, &["--grace-ms", "200"]).await;
        let mark = mark();
        let (script, processes) = escapes(&mark).swap_remove(number);
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
        let mark = mark();
        let begun = Instant::now();
        let answer = rig.sh(&script.replace("MARK", &mark)).await;
        assert_eq!(stdout(&answer), "done\n", "{script}");
        assert_eq!(answer.structured["exit_code"], 0, "{script}");
        assert_eq!(marked(&mark), Vec::<i32>::new(), "{script}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{script}: {:?}", begun.elapsed());
    }
}
