//! The command server as a process: however it ends, nothing it has started is left, and many
//! calls leave nothing open in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::built::binary;
use crate::policies::running::Running;

const PATIENCE: Duration = Duration::from_secs(20);

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
    for ending in [Ending::Closed, Ending::Terminated, Ending::Killed] {
        for (script, processes) in ESCAPES {
            number += 1;
            // A number of seconds nobody else sleeps.
            let mark = format!("{}.{number:03}", 200_000 + std::process::id());
            let mut server = rig.start();
            let script = script.replace("MARK", &mark);
            server.call(&sh(&script));
            wait_for(&format!("{processes} of {script}"), || marked(&mark).len() == processes);
            match ending {
                Ending::Closed => assert_eq!(server.close().code, Some(0)),
                Ending::Terminated => assert_eq!(server.terminate().code, Some(0)),
                Ending::Killed => drop(server),
            }
            wait_for(&format!("{ending:?}: none of {script}"), || marked(&mark).is_empty());
        }
    }
}

#[test]
fn many_calls_leave_nothing_open() {
    const CALLS: usize = 200;
    let rig = Rig::new();
    let mut server = rig.start();
    let call = json!({"name": "execute_command", "arguments": {"command": "true"}});
    server.call(&call);
    let pid = server.id();
    let open = || fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    // One process is kept ready for the next call.
    wait_for("an idle server", || children(pid) == 1);
    let before = open();
    let calls = vec![call; CALLS];
    for id in server.requests("tools/call", &calls) {
        assert_eq!(server.answer(id)["result"]["structuredContent"]["exit_code"], 0);
    }
    wait_for("no more children, not even one that has ended", || children(pid) == 1);
    wait_for("no more descriptors than before", || open() <= before);
}

/// A directory for the server and a policy that lets it run shells.
struct Rig {
    outside: tempfile::TempDir,
    program: PathBuf,
}

impl Rig {
    fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("root")).unwrap();
        fs::write(outside.path().join("policy.toml"), "grant = ['data', 'interpreter']").unwrap();
        Self { outside, program: binary("mcp-command") }
    }

    fn start(&self) -> Running {
        let path = |part: &Path| part.to_str().unwrap().to_owned();
        let (root, policy) =
            (self.outside.path().join("root"), self.outside.path().join("policy.toml"));
        let flags = ["--grace-ms".to_owned(), "200".to_owned(), "--root".to_owned(), path(&root)];
        let policy = ["--policy".to_owned(), path(&policy)];
        let command: Vec<String> =
            [path(&self.program)].into_iter().chain(flags).chain(policy).collect();
        let mut server = Running::spawn(&command);
        server.initialize();
        server
    }
}

fn sh(script: &str) -> Value {
    let arguments = json!({"command": "sh", "args": ["-c", script], "background": true});
    json!({"name": "execute_command", "arguments": arguments})
}

/// Living processes with `mark` as one of their arguments.
fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    })
    .collect()
}

fn children(pid: u32) -> usize {
    let listed = Command::new("ps").args(["--ppid", &pid.to_string(), "-o", "pid="]).output();
    String::from_utf8(listed.unwrap().stdout).unwrap().lines().count()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(10));
    }
}
