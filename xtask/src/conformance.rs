//! `cargo xtask conformance`: the front end of the conformance engine in `tests/`. It checks our
//! own servers by name, or any program that speaks the protocol on its standard streams.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use workspace_tests::discover;
use workspace_tests::official::Suite;
use workspace_tests::report::{Report, Row};
use workspace_tests::revision::{self, Revision};
use workspace_tests::run::{self, Options, Target};

use crate::workspace::{Profile, Server, Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers to check; all when none is named
    #[arg(conflicts_with = "stdio")]
    names: Vec<String>,
    /// Check any server: the command that starts it, words separated by spaces
    #[arg(long, value_name = "CMD")]
    stdio: Option<String>,
    /// With --stdio: call any tool that answers, not only those that say they just read
    #[arg(long, requires = "stdio")]
    allow_calls: bool,
    /// Run only the official suite, on the server that shows everything
    #[arg(long, conflicts_with_all = ["stdio", "no_official", "revisions"])]
    official: bool,
    /// Leave out the official suite, which needs Node and npm
    #[arg(long)]
    no_official: bool,
    /// Only this revision; may be repeated
    #[arg(long = "revision", value_name = "DATE", value_parser = parse_revision)]
    revisions: Vec<Revision>,
    /// Folder of the official JSON Schemas, one folder for each revision
    #[arg(long, env = "MCP_SCHEMA_DIR")]
    schema_dir: Option<PathBuf>,
    /// Write every row as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write every row as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let targets = match &args.stdio {
        Some(command) => vec![foreign(command, args.allow_calls)?],
        None if args.official => Vec::new(),
        None => ours(workspace, &args.names)?,
    };
    let is_all = args.stdio.is_none() && args.names.is_empty() && args.revisions.is_empty();
    let with_official = args.official || is_all && !args.no_official;
    let revisions = args.revisions.clone();
    let options = Options { revisions, schema_dir: args.schema_dir.clone(), ..Options::default() };
    let mut report = check(&targets, &options)?;
    if with_official {
        report.rows.extend(official(workspace)?);
    }
    if let Some(path) = &args.json {
        write(path, &format!("{:#}\n", report.json()))?;
    }
    if let Some(path) = &args.junit {
        write(path, &report.junit())?;
    }
    ensure!(report.passed(), "a requirement does not hold");
    Ok(())
}

/// Every server in every revision, as `cargo xtask test` and CI do.
pub(crate) fn run_all(workspace: &Workspace, schema_dir: Option<PathBuf>) -> Result<()> {
    let targets = ours(workspace, &[])?;
    let mut report = check(&targets, &Options { schema_dir, ..Options::default() })?;
    report.rows.extend(official(workspace)?);
    ensure!(report.passed(), "a requirement does not hold");
    Ok(())
}

/// One report over all targets; each target's own is printed when it is complete.
fn check(targets: &[Target], options: &Options) -> Result<Report> {
    let mut all = Vec::new();
    for target in targets {
        let mut progress = Progress::start(&target.name);
        let report = run::run(target, options, &mut |row| progress.row(row))?;
        progress.end();
        println!("{}", report.table());
        all.extend(report.rows);
    }
    let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
    Ok(Report { server: names.join(", "), rows: all })
}

/// The official suite, on the one server that has its fixtures.
fn official(workspace: &Workspace) -> Result<Vec<Row>> {
    let servers = workspace.select(&["everything".to_owned()])?;
    workspace.build(&servers, Profile::Debug)?;
    let mut rows = Vec::new();
    for server in &servers {
        let suite = Suite::install(&workspace.target_dir.join("official-suite"));
        let suite = suite.context("the official suite was not run; --no-official leaves it out")?;
        rows.extend(suite.run(&server.name, &workspace.binary(server, Profile::Debug))?);
    }
    println!("{}", Report { server: "the official suite".to_owned(), rows: rows.clone() }.table());
    Ok(rows)
}

fn ours(workspace: &Workspace, names: &[String]) -> Result<Vec<Target>> {
    let servers = workspace.select(names)?;
    workspace.build(&servers, Profile::Debug)?;
    servers.iter().map(|server| own_target(workspace, server)).collect()
}

/// How to start a server and what to call on it stand in its profile, so every server has one.
fn own_target(workspace: &Workspace, server: &Server) -> Result<Target> {
    let folder = server.folder.file_name().unwrap_or_default().to_string_lossy();
    Target::in_workspace(&folder, &workspace.binary(server, Profile::Debug))
}

/// A server nothing is known of but what it says of itself. What that does not tell, the checks
/// that need it skip.
fn foreign(command: &str, allow_calls: bool) -> Result<Target> {
    let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let Some(program) = command.first() else { bail!("--stdio needs a command") };
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut target = Target { name, command, profile: None };
    target.profile = Some(discover::profile(&target, allow_calls));
    Ok(target)
}

fn parse_revision(date: &str) -> Result<Revision, String> {
    Revision::from_date(date).ok_or_else(|| {
        let known: Vec<_> = revision::ALL.iter().map(|revision| revision.date()).collect();
        format!("no such revision; there are: {}", known.join(", "))
    })
}

fn write(path: &Path, content: &str) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// A counter that rewrites its line on a terminal. Elsewhere one plain line: the table that follows
/// holds every row that is not well.
struct Progress<'a> {
    server: &'a str,
    rows: usize,
    failed: usize,
    on_terminal: bool,
}

impl<'a> Progress<'a> {
    fn start(server: &'a str) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        if !on_terminal {
            eprintln!("checking {server}");
        }
        Self { server, rows: 0, failed: 0, on_terminal }
    }

    fn row(&mut self, row: &Row) {
        self.rows += 1;
        self.failed += usize::from(row.is_red());
        if self.on_terminal {
            eprint!("\r{}: {} rows, {} failed", self.server, self.rows, self.failed);
            let _ = std::io::stderr().flush();
        }
    }

    fn end(&self) {
        if self.on_terminal {
            eprint!("\r\u{1b}[K");
        }
    }
}
