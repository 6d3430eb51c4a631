//! `cargo xtask conformance`: the front end of the conformance engine in `tests/`. It checks our
//! own servers by name, or any server: a program that speaks the protocol on its standard streams,
//! or a URL.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use workspace_tests::discover;
use workspace_tests::official::Suite;
use workspace_tests::report::{Report, Row};
use workspace_tests::revision::{self, Revision};
use workspace_tests::run::{self, Options, Target};
use workspace_tests::transport::{self, Endpoint, Transport};

use crate::workspace::{Profile, Server, Workspace};

/// The one server that has the fixtures of the official suite.
const OFFICIAL: &str = "everything";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers to check; all when none is named
    #[arg(conflicts_with = "foreign")]
    names: Vec<String>,
    /// Check any server: the command that starts it, words separated by spaces
    #[arg(long, value_name = "CMD", group = "foreign")]
    stdio: Option<String>,
    /// Check any server that runs already: the URL of its endpoint, such as
    /// http://127.0.0.1:8080/mcp
    #[arg(long, value_name = "URL", group = "foreign")]
    url: Option<String>,
    /// With --stdio or --url: call any tool that answers, not only those that say they just read
    #[arg(long, requires = "foreign")]
    allow_calls: bool,
    /// Run only the official suite, on the server that shows everything, or with --stdio on any:
    /// the suite speaks HTTP only, so a bridge stands in front
    #[arg(long, conflicts_with_all = ["url", "allow_calls", "no_official", "revisions"])]
    official: bool,
    /// Leave out the official suite, which needs Node and npm
    #[arg(long)]
    no_official: bool,
    /// How our own servers are reached
    #[arg(long, value_enum, default_value_t = Over::Both, conflicts_with = "foreign")]
    transport: Over,
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

#[derive(Clone, Copy, clap::ValueEnum)]
enum Over {
    Stdio,
    Http,
    Both,
}

impl Over {
    fn transports(self) -> &'static [Transport] {
        match self {
            Over::Stdio => &[Transport::Stdio],
            Over::Http => &[Transport::Http],
            Over::Both => transport::ALL,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let targets = match (&args.stdio, &args.url) {
        (None, _) if args.official => {
            workspace.build(&[workspace.server(OFFICIAL)?], Profile::Debug)?;
            Vec::new()
        }
        _ if args.official => Vec::new(),
        (Some(command), _) => vec![foreign_command(command, args.allow_calls)?],
        (None, Some(url)) => vec![foreign_url(url, args.allow_calls)?],
        (None, None) => ours(workspace, &args.names, args.transport)?,
    };
    let is_foreign = args.stdio.is_some() || args.url.is_some();
    let is_all = !is_foreign && args.names.is_empty() && args.revisions.is_empty();
    let with_official = args.official || is_all && !args.no_official;
    let revisions = args.revisions.clone();
    let options = Options { revisions, schema_dir: args.schema_dir.clone(), ..Options::default() };
    let mut report = check(&targets, &options)?;
    match &args.stdio {
        Some(command) if with_official => report.rows.extend(bridged(workspace, command)?),
        _ if with_official => report.rows.extend(official(workspace)?),
        _ => {}
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

/// Every server in every revision over both transports, as `cargo xtask test` and CI do.
pub(crate) fn run_all(workspace: &Workspace, schema_dir: Option<PathBuf>) -> Result<()> {
    let targets = ours(workspace, &[], Over::Both)?;
    let mut report = check(&targets, &Options { schema_dir, ..Options::default() })?;
    report.rows.extend(official(workspace)?);
    // For our own servers a recommendation is as good as a requirement.
    let is_green = report.passed() && !report.rows.iter().any(Row::is_red);
    ensure!(is_green, "a requirement does not hold");
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

/// The official suite, on the server that has its fixtures and is built.
fn official(workspace: &Workspace) -> Result<Vec<Row>> {
    let server = workspace.server(OFFICIAL)?;
    let binary = workspace.binary(&server, Profile::Debug);
    let rows = suite(workspace)?.run(&server.name, &binary)?;
    print_official(&rows);
    Ok(rows)
}

/// The official suite, on the standard streams of any server.
fn bridged(workspace: &Workspace, command: &str) -> Result<Vec<Row>> {
    let (name, command) = words(command)?;
    let rows = suite(workspace)?.run_on_stdio(&name, &command)?;
    print_official(&rows);
    Ok(rows)
}

fn suite(workspace: &Workspace) -> Result<Suite> {
    let suite = Suite::install(&workspace.target_dir.join("official-suite"));
    suite.context("the official suite was not run; --no-official leaves it out")
}

fn print_official(rows: &[Row]) {
    let server = "the official suite".to_owned();
    println!("{}", Report { server, rows: rows.to_vec() }.table());
}

fn ours(workspace: &Workspace, names: &[String], over: Over) -> Result<Vec<Target>> {
    let servers = workspace.select(names)?;
    workspace.build(&servers, Profile::Debug)?;
    let targets = servers.iter().flat_map(|server| {
        over.transports().iter().map(|transport| own_target(workspace, server, *transport))
    });
    targets.collect()
}

/// How to start a server and what to call on it stand in its profile, so every server has one.
fn own_target(workspace: &Workspace, server: &Server, transport: Transport) -> Result<Target> {
    let folder = server.folder.file_name().unwrap_or_default().to_string_lossy();
    Target::in_workspace(&folder, &workspace.binary(server, Profile::Debug), transport)
}

fn foreign_command(command: &str, allow_calls: bool) -> Result<Target> {
    let (name, command) = words(command)?;
    Ok(foreign(name, Endpoint::Stdio(command), allow_calls))
}

/// The name of a command's program, and its words.
fn words(command: &str) -> Result<(String, Vec<String>)> {
    let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let Some(program) = command.first() else { bail!("--stdio needs a command") };
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, command))
}

fn foreign_url(url: &str, allow_calls: bool) -> Result<Target> {
    ensure!(url.starts_with("http://"), "--url needs a URL that begins with http://");
    Ok(foreign(url.to_owned(), Endpoint::Url(url.to_owned()), allow_calls))
}

/// A server nothing is known of but what it says of itself. What that does not tell, the checks
/// that need it skip.
fn foreign(name: String, endpoint: Endpoint, allow_calls: bool) -> Target {
    let mut target = Target { name, endpoint, profile: None };
    target.profile = Some(discover::profile(&target, allow_calls));
    target
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
