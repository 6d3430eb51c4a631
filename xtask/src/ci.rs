//! `cargo xtask ci`: what CI runs, so that a contributor can run exactly the same. Every step runs
//! even after one has failed: one push then shows all that is wrong.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::workspace::{Workspace, run as run_command};
use crate::{list, test, tidy};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the official JSON Schemas, one folder for each revision
    #[arg(long, env = "MCP_SCHEMA_DIR")]
    schema_dir: Option<PathBuf>,
}

type Step<'a> = (&'a str, &'a dyn Fn() -> Result<()>);

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let steps: [Step<'_>; 7] = [
        ("format", &|| cargo(workspace, &["fmt", "--all", "--check"])),
        ("clippy", &|| clippy(workspace)),
        ("tidy", &|| tidy::run(workspace)),
        ("list --check", &|| list::check(workspace)),
        ("test", &|| test::run_all(workspace, args.schema_dir.clone())),
        ("demo", &|| cargo(workspace, &["xtask", "demo"])),
        ("docs", &|| docs(workspace)),
    ];
    let mut failed = Vec::new();
    for (name, step) in steps {
        println!("\n== {name}");
        if let Err(error) = step() {
            println!("{name}: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("\nci: every step passed");
    Ok(())
}

fn clippy(workspace: &Workspace) -> Result<()> {
    cargo(workspace, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn docs(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
    run_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    run_command(&mut workspace.cargo(arguments))
}
