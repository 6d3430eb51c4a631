//! The command line.

use std::path::PathBuf;

/// An MCP server that answers questions about CSV files, exactly.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Directories whose files may be read
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}
