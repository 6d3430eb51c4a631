//! The control group of one call, where the system lets us make one: its programs cannot have more
//! processes and threads than it allows, however fast they multiply. Only the first version of
//! control groups is used: in the second, who has processes of their own cannot have such groups.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Threads count as well, and many programs have more of them than processes. This bounds what
/// multiplies; [`crate::backend::unix::helper`] counts the processes.
const TASKS_FOR_EACH_PROCESS: u64 = 4;

/// Processes and threads together.
pub(crate) fn most_tasks(max_processes: u64) -> u64 {
    max_processes.saturating_mul(TASKS_FOR_EACH_PROCESS)
}

const MAX_TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// Removed when dropped, if nobody is in it any more.
#[derive(Debug)]
pub(crate) struct Group {
    dir: PathBuf,
}

impl Group {
    /// `None`: not to be had here.
    pub(crate) fn create(max_processes: u64) -> Option<Self> {
        let dir = parent()?.join(format!("mcp-command-{}", std::process::id()));
        // Left by a process that had this one's number and was killed.
        let _none = fs::remove_dir(&dir);
        fs::create_dir(&dir).ok()?;
        let group = Self { dir };
        group.limit(max_processes).ok()?;
        Some(group)
    }

    pub(crate) fn limit(&self, max_processes: u64) -> io::Result<()> {
        fs::write(self.dir.join("pids.max"), most_tasks(max_processes).to_string())
    }

    /// Puts the calling thread into it, and with it what the thread starts.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // The file for processes would have all of the system's wait.
        fs::write(self.dir.join("tasks"), "0")
    }

    /// Whether somebody was refused a process or a thread for it.
    pub(crate) fn was_full(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("pids.events")).unwrap_or_default();
        events.lines().any(|line| line.strip_prefix("max ").is_some_and(|times| times != "0"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..MAX_TRIES {
            // Who has ended may still be counted for a moment.
            match fs::remove_dir(&self.dir) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(BETWEEN_TRIES);
                }
                _ => return,
            }
        }
    }
}

/// The group this process is in.
fn parent() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.split_once(":pids:"))?.1;
    Some(PathBuf::from("/sys/fs/cgroup/pids").join(path.trim_start_matches('/')))
}
