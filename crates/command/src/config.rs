//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::backend::{PATH, SandboxMode, Settings};

/// An MCP server that runs programs by a policy, in a sandbox, and leaves no process behind.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Directory programs may work in; give it again for more. The first is where they start
    #[arg(long, required = true, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What may be run; without it, programs that only read
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Append a JSON line to this file for each command that is started, refused or has ended
    #[arg(long, value_name = "FILE")]
    pub(crate) command_log: Option<PathBuf>,
    /// Directory programs may read beside the roots and the system's own
    #[arg(long, value_name = "DIR")]
    pub(crate) read: Vec<PathBuf>,
    /// Where programs are looked for, in this order
    #[arg(long, value_name = "DIRS", default_value = PATH)]
    pub(crate) path: String,
    /// What to do where the kernel cannot confine a program: off, best-effort or required
    #[arg(long, value_name = "MODE", default_value = "best-effort")]
    pub(crate) sandbox: SandboxMode,
    /// How long a program may run if the call does not say
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = positive())]
    pub(crate) default_timeout_ms: u64,
    /// How long a program may run at most
    #[arg(long, value_name = "MS", default_value_t = 3_600_000, value_parser = positive())]
    pub(crate) max_timeout_ms: u64,
    /// How long a program may take to end after it was asked to
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    pub(crate) grace_ms: u64,
    /// Commands running at a time; more wait for their turn
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = positive())]
    pub(crate) max_running: u64,
    /// Commands waiting for their turn; more are refused
    #[arg(long, value_name = "NUMBER", default_value_t = 256)]
    pub(crate) max_waiting: u64,
    /// Processes of one command; with more it is killed
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = positive())]
    pub(crate) max_processes: u64,
    /// Memory of one command, all its processes together; with more it is killed
    #[arg(long, value_name = "MIB", default_value_t = 4_096, value_parser = positive())]
    pub(crate) max_memory_mib: u64,
    /// Output kept of each stream of a command; of a longer one the start and the end
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = positive())]
    pub(crate) max_output_mib: u64,
}

fn positive() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

impl Config {
    pub(crate) fn settings(&self) -> Settings {
        const MIB: u64 = 1024 * 1024;
        Settings {
            roots: self.root.clone(),
            policy: self.policy.clone(),
            command_log: self.command_log.clone(),
            also_readable: self.read.clone(),
            path: self.path.clone(),
            sandbox: self.sandbox,
            default_timeout: Duration::from_millis(self.default_timeout_ms),
            max_timeout: Duration::from_millis(self.max_timeout_ms),
            grace: Duration::from_millis(self.grace_ms),
            max_running: usize::try_from(self.max_running).unwrap_or(usize::MAX),
            max_waiting: usize::try_from(self.max_waiting).unwrap_or(usize::MAX),
            max_processes: self.max_processes,
            max_memory_bytes: self.max_memory_mib.saturating_mul(MIB),
            max_output_bytes: self.max_output_mib.saturating_mul(MIB),
        }
    }
}
