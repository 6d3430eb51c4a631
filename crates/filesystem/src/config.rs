//! The command line.

use std::path::PathBuf;

use crate::backend::Access;

/// An MCP server for the files of chosen directories and no others. Read-only unless told.
#[derive(Debug, Default, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Directories to serve; `DIR:ro` and `DIR:rw` say so for one, whatever `--rw` says
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<String>,
    /// Let files be written, edited, moved and copied
    #[arg(long)]
    pub(crate) rw: bool,
    /// Let files and directories be deleted, where they may be written
    #[arg(long)]
    pub(crate) allow_delete: bool,
    /// Ask clients which directories they work in, and serve each only what is in them as well
    #[arg(long)]
    pub(crate) client_roots: bool,
    /// Never show what this glob matches, nor anything below it; `.env` matches at any depth
    #[arg(long, value_name = "GLOB")]
    pub(crate) deny: Vec<String>,
}

impl Config {
    pub(crate) fn served(&self) -> Vec<(PathBuf, Access)> {
        let default = if self.rw { Access::ReadWrite } else { Access::ReadOnly };
        let read = |dir: &String| {
            if let Some(dir) = dir.strip_suffix(":ro") {
                (PathBuf::from(dir), Access::ReadOnly)
            } else if let Some(dir) = dir.strip_suffix(":rw") {
                (PathBuf::from(dir), Access::ReadWrite)
            } else {
                (PathBuf::from(dir), default)
            }
        };
        self.dirs.iter().map(read).collect()
    }
}
