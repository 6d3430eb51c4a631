//! The command line.

use std::time::Duration;

use crate::backend::{Budget, Limits};

/// An MCP server for PostgreSQL databases. It only reads, unless told otherwise.
#[derive(Debug, Clone, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Databases as `postgres://USER:PASSWORD@HOST:PORT/NAME`, or `NAME=URL` to choose the name the
    /// model uses; the first is the default
    #[arg(
        value_name = "[NAME=]URL",
        env = "DATABASE_URL",
        hide_env_values = true,
        required = true
    )]
    pub(crate) urls: Vec<String>,
    /// Offer a tool that writes, each time after the user has agreed
    #[arg(long)]
    pub(crate) allow_write: bool,
    /// Connections to each database; one more is kept for cancelling
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) max_connections: u16,
    /// Longest time a statement may run on the server
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) statement_timeout_secs: u64,
    /// Longest time a statement waits for a lock
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) lock_timeout_secs: u64,
    /// Longest time to reach a database, or to wait for one of its connections
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) connect_timeout_secs: u64,
    /// Most bytes of rows in one answer
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u64).range(1024..=1_073_741_824))]
    pub(crate) max_result_bytes: u64,
    /// Most bytes of one value; longer ones are cut
    #[arg(long, value_name = "BYTES", default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(64..=1_073_741_824))]
    pub(crate) max_cell_bytes: u64,
    /// Role that queries run as; a superuser's run as `pg_read_all_data` if not given
    #[arg(long, value_name = "ROLE")]
    pub(crate) assume_role: Option<String>,
}

impl Config {
    pub(crate) fn limits(&self) -> Limits {
        let connect = Duration::from_secs(self.connect_timeout_secs);
        Limits {
            connections: usize::from(self.max_connections),
            statement_timeout: Duration::from_secs(self.statement_timeout_secs),
            lock_timeout: Duration::from_secs(self.lock_timeout_secs),
            connect_timeout: connect,
            acquire_timeout: connect,
            role: self.assume_role.clone(),
        }
    }

    /// How much one answer may hold; each call says how many rows it wants.
    pub(crate) fn budget(&self) -> Budget {
        // On a 32-bit machine a larger number means no limit of ours.
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Budget {
            max_rows: usize::MAX,
            max_bytes: size(self.max_result_bytes),
            max_cell_bytes: size(self.max_cell_bytes),
        }
    }
}
