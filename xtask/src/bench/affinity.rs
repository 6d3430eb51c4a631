//! Client and server on one core while single calls are timed. Left alone, the scheduler puts them
//! now on one core and now on two, and waking another core of a virtual machine costs twenty times
//! what the server does: the figure would say where the two ran and not how fast the server is.

use std::process::{Command, Stdio};

/// Undone when dropped.
pub(crate) struct OneCore {
    pids: [u32; 2],
    allowed: String,
}

impl OneCore {
    /// Nothing where the system has no `taskset`.
    pub(crate) fn shared_with(server: u32) -> Option<Self> {
        let allowed = allowed_cores()?;
        let first: String = allowed.chars().take_while(char::is_ascii_digit).collect();
        let both = Self { pids: [std::process::id(), server], allowed };
        both.pids.iter().all(|pid| set(*pid, &first)).then_some(both)
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        for pid in self.pids {
            set(pid, &self.allowed);
        }
    }
}

fn set(pid: u32, cores: &str) -> bool {
    let mut taskset = Command::new("taskset");
    taskset.args(["--all-tasks", "--cpu-list", "--pid", cores, &pid.to_string()]);
    taskset
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn allowed_cores() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}
