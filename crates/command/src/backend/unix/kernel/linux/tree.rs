//! The processes of one call, as the helper sees them: all that descend from it. It is their
//! sub-reaper, so whoever loses its parent becomes its child and cannot get away by a double fork
//! or a session of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Passes over the tree before a kill, so that what forks meanwhile is stopped as well.
const MAX_PASSES: u32 = 100;

/// All that descend from this process, those included that have ended and are not yet reaped.
pub(crate) fn descendants() -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut unseen = vec![getpid().as_raw_pid()];
    while let Some(pid) = unseen.pop() {
        for child in children(pid) {
            if found.insert(child) {
                unseen.push(child);
            }
        }
    }
    found
}

/// How many descend from this process and have not ended.
pub(crate) fn alive() -> u64 {
    descendants().iter().filter(|pid| resident_pages(**pid) > Some(0)).count() as u64
}

/// Sends a signal to every one; those that are gone already do not matter.
pub(crate) fn signal_all(signal: Signal) {
    for pid in descendants() {
        send(pid, signal);
    }
}

/// Stops them all until no pass finds another, then kills them. Each is stopped before its
/// children are looked for, so that it cannot have new ones meanwhile.
pub(crate) fn kill_all() {
    let mut stopped = BTreeSet::new();
    for _ in 0..MAX_PASSES {
        let before = stopped.len();
        let mut unseen = children(getpid().as_raw_pid());
        while let Some(pid) = unseen.pop() {
            if stopped.insert(pid) {
                send(pid, Signal::STOP);
            }
            unseen.extend(children(pid));
        }
        if stopped.len() == before {
            break;
        }
    }
    signal_all(Signal::KILL);
}

/// How many there are and how much memory they hold together, shared pages counted once for each.
pub(crate) fn usage(page_bytes: u64) -> (u64, u64) {
    let pids = descendants();
    let pages: u64 = pids.iter().filter_map(|pid| resident_pages(*pid)).sum();
    (pids.len() as u64, pages.saturating_mul(page_bytes))
}

/// A process whose first thread has ended says so of any other.
fn resident_pages(pid: i32) -> Option<u64> {
    let pages = |of: PathBuf| -> Option<u64> {
        fs::read_to_string(of.join("statm")).ok()?.split(' ').nth(1)?.parse().ok()
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    let of_first = pages(process.clone())?;
    if of_first > 0 {
        return Some(of_first);
    }
    let threads = fs::read_dir(process.join("task")).ok()?;
    threads.filter_map(|thread| pages(thread.ok()?.path())).max()
}

/// A child belongs to the thread that started it, so every thread is asked.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone = kill_process(pid, signal);
    }
}
