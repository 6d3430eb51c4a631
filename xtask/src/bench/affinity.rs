//! Where client and server run. Left alone, the scheduler puts them now on one core and now on two,
//! and waking another core of a virtual machine costs twenty times what the server does: the figure
//! would say where the two ran and not how fast the server is. So single calls are timed with both
//! on one core, and the most a server can do with a core of its own.

use std::process::{Command, Stdio};

/// Undone when dropped.
pub(crate) struct Pinned {
    pids: [u32; 2],
    allowed: String,
}

impl Pinned {
    /// The two on one core. Nothing where the system has no `taskset`.
    pub(crate) fn together(server: u32) -> Option<Self> {
        let allowed = allowed_cores()?;
        let (first, _) = outermost(&allowed);
        Self::pin(&first, &first, server, allowed)
    }

    /// The server on one core and we on another. Nothing where there is only one.
    pub(crate) fn apart(server: u32) -> Option<Self> {
        let allowed = allowed_cores()?;
        let (first, last) = outermost(&allowed);
        if first == last { None } else { Self::pin(&last, &first, server, allowed) }
    }

    fn pin(ours: &str, theirs: &str, server: u32, allowed: String) -> Option<Self> {
        let both = Self { pids: [std::process::id(), server], allowed };
        (set(std::process::id(), ours) && set(server, theirs)).then_some(both)
    }
}

impl Drop for Pinned {
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

/// The first and the last of a list such as `0-3,6`.
fn outermost(cores: &str) -> (String, String) {
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect();
    let last = cores.rsplit([',', '-']).next().unwrap_or(cores);
    (number(cores), number(last))
}

fn allowed_cores() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}
