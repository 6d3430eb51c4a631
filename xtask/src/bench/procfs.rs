//! What Linux knows of a process: CPU time and memory. Elsewhere these figures are missing and the
//! report says so.

use std::fs::read_to_string;
use std::time::Duration;

/// The kernel reports `stat` times in hundredths of a second on every architecture Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// User and system time used so far. `schedstat` counts nanoseconds but forgets threads that have
/// ended; `stat` counts ticks but forgets nothing: both are lower bounds, so the larger is better.
pub(crate) fn cpu(pid: u32) -> Option<Duration> {
    let mut threads = Duration::ZERO;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let line = read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let nanos = line.split_whitespace().next().and_then(|field| field.parse().ok());
        threads += Duration::from_nanos(nanos.unwrap_or(0));
    }
    Some(threads.max(ticks(&format!("/proc/{pid}/stat"), [13, 14])?))
}

/// Time used by the children of this process that have ended, and by theirs.
pub(crate) fn children_cpu() -> Option<Duration> {
    ticks("/proc/self/stat", [15, 16])
}

pub(crate) fn rss_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmRSS:")
}

pub(crate) fn peak_rss_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmHWM:")
}

/// How many processes want a core, averaged over a minute.
pub(crate) fn load_average() -> Option<f64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The sum of two fields of a `stat` line, numbered from 0; the command name in field 1 may hold
/// spaces, so the count starts after its closing parenthesis.
fn ticks(path: &str, fields: [usize; 2]) -> Option<Duration> {
    let line = read_to_string(path).ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let values: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| values.get(number - 2)?.parse::<u32>().ok();
    Some(TICK * (field(fields[0])? + field(fields[1])?))
}

fn status_mb(pid: u32, key: &str) -> Option<f64> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: f64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024.0)
}
