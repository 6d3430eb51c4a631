//! All processes of one call: those in its job object. A process is put into it before it runs, and what
//! it starts is in it as well and cannot leave. Closing the job, which the end of this process does too,
//! ends them all.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use win32job::{ExtendedLimitInfo, Job};
use winsafe::guard::CloseHandleGuard;
use winsafe::{FILETIME, HPROCESS, co};

/// What shows a console's text, and ends soon after the last program on it.
const CONSOLE: &str = r"\conhost.exe";
/// Of the unit of processor time, in a millisecond.
const TICKS: u64 = 10_000;

pub(super) struct Tree {
    job: Arc<Job>,
    /// Held open, so that what they used can be asked for after their end.
    seen: BTreeMap<usize, CloseHandleGuard<HPROCESS>>,
    /// Of those that have ended and are not held any more.
    ended_cpu_ms: u64,
    max_rss_bytes: u64,
}

impl Tree {
    pub(super) fn create() -> io::Result<Self> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        Ok(Self {
            job: Arc::new(Job::create_with_limit_info(&limits)?),
            seen: BTreeMap::new(),
            ended_cpu_ms: 0,
            max_rss_bytes: 0,
        })
    }

    pub(super) fn job(&self) -> Arc<Job> {
        Arc::clone(&self.job)
    }

    /// How many there are and how much memory they hold together. More than can be listed are as many
    /// as there can be.
    pub(super) fn usage(&mut self) -> (u64, u64) {
        let Ok(ids) = self.job.query_process_id_list() else { return (u64::MAX, 0) };
        for id in &ids {
            if !self.seen.contains_key(id)
                && let Some(process) = open(*id)
            {
                self.seen.insert(*id, process);
            }
        }
        let mut bytes = 0;
        let mut gone = Vec::new();
        for (id, process) in &self.seen {
            let (now, most) = memory(process);
            self.max_rss_bytes = self.max_rss_bytes.max(most);
            bytes += now;
            if !ids.contains(id) {
                self.ended_cpu_ms += cpu_ms(process);
                gone.push(*id);
            }
        }
        gone.iter().for_each(|id| drop(self.seen.remove(id)));
        (ids.len() as u64, bytes)
    }

    /// Those that still run, without what only shows their text and those known to have `ended`, which
    /// may be listed a moment longer.
    pub(super) fn alive(&self, ended: &[usize]) -> u64 {
        let Ok(ids) = self.job.query_process_id_list() else { return u64::MAX };
        let is_console = |id: &usize| {
            let name =
                open(*id).and_then(|it| it.QueryFullProcessImageName(co::PROCESS_NAME::WIN32).ok());
            name.is_some_and(|name| name.to_lowercase().ends_with(CONSOLE))
        };
        ids.iter().filter(|id| !ended.contains(id) && !is_console(id)).count() as u64
    }

    /// Processor time of all that were seen, and the most memory one of them held.
    pub(super) fn used(&mut self) -> (u64, u64) {
        let _now = self.usage();
        let cpu_ms = self.seen.values().map(|it| cpu_ms(it)).sum::<u64>() + self.ended_cpu_ms;
        (cpu_ms, self.max_rss_bytes)
    }
}

fn open(id: usize) -> Option<CloseHandleGuard<HPROCESS>> {
    let id = u32::try_from(id).ok()?;
    HPROCESS::OpenProcess(co::PROCESS::QUERY_LIMITED_INFORMATION, false, id).ok()
}

fn cpu_ms(process: &HPROCESS) -> u64 {
    let ticks =
        |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    let times = process.GetProcessTimes();
    times.map_or(0, |(_, _, kernel, user)| (ticks(kernel) + ticks(user)) / TICKS)
}

/// Bytes now, and the most there have been.
fn memory(process: &HPROCESS) -> (u64, u64) {
    let known = process.GetProcessMemoryInfo();
    known.map_or((0, 0), |it| (it.WorkingSetSize as u64, it.PeakWorkingSetSize as u64))
}
