//! What is measured: our servers, the same two tools on the official SDK, and the floors. Each peer
//! is a workspace of its own under `tests/bench/`, built here, so nothing has to be installed.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace::{Profile, Workspace, run as run_command};

pub(crate) const NAMES: &[&str] = &["calculator", "echo", "rmcp", "floor-blocking", "floor-inline"];

const STATEFUL: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";
const ALL: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", STATEFUL, MODERN];

#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) revisions: &'static [&'static str],
    /// Has `calculate_sum {a, b}` answering `{"sum": …}`.
    pub(crate) sums: bool,
    /// Has `echo {message}`.
    pub(crate) echoes: bool,
    /// Has `calculate_power {base, exponent}`, which asks before it shows a long result.
    pub(crate) asks: bool,
}

/// Builds the subjects asked for. One that cannot be built is skipped, with the reason, and the
/// others are still measured.
pub(crate) fn prepare(
    workspace: &Workspace,
    wanted: impl Fn(&str) -> bool,
) -> (Vec<Subject>, Vec<(String, String)>) {
    let (mut subjects, mut skipped) = (Vec::new(), Vec::new());
    for name in NAMES.iter().filter(|name| wanted(name)) {
        match build(workspace, name) {
            Ok(subject) => subjects.push(subject),
            Err(error) => skipped.push(((*name).to_owned(), format!("{error:#}"))),
        }
    }
    (subjects, skipped)
}

fn build(workspace: &Workspace, name: &'static str) -> Result<Subject> {
    let both = [STATEFUL, MODERN].as_slice();
    let one = [STATEFUL].as_slice();
    let subject = |command, revisions, sums, echoes| Subject {
        name,
        command,
        revisions,
        sums,
        echoes,
        asks: name == "calculator",
    };
    Ok(match name {
        "calculator" => subject(calculator(workspace)?, ALL, true, false),
        "echo" => subject(peer(workspace, "ours", "ours", &[], &[])?, both, false, true),
        "rmcp" => subject(peer(workspace, "rmcp", "rmcp", &[], &[])?, both, true, true),
        "floor-blocking" => {
            subject(peer(workspace, "floor", "floor", &[], &["blocking"])?, one, true, true)
        }
        _ => subject(peer(workspace, "floor", "floor", &[], &["inline"])?, one, true, true),
    })
}

pub(crate) fn calculator(workspace: &Workspace) -> Result<Vec<String>> {
    let servers = workspace.select(&["calculator".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no calculator")?;
    let binary = shown(&workspace.binary(server, Profile::Release));
    // Far above any rate measured: what counts is that each call is held against it.
    Ok(vec![binary, "--rate-limit".to_owned(), "100000000".to_owned()])
}

/// The peers share one target folder beside the workspace's: they are built once, and their
/// features never mix with the servers'.
pub(crate) fn peer(
    workspace: &Workspace,
    folder: &str,
    binary: &str,
    flags: &[&str],
    arguments: &[&str],
) -> Result<Vec<String>> {
    let manifest = workspace.root.join("tests/bench").join(folder).join("Cargo.toml");
    let target = workspace.target_dir.join("bench-peers");
    let mut cargo = workspace.cargo(&["build", "--release", "--manifest-path"]);
    run_command(cargo.arg(manifest).args(flags).arg("--target-dir").arg(&target))?;
    let file = format!("bench-{binary}{}", std::env::consts::EXE_SUFFIX);
    let mut command = vec![shown(&target.join("release").join(file))];
    command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    Ok(command)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
