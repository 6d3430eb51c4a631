//! `cargo xtask conformance`: the front end of the conformance engine in `tests/`.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers to check; all when none is named
    names: Vec<String>,
}

pub(crate) fn run(_workspace: &Workspace, args: &Args) -> Result<()> {
    anyhow::bail!("not wired yet: {:?}", args.names)
}

pub(crate) fn run_all(_workspace: &Workspace, _schema_dir: Option<PathBuf>) -> Result<()> {
    anyhow::bail!("not wired yet")
}
