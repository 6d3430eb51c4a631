//! `cargo xtask bench`: how fast and how small, beside the official SDK and beside what the machine
//! allows, all in the same run. Rounds are interleaved, so a busy minute hits everyone; CPU time
//! per call is the figure to trust first, because a neighbour cannot take it away.
//!
//! Reading order: this file, `subject.rs` (what is measured), `stdio.rs` (how), `metric.rs` (the
//! targets), `report.rs`. `size.rs`, `csv.rs`, `filesystem.rs`, `command.rs`, `postgres.rs`,
//! `github.rs` and `http.rs` are further sections of the report.

mod subject;
mod stdio;
mod asks;
mod peer;
mod wire;
mod procfs;
mod affinity;
mod metric;
mod report;
mod size;
mod csv;
mod csv_peers;
mod http;
mod filesystem;
mod command;
mod github;
mod csv_file;
mod postgres;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::workspace::{Workspace, run as run_command};
use report::Report;
use subject::Subject;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Subjects and sections to measure: calculator, echo, rmcp, floor-blocking, floor-inline,
    /// size, csv, filesystem, command, postgres, github, http; all when none is named
    names: Vec<String>,
    /// Rounds over all subjects; the median is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// One short round and a small CSV file, no clean build: to see that the bench works
    #[arg(long)]
    quick: bool,
    /// Another filesystem server to measure beside ours: a command that takes the directory last
    #[arg(long, value_name = "COMMAND")]
    filesystem_peer: Option<String>,
    /// Write every figure of every round as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Args {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|asked| asked == name)
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    check_names(args)?;
    if cfg!(debug_assertions) {
        return run_optimised(workspace);
    }
    let mut report = Report::new();
    let (subjects, skipped) = subject::prepare(workspace, |name| args.wants(name));
    report.skip_all(skipped);
    let load = if args.quick { stdio::QUICK } else { stdio::FULL };
    let rounds = if args.quick { 1 } else { args.rounds };
    measure_speed(&subjects, rounds, load, &mut report);
    if args.wants("csv") {
        csv::measure(workspace, args.quick, &mut report);
    }
    if args.wants("filesystem") {
        let peer = args.filesystem_peer.as_deref();
        filesystem::measure(workspace, args.quick, peer, &mut report);
    }
    if args.wants("command") {
        command::measure(workspace, args.quick, &mut report);
    }
    if args.wants("postgres") {
        postgres::measure(workspace, args.quick, &mut report);
    }
    if args.wants("github") {
        github::measure(workspace, &mut report);
    }
    if args.wants("http") {
        http::measure(workspace, args.quick, &mut report);
    }
    if args.wants("size") {
        size::measure(workspace, args.quick, &mut report);
    }
    report.print();
    if let Some(path) = &args.json {
        std::fs::write(path, report.json()?)?;
    }
    let missed = report.missed();
    if missed > 0 {
        bail!("{missed} targets missed");
    }
    Ok(())
}

/// An unoptimised driver would be slower than the servers it measures, so the command runs itself
/// again as a release build.
fn run_optimised(workspace: &Workspace) -> Result<()> {
    let mut cargo = workspace.cargo(&["run", "--quiet", "--release", "--package", "xtask", "--"]);
    run_command(cargo.args(std::env::args_os().skip(1)))
}

fn check_names(args: &Args) -> Result<()> {
    let known: Vec<_> = subject::NAMES
        .iter()
        .chain(&["size", "csv", "http", "filesystem", "command", "postgres", "github"])
        .copied()
        .collect();
    match args.names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            bail!("nothing to measure is called `{name}`; there are: {}", known.join(", "))
        }
        None => Ok(()),
    }
}

fn measure_speed(subjects: &[Subject], rounds: usize, load: stdio::Load, report: &mut Report) {
    for round in 0..rounds {
        for subject in subjects {
            for revision in subject.revisions {
                eprintln!("round {}/{rounds}: {} {revision}", round + 1, subject.name);
                // A million calls once: memory that grows does so in any round.
                let million = round == 0 && load.million;
                let load = stdio::Load { million, ..load };
                match stdio::measure(subject, revision, load) {
                    Ok(figures) => report.add(subject.name, revision, figures),
                    Err(error) => report.fail(subject.name, revision, &error),
                }
            }
        }
    }
}
