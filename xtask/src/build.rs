//! `cargo xtask build`: every server, or the ones named.

use anyhow::Result;

use crate::workspace::{Profile, Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers to build; all when none is named
    names: Vec<String>,
    /// Build the optimised binaries
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let servers = workspace.select(&args.names)?;
    let profile = if args.release { Profile::Release } else { Profile::Debug };
    workspace.build(&servers, profile)?;
    for server in &servers {
        println!("{}", workspace.binary(server, profile).display());
    }
    Ok(())
}
