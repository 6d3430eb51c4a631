//! The command server over a directory of its own, and what tests ask the machine about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use workspace_tests::clock::{Instant, PATIENCE};

use crate::built::binary;
use crate::policies::running::Running;

/// The short form runs everywhere, the long one where somebody asks for it.
pub(super) fn long_or(short: usize, long: usize) -> usize {
    if std::env::var_os("COMMAND_TESTS_LONG").is_some() { long } else { short }
}

/// A directory for the server and a policy that lets it run shells.
pub(super) struct Rig {
    outside: tempfile::TempDir,
    program: PathBuf,
}

impl Rig {
    pub(super) fn new() -> Self {
        let rig = Self { outside: tempfile::tempdir().unwrap(), program: binary("mcp-command") };
        fs::create_dir(rig.root()).unwrap();
        rig.policy("grant = ['data', 'interpreter']");
        rig
    }

    pub(super) fn root(&self) -> PathBuf {
        self.outside.path().join("root")
    }

    pub(super) fn outside(&self) -> &Path {
        self.outside.path()
    }

    pub(super) fn policy(&self, text: &str) {
        fs::write(self.outside.path().join("policy.toml"), text).unwrap();
    }

    pub(super) fn command(&self, flags: &[&str]) -> Vec<String> {
        let shown = |path: &Path| path.to_str().unwrap().to_owned();
        let (root, policy) = (self.root(), self.outside.path().join("policy.toml"));
        let own = ["--grace-ms", "200", "--root"].map(str::to_owned);
        let mut command = vec![shown(&self.program)];
        command.extend(own);
        command.extend([shown(&root), "--policy".to_owned(), shown(&policy)]);
        command.extend(flags.iter().map(|flag| (*flag).to_owned()));
        command
    }

    pub(super) fn start(&self, flags: &[&str]) -> Running {
        let mut server = Running::spawn(&self.command(flags));
        server.initialize();
        server
    }
}

/// A call that runs a script in a shell.
pub(super) fn sh(script: &str) -> Value {
    let arguments = json!({"command": "sh", "args": ["-c", script], "timeout_ms": 600_000});
    json!({"name": "execute_command", "arguments": arguments})
}

/// The same as a job.
pub(super) fn sh_job(script: &str) -> Value {
    let mut call = sh(script);
    call["arguments"]["background"] = json!(true);
    call
}

pub(super) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A number of seconds nobody else sleeps, as the mark of a process.
pub(super) fn mark() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("{}.{number:05}", 200_000 + std::process::id())
}

/// Living processes with `mark` as one of their arguments.
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    })
    .collect()
}
