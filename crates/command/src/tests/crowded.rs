//! Many processes, many calls, many arguments: what is too much is refused or ended by a limit that
//! is named, and the server goes on.

use serde_json::{Value, json};

use super::confined::has_python;
use super::rig::{EVERYTHING, IS_PORTABLE, mark, marked, rig, stdout};

/// Each ends by itself after a few hundred processes, should nobody end it.
fn bombs(mark: &str) -> Vec<String> {
    vec![
        format!("i=0; while [ $i -lt 300 ]; do sleep {mark} & i=$((i+1)); done; wait"),
        format!("b() {{ [ $1 -eq 8 ] || {{ b $(($1+1)) & b $(($1+1)) & }}; sleep {mark}; }}; b 0"),
        // The one everybody knows, but for its depth.
        format!(
            "b() {{ [ $1 -eq 8 ] && sleep {mark} || b $(($1+1)) | b $(($1+1)) & }}; b 0; sleep {mark}"
        ),
        format!(
            "b() {{ [ $1 -eq 8 ] || {{ setsid sh -c \"sleep {mark}\" & (b $(($1+1)) &); \
             (b $(($1+1)) &); }}; }}; b 0; sleep {mark}"
        ),
    ]
}

#[tokio::test]
async fn too_many_processes_are_ended() {
    if IS_PORTABLE {
        return;
    }
    let rig = rig(EVERYTHING, &["--max-processes", "32"]).await;
    let mark = mark();
    for bomb in bombs(&mark) {
        let answer = rig.sh(&bomb).await;
        assert!(answer.is_error, "{bomb}: {}", answer.text());
        assert_eq!(answer.structured["status"], "too_many_processes", "{}", answer.text());
        assert_eq!(marked(&mark), Vec::<i32>::new(), "{bomb}");
    }
    assert_eq!(stdout(&rig.sh("echo fine").await), "fine\n");
}

/// What nobody looks at in time is stopped by the kernel, and where it is not, that is said.
#[tokio::test]
async fn a_limit_of_processes_is_the_kernels_if_it_is_said_to_be() {
    let rig = rig(EVERYTHING, &["--max-processes", "8"]).await;
    let script = "i=0; while [ $i -lt 200 ]; do sleep 0.01 & i=$((i+1)); done; wait; echo all";
    let answer = rig.sh(script).await;
    match answer.structured["sandbox"]["processes"].as_str() {
        Some("enforced") => assert_ne!(stdout(&answer), "all\n", "{}", answer.text()),
        other => assert_eq!(other == Some("watched"), !IS_PORTABLE, "{other:?}"),
    }
}

#[tokio::test]
async fn too_much_memory_is_ended() {
    if IS_PORTABLE {
        return;
    }
    let rig = rig(EVERYTHING, &["--max-memory-mib", "64"]).await;
    let hungry = "x=x; while :; do x=$x$x; done";
    let answer = rig.sh(hungry).await;
    assert!(answer.is_error);
    assert_eq!(answer.structured["status"], "too_much_memory", "{}", answer.text());
    // Nor is it hidden by the end of the first thread.
    let hidden = "import ctypes, threading, time\n\
                  hold = lambda: (time.sleep(0.3), bytearray(300 << 20), time.sleep(9))\n\
                  threading.Thread(target=hold).start()\n\
                  ctypes.CDLL(None).pthread_exit(None)";
    if has_python(&rig).await {
        let arguments = json!({"command": "python3", "args": ["-c", hidden]});
        let answer = rig.execute(arguments).await;
        assert_eq!(answer.structured["status"], "too_much_memory", "{}", answer.text());
    }
}

/// Those that run, those that wait, and those that are told to come back.
#[tokio::test]
async fn a_thousand_calls_are_answered_or_refused() {
    let rig = rig("", &["--max-running", "4", "--max-waiting", "100"]).await;
    rig.execute(json!({"command": "true"})).await;
    let call = json!({"name": "execute_command", "arguments": {"command": "true"}});
    let calls: Vec<_> = (0..1000).map(|_| rig.client.start("tools/call", call.clone())).collect();
    let (mut run, mut refused) = (0, 0);
    for call in calls {
        // The protocol's own limit of calls at a time may answer first.
        let Ok(answer) = call.answer().await else {
            refused += 1;
            continue;
        };
        if answer["isError"] == true {
            let text = answer["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("Try again in a second") && text.contains("100"), "{text}");
            refused += 1;
        } else {
            assert_eq!(answer["structuredContent"]["exit_code"], 0);
            run += 1;
        }
    }
    assert_eq!(run + refused, 1000);
    assert!(run >= 104 && refused > 0, "{run} run, {refused} refused");
    assert_eq!(stdout(&rig.execute(json!({"command": "echo", "args": ["fine"]})).await), "fine\n");
}

#[tokio::test]
async fn many_arguments_arrive_and_too_many_are_refused() {
    let rig = rig("", &[]).await;
    let echo = |count: usize, word: &str| {
        let args = vec![word; count];
        json!({"command": "echo", "args": args, "pipeline": [{"command": "wc", "args": ["-w"]}]})
    };
    assert_eq!(stdout(&rig.execute(echo(100_000, "x")).await), "100000\n");
    let refused = rig.execute(echo(400_000, "x")).await;
    assert!(refused.is_error && refused.text().contains("longer than the system"));
    let stages = vec![json!({"command": "cat"}); 16];
    let long = json!({"command": "true", "pipeline": stages});
    let refused = rig.execute(long).await;
    assert!(refused.is_error && refused.text().contains("1 to 16 commands"), "{}", refused.text());
}

/// A process is reached by the job it belongs to, never by its number.
#[tokio::test]
async fn no_signal_goes_to_a_number() {
    let rig = rig("", &[]).await;
    let mut other = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let ended = rig.execute(json!({"command": "true"})).await.structured["job_id"].clone();
    for job_id in [json!(other.id().to_string()), json!("-1"), json!("0"), json!("")] {
        let answer = rig.call("signal", json!({"job_id": job_id, "signal": "KILL"})).await;
        assert!(answer.is_error && answer.text().contains("There is no job"), "{}", answer.text());
    }
    // The number of its process may be somebody else's by now.
    let answer = rig.call("signal", json!({"job_id": ended, "signal": "KILL"})).await;
    assert_eq!(answer.structured, json!({"status": "exited"}));
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
}

/// A place in the queue is free again when its call is cancelled, be it while it begins.
#[tokio::test]
async fn a_cancelled_call_makes_room() {
    let rig = rig("", &["--max-running", "1", "--max-waiting", "0", "--grace-ms", "200"]).await;
    let sleeps: Value =
        json!({"name": "execute_command", "arguments": {"command": "sleep", "args": ["100"]}});
    for _ in 0..3 {
        let call = rig.client.start("tools/call", sleeps.clone());
        while rig.call("list_jobs", json!({})).await.structured["jobs"]
            .as_array()
            .is_none_or(|jobs| jobs.iter().all(|job| job["status"] != "running"))
        {
            tokio::task::yield_now().await;
        }
        let refused = rig.execute(json!({"command": "true"})).await;
        assert!(refused.is_error, "{}", refused.text());
        call.cancel();
        while rig.execute(json!({"command": "true"})).await.is_error {
            tokio::task::yield_now().await;
        }
    }
}
