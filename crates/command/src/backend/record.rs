//! The operator's own record of what was run and what was refused: a line of JSON for each event,
//! with the arguments, the entry of the policy, the policy's digest and what the sandbox held.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Error;
use super::guarantees::Guarantees;
use super::job::Job;
use super::system;

#[derive(Debug)]
pub(super) struct Record {
    file: Mutex<File>,
    policy: String,
}

impl Record {
    /// Appends; a new file is readable to its owner only.
    pub(super) fn open(path: &Path, policy: &str) -> Result<Arc<Self>, Error> {
        let mut options = OpenOptions::new();
        let file = system::private(options.create(true).append(true)).open(path);
        let file = file.map_err(|cause| Error::CommandLog { path: path.to_owned(), cause })?;
        Ok(Arc::new(Self { file: Mutex::new(file), policy: policy.to_owned() }))
    }

    pub(super) fn refused(&self, commands: &[(String, Vec<String>)], why: &str) {
        self.write(json!({"event": "refused", "commands": commands, "why": why}));
    }

    /// Two lines, so that one is there even if the server does not see the end.
    pub(super) fn follow(self: &Arc<Self>, job: &Arc<Job>, sandbox: Guarantees) {
        let commands: Vec<Value> = job
            .decisions
            .iter()
            .map(|it| json!({"program": it.found.path, "args": it.args, "rule": it.rule}))
            .collect();
        self.write(json!({
            "event": "started", "job": job.id, "commands": commands, "cwd": job.cwd,
            "sandbox": sandbox,
        }));
        let (record, job) = (Arc::clone(self), Arc::clone(job));
        tokio::spawn(async move {
            let ended = job.ended().await;
            record.write(json!({
                "event": "ended", "job": job.id, "how": format!("{:?}", ended.how),
                "exits": ended.exits, "killed": ended.killed, "cpu_ms": ended.cpu_ms,
                "duration_ms": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
                "stdout_bytes": job.stdout.totals().bytes,
                "stderr_bytes": job.stderr.as_ref().map(|stream| stream.totals().bytes),
            }));
        });
    }

    /// A full disk must not stop the server; its log says that lines are missing.
    fn write(&self, mut line: Value) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if let Some(members) = line.as_object_mut() {
            members.insert("time_unix_secs".to_owned(), json!(now.as_secs_f64()));
            members.insert("policy".to_owned(), json!(self.policy));
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // In one write, so that lines of several servers do not mix.
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::error!("the command log could not be written: {error}");
        }
    }
}
