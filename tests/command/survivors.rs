//! However the server ends, nothing it has started is left, and many calls leave nothing open in it.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::rig::{Rig, long_or, mark, marked, sh, sh_job, wait_for};

/// Processes that are kept ready for the next calls.
const SPARE: usize = 2;

/// Ways to get away, each with as many processes as sleep afterwards.
const ESCAPES: [(&str, usize); 6] = [
    ("sleep MARK & sleep MARK", 2),
    ("setsid sleep MARK & sleep MARK", 2),
    ("(setsid sleep MARK &); sleep MARK", 2),
    ("trap '' TERM HUP INT; sleep MARK & sleep MARK; sleep MARK", 2),
    ("nohup sleep MARK >/dev/null 2>&1 & sleep MARK", 2),
    ("sh -c 'sleep MARK; sleep MARK' & kill -STOP $$", 1),
];

#[derive(Debug, Clone, Copy)]
enum Ending {
    Closed,
    Terminated,
    Killed,
}

#[test]
fn nothing_outlives_the_server() {
    let rig = Rig::new();
    let mut number = 0;
    let endings = [Ending::Closed, Ending::Terminated, Ending::Killed];
    // Of every way to get away with every ending.
    let rounds = long_or(3, 100);
    for ending in endings.iter().cycle().take(rounds * endings.len()) {
        for (script, processes) in ESCAPES {
            number += 1;
            let mark = mark();
            let mut server = rig.start(&[]);
            let script = script.replace("MARK", &mark);
            // If its answer is not waited for, the server ends while it begins.
            let id = server.request("tools/call", &sh_job(&script));
            let answered = (number / ESCAPES.len() + number).is_multiple_of(2);
            if answered {
                server.answer(id);
            }
            let enough = if answered { processes } else { 1 };
            wait_for(&format!("{enough} of {script}"), || marked(&mark).len() >= enough);
            match *ending {
                Ending::Closed => assert_eq!(server.close().code, Some(0)),
                Ending::Terminated => assert_eq!(server.terminate().code, Some(0)),
                Ending::Killed => drop(server),
            }
            wait_for(&format!("{ending:?}: none of {script}"), || marked(&mark).is_empty());
        }
    }
}

/// By its own time, and by its client's will.
#[test]
fn nothing_outlives_a_call() {
    let rig = Rig::new();
    let mut server = rig.start(&[]);
    for number in 0..long_or(2, 100) * ESCAPES.len() {
        let (script, processes) = ESCAPES[number % ESCAPES.len()];
        for cancelled in [false, true] {
            let mark = mark();
            let mut call = sh(&script.replace("MARK", &mark));
            if cancelled {
                let id = server.request("tools/call", &call);
                wait_for(script, || marked(&mark).len() >= processes);
                server.cancel(id);
                wait_for(&format!("cancelled: none of {script}"), || marked(&mark).is_empty());
            } else {
                call["arguments"]["timeout_ms"] = json!(200);
                let answer = server.call(&call);
                let status = &answer["result"]["structuredContent"]["status"];
                assert_eq!(status, "timed_out", "{script}: {answer}");
                assert_eq!(marked(&mark), Vec::<i32>::new(), "{script}");
            }
        }
    }
    let pid = server.id();
    wait_for("no more children, not even one that has ended", || children(pid) == SPARE);
}

#[test]
fn many_calls_leave_nothing_open() {
    let rig = Rig::new();
    let mut server = rig.start(&[]);
    let call = json!({"name": "execute_command", "arguments": {"command": "true"}});
    server.call(&call);
    let pid = server.id();
    let open = || fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    wait_for("an idle server", || children(pid) == SPARE);
    let before = open();
    let calls = vec![call; 100];
    for _ in 0..long_or(2, 100) {
        for id in server.requests("tools/call", &calls) {
            assert_eq!(server.answer(id)["result"]["structuredContent"]["exit_code"], 0);
        }
    }
    wait_for("no more children, not even one that has ended", || children(pid) == SPARE);
    wait_for("no more descriptors than before", || open() <= before);
}

fn children(pid: u32) -> usize {
    let listed = Command::new("ps").args(["--ppid", &pid.to_string(), "-o", "pid="]).output();
    String::from_utf8(listed.unwrap().stdout).unwrap().lines().count()
}
