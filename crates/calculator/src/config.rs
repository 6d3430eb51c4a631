//! The command line.

/// An MCP server that adds, counts down and knows the times tables.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Longest countdown allowed, in ticks
    #[arg(long, value_name = "TICKS", default_value_t = 3600)]
    pub(crate) max_ticks: u32,
}
