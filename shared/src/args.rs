//! The flags every server has, beside its own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;

use crate::limits::Limits;
use crate::policy::Audit;
use crate::registry::Registry;
use crate::seal::Seal;

#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// How much to log to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "warn", env = "MCP_LOG")]
    log: LevelFilter,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Append one JSON line for each call to this file
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Put the arguments of calls into the audit log, not only their digest
    #[arg(long, requires = "audit_log")]
    audit_arguments: bool,
    /// How long a call may run, not counting the time it waits for answers of the client
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = positive())]
    timeout_secs: u64,
    /// How long the client may take to answer a question
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = positive())]
    ask_timeout_secs: u64,
    /// How long calls may go on after the client has closed or SIGTERM has come
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    drain_secs: u64,
    /// Longest message accepted
    #[arg(long, value_name = "BYTES", default_value_t = 16_777_216, value_parser = positive())]
    max_message_bytes: u64,
    /// Deepest nesting of lists and objects in a message, 8 to 128
    #[arg(long, value_name = "LEVELS", default_value_t = 128, value_parser = clap::value_parser!(u64).range(8..=128))]
    max_depth: u64,
    /// Calls in flight at a time
    #[arg(long, value_name = "CALLS", default_value_t = 16_384, value_parser = positive())]
    max_in_flight: u64,
    /// Resources a client may subscribe to, and listen streams it may open
    #[arg(long, value_name = "NUMBER", default_value_t = 1_024)]
    max_subscriptions: u64,
    /// How long a task may run and its result is kept
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = positive())]
    task_ttl_secs: u64,
    /// Tasks kept at a time
    #[arg(long, value_name = "TASKS", default_value_t = 1_000, value_parser = positive())]
    max_tasks: u64,
    /// Calls a second for each client; no limit if not given
    #[arg(long, value_name = "CALLS", value_parser = clap::value_parser!(u32).range(1..))]
    rate_limit: Option<u32>,
    /// Keys for cursors and for the state of calls that wait for answers, one a line, 32 bytes in
    /// base64; the first is used, all are accepted. A random one if not given
    #[arg(long, value_name = "FILE")]
    state_key_file: Option<PathBuf>,
    #[cfg(feature = "http")]
    #[command(flatten)]
    pub(crate) http: crate::http::HttpArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

fn positive() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

impl Common {
    pub(crate) fn start_logging(&self) {
        let logging = tracing_subscriber::fmt()
            .with_max_level(self.log)
            .with_writer(std::io::stderr)
            .with_ansi(false);
        match self.log_format {
            LogFormat::Text => logging.init(),
            LogFormat::Json => logging.json().init(),
        }
    }

    pub(crate) fn apply(&self, registry: &mut Registry) -> anyhow::Result<()> {
        registry.limits = self.limits();
        if let Some(path) = &self.state_key_file {
            let read = || Seal::from_key_file(&fs::read_to_string(path)?);
            registry.seal =
                read().with_context(|| format!("--state-key-file {}", path.display()))?;
        }
        if let Some(path) = &self.audit_log {
            let audit = Audit::open(path, self.audit_arguments);
            registry.audit =
                Some(audit.with_context(|| format!("--audit-log {}", path.display()))?);
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        // On a 32-bit machine a larger number means no limit of ours.
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Limits {
            call_timeout: Duration::from_secs(self.timeout_secs),
            ask_timeout: Duration::from_secs(self.ask_timeout_secs),
            drain: Duration::from_secs(self.drain_secs),
            max_message_bytes: size(self.max_message_bytes),
            max_depth: size(self.max_depth),
            max_in_flight: size(self.max_in_flight),
            max_subscriptions: size(self.max_subscriptions),
            task_ttl: Duration::from_secs(self.task_ttl_secs),
            max_tasks: size(self.max_tasks),
            calls_per_second: self.rate_limit,
        }
    }
}
