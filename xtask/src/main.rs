//! `cargo xtask`: everything a contributor or CI does with this workspace, as plain Rust instead of
//! shell scripts, so that it runs the same on every machine with nothing but cargo.
//!
//! This file only names the commands; each lives in the module of its name. `workspace.rs` finds
//! the servers, `session.rs` talks to one.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod build;
mod test;
mod conformance;
mod corpus;
mod new;
mod demo;
mod list;
mod tidy;
mod bench;
mod ci;

mod session;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of this workspace", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build every server
    Build(build::Args),
    /// Run every test, then the conformance checks over every server
    Test(test::Args),
    /// Check servers, ours or any other, against the protocol
    Conformance(conformance::Args),
    /// Play the corpus of messy CSV files to our server, or to any other
    Corpus(corpus::Args),
    /// Begin a server of your own as a copy of one that works
    New(new::Args),
    /// Build each server and show a short real session with it
    Demo(demo::Args),
    /// Regenerate what is derived from the servers' own lists: README tables and snapshots
    List(list::Args),
    /// Check the house rules
    Tidy,
    /// Measure speed and size beside the official SDK and the floors
    Bench(bench::Args),
    /// Everything CI runs
    Ci(ci::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    match task {
        Task::Build(args) => build::run(&workspace, &args),
        Task::Test(args) => test::run(&workspace, &args),
        Task::Conformance(args) => conformance::run(&workspace, &args),
        Task::Corpus(args) => corpus::run(&workspace, &args),
        Task::New(args) => new::run(&workspace, &args),
        Task::Demo(args) => demo::run(&workspace, &args),
        Task::List(args) => list::run(&workspace, &args),
        Task::Tidy => tidy::run(&workspace),
        Task::Bench(args) => bench::run(&workspace, &args),
        Task::Ci(args) => ci::run(&workspace, &args),
    }
}
