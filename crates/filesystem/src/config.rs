//! The command line.

use std::path::PathBuf;

/// An MCP server that shows the files of chosen directories, read-only.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Directories whose files may be read
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Never show what this glob matches, nor anything below it; `.env` matches at any depth
    #[arg(long, value_name = "GLOB")]
    pub(crate) deny: Vec<String>,
}
