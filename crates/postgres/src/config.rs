//! The command line.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::backend::{Budget, CostLimits, Limits, ROLE_SQL, WATCH_SQL};

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
        required_unless_present_any = ["print_role_sql", "print_watch_sql"]
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
    /// Highest cost of a query by PostgreSQL's estimate, in its unit, about one page read in sequence;
    /// above it the user is asked. 0: any
    #[arg(long, value_name = "COST", default_value_t = 10_000_000)]
    pub(crate) max_cost: u64,
    /// Most bytes (rows times width) that one step of a plan may handle by estimate. 0: any
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 30)]
    pub(crate) max_step_bytes: u64,
    /// Most bytes of one table to read from beginning to end. 0: any
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    pub(crate) max_scan_bytes: u64,
    /// Print SQL that makes a role which may only read, and end
    #[arg(long)]
    pub(crate) print_role_sql: bool,
    /// File with the password for URLs that have none
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Folder whose files `execute` may load with `\copy`
    #[arg(long, value_name = "FOLDER", requires = "allow_write")]
    pub(crate) load_dir: Option<PathBuf>,
    /// Print SQL with which a database tells of changes to its structure at once, and end
    #[arg(long)]
    pub(crate) print_watch_sql: bool,
    /// How often to look whether tables somebody is subscribed to have changed
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) poll_secs: u64,
    /// Role that queries run as; a superuser's run as `pg_read_all_data` if not given
    #[arg(long, value_name = "ROLE")]
    pub(crate) assume_role: Option<String>,
}

impl Config {
    /// Prints what was asked for instead of serving, and ends the process.
    pub(crate) fn print_and_end(&self) -> anyhow::Result<()> {
        let Some(text) = self.printed() else { return Ok(()) };
        std::io::stdout().write_all(text.as_bytes())?;
        std::process::exit(0);
    }

    /// What is to be printed instead of serving.
    pub(crate) fn printed(&self) -> Option<&'static str> {
        let role = self.print_role_sql.then_some(ROLE_SQL);
        role.or_else(|| self.print_watch_sql.then_some(WATCH_SQL))
    }

    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_secs)
    }

    pub(crate) fn password(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("reading the password from {}", path.display()))?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    pub(crate) fn limits(&self) -> Limits {
        let connect = Duration::from_secs(self.connect_timeout_secs);
        Limits {
            connections: usize::from(self.max_connections),
            statement_timeout: Duration::from_secs(self.statement_timeout_secs),
            lock_timeout: Duration::from_secs(self.lock_timeout_secs),
            connect_timeout: connect,
            acquire_timeout: connect,
            role: self.assume_role.clone(),
            load_dir: self.load_dir.clone(),
            cost: CostLimits {
                max_cost: self.max_cost,
                max_step_bytes: self.max_step_bytes,
                max_scan_bytes: self.max_scan_bytes,
            },
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
