//! What every server does for its operator: limits of rate and time, and a record of each call.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::Instant;

use crate::call::Call;
use crate::error::Error;
use crate::lock::lock;
use crate::seal::digest;

/// Lets calls through at a steady rate, a few at once, and tells the rest when to come again.
///
/// The generic cell rate algorithm: one moment in time is all there is to remember.
#[derive(Debug)]
pub(crate) struct RateLimit {
    interval: Duration,
    tolerance: Duration,
    /// When the next call would be due if all so far had kept to the rate.
    due: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// A tenth of a second's calls, and one at least, may come at once.
    pub(crate) fn new(calls_per_second: u32) -> Self {
        let interval = Duration::from_secs(1) / calls_per_second.max(1);
        Self { interval, tolerance: interval * (calls_per_second / 10), due: Mutex::new(None) }
    }

    pub(crate) fn admit(&self) -> Result<(), Error> {
        let now = Instant::now();
        let mut due = lock(&self.due);
        let next = due.unwrap_or(now).max(now);
        let early = next.duration_since(now).saturating_sub(self.tolerance);
        if early > Duration::ZERO {
            return Err(Error::RateLimited { retry_after: early });
        }
        *due = Some(next + self.interval);
        Ok(())
    }
}

/// The time a call has spent waiting for its client's answers, which its own limit leaves out.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<WaitingState>);

#[derive(Debug, Default)]
struct WaitingState {
    questions: usize,
    since: Option<Instant>,
    total: Duration,
}

/// Counts as waiting until it is dropped.
pub(crate) struct WaitingNow<'a>(&'a Waiting);

impl Waiting {
    pub(crate) fn begin(&self) -> WaitingNow<'_> {
        let mut state = lock(&self.0);
        state.questions += 1;
        state.since.get_or_insert_with(Instant::now);
        WaitingNow(self)
    }

    fn total(&self) -> Duration {
        let state = lock(&self.0);
        state.total + state.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Drop for WaitingNow<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.questions = state.questions.saturating_sub(1);
        if state.questions == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}

/// Runs until `work` is done or `call` has worked for `timeout`; `None` if the time is up.
pub(crate) async fn within<T>(
    timeout: Duration,
    call: &Call,
    work: impl Future<Output = T>,
) -> Option<T> {
    let started = Instant::now();
    tokio::pin!(work);
    let mut waited = Duration::ZERO;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            () = tokio::time::sleep_until(started + timeout + waited) => {}
        }
        let now_waited = call.waiting().total();
        if now_waited == waited {
            return None;
        }
        waited = now_waited;
    }
}

/// A file with one JSON line for each call.
#[derive(Debug)]
pub(crate) struct Audit {
    file: Mutex<File>,
    with_arguments: bool,
}

/// What is known of a call when it begins.
#[derive(Debug)]
pub(crate) struct AuditEntry {
    at: SystemTime,
    started: Instant,
    arguments_digest: String,
    arguments: Option<Box<str>>,
    bytes_in: usize,
}

#[derive(Serialize)]
struct AuditLine<'a> {
    time: String,
    principal: Option<&'a str>,
    client: String,
    revision: &'a str,
    kind: &'a str,
    name: &'a str,
    arguments_digest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    outcome: &'a str,
    duration_ms: f64,
    bytes_in: usize,
    bytes_out: usize,
}

impl Audit {
    /// Appends to `path`, and makes it readable to its owner only if it is new.
    pub(crate) fn open(path: &Path, with_arguments: bool) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: Mutex::new(options.open(path)?), with_arguments })
    }

    pub(crate) fn begin(&self, arguments: &str) -> AuditEntry {
        AuditEntry {
            at: SystemTime::now(),
            started: Instant::now(),
            arguments_digest: digest(arguments.as_bytes()),
            arguments: self.with_arguments.then(|| arguments.into()),
            bytes_in: arguments.len(),
        }
    }

    /// Writes the line. A full disk must not stop the server; the log says that lines are missing.
    pub(crate) fn end(&self, call: &Call, entry: &AuditEntry, outcome: &str, bytes_out: usize) {
        let line = AuditLine {
            time: humantime::format_rfc3339_millis(entry.at).to_string(),
            principal: call.principal.as_ref().map(|principal| principal.name.as_str()),
            client: call.client.info().name,
            revision: call.revision.as_str(),
            kind: call.kind.as_str(),
            name: &call.subject,
            arguments_digest: &entry.arguments_digest,
            arguments: entry.arguments.as_deref(),
            outcome,
            duration_ms: entry.started.elapsed().as_secs_f64() * 1000.0,
            bytes_in: entry.bytes_in,
            bytes_out,
        };
        let written =
            serde_json::to_vec(&line).map_err(std::io::Error::from).and_then(|mut line| {
                line.push(b'\n');
                lock(&self.file).write_all(&line)
            });
        if let Err(error) = written {
            tracing::error!("the audit log could not be written: {error}");
        }
    }
}
