//! The official conformance suite, run on a server of ours over HTTP. Its results become rows
//! beside those of this engine.
//!
//! The suite and a Node that can run it are installed from the pinned list in `official/`, under
//! the target folder. It speaks HTTP only and does not start servers itself.

use crate::bridge::Bridge;
use crate::check::{Level, Outcome};
use crate::install;
use crate::report::Row;
use crate::revision::Revision;
use crate::transport::Transport;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::borrow::Cow;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The oldest Node the suite runs on.
const MIN_NODE_MAJOR: u32 = 22;

/// The sets of scenarios an implementation is held to, and the revision each is of. All that is
/// not in one of them (extensions, scenarios under way) runs along.
const REQUIREMENTS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Older revisions have no set of their own; all scenarios that can run in them do.
const OLDER: [Revision; 2] = [Revision::V2025_03_26, Revision::V2025_06_18];

/// Scenarios of what standard streams do not have, and why.
const NOT_ON_STDIO: [(&str, &str); 4] = [
    ("server-sse-polling", "a pipe that is lost cannot be taken up again"),
    ("dns-rebinding-protection", "no page reaches a pipe; the bridge in front answered"),
    ("http-header-validation", "no headers on a pipe; the bridge in front answered"),
    ("http-custom-header-server-validation", "no headers on a pipe; the bridge in front answered"),
];

/// What a scenario's folder is called after its name.
const TIME: &str = "-2026-11-30T08-00-00-000Z";

/// The suite, installed.
#[derive(Debug)]
pub struct Suite {
    node: PathBuf,
    folder: PathBuf,
}

impl Suite {
    /// Installs the suite under `folder`, unless it is there. Fails where npm is missing.
    pub fn install(folder: &Path) -> Result<Suite> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("official");
        install::npm_packages(&sources, folder).context("the official suite needs npm")?;
        Ok(Suite { node: node(folder)?, folder: folder.to_owned() })
    }

    /// A Node that is new enough for the suite.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Runs everything there is on the server that `program` starts, and gives a row for each
    /// check of each scenario.
    pub fn run(&self, server: &str, program: &Path) -> Result<Vec<Row>> {
        let server_process = HttpServer::start(program, &[])?;
        self.run_all(server, &server_process.url)
    }

    /// The same over the standard streams of the server that `command` starts.
    pub fn run_on_stdio(&self, server: &str, command: &[String]) -> Result<Vec<Row>> {
        let bridge = Bridge::start(command)?;
        Ok(self.run_all(server, &bridge.url)?.into_iter().map(over_stdio).collect())
    }

    fn run_all(&self, server: &str, url: &str) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for revision in REQUIREMENTS {
            rows.extend(self.run_requirements(server, url, revision)?);
        }
        for revision in OLDER {
            let set = ["--suite", "all", "--spec-version", revision.date()];
            rows.extend(self.run_set(server, url, revision, &set)?);
        }
        Ok(rows)
    }

    /// Runs one scenario on a server that runs already.
    pub fn run_scenario(
        &self,
        server: &str,
        url: &str,
        revision: Revision,
        scenario: &str,
    ) -> Result<Vec<Row>> {
        let set = ["--scenario", scenario, "--spec-version", revision.date()];
        self.run_set(server, url, revision, &set)
    }

    /// Runs the set of one revision on a server that runs already.
    pub fn run_requirements(
        &self,
        server: &str,
        url: &str,
        revision: Revision,
    ) -> Result<Vec<Row>> {
        self.run_set(server, url, revision, &["--requirements", revision.date()])
    }

    fn run_set(
        &self,
        server: &str,
        url: &str,
        revision: Revision,
        set: &[&str],
    ) -> Result<Vec<Row>> {
        let results = self.folder.join(format!("results-{revision}-{}", std::process::id()));
        let entry = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
        let mut node = Command::new(&self.node);
        node.arg(self.folder.join(entry)).args(["server", "--url", url]).args(set);
        let output = node.arg("--output-dir").arg(&results).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let rows = read_results(&results, server, revision);
        // What failed is in the rows; the exit code alone could mean anything.
        let rows = rows.with_context(|| format!("the official suite ran nothing: {said}"))?;
        fs::remove_dir_all(&results)?;
        let is_red = rows.iter().any(Row::is_red);
        ensure!(output.status.success() || is_red, "the official suite failed: {said}");
        Ok(rows)
    }
}

/// A Node that is new enough: the one on the path, or the one installed along with the suite.
fn node(folder: &Path) -> Result<PathBuf> {
    let major = |program: &Path| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let version = String::from_utf8(output.stdout).ok()?;
        version.strip_prefix('v')?.split('.').next()?.parse::<u32>().ok()
    };
    let is_new_enough = |program: &Path| major(program).is_some_and(|it| it >= MIN_NODE_MAJOR);
    if is_new_enough(Path::new("node")) {
        return Ok("node".into());
    }
    for entry in fs::read_dir(folder.join("node_modules"))? {
        let program = entry?.path().join("bin/node");
        if program.is_file() && is_new_enough(&program) {
            return Ok(program);
        }
    }
    bail!("the official suite needs Node {MIN_NODE_MAJOR} or newer")
}

/// Each scenario leaves a folder, `server-<scenario>-<time>`, with the results of its checks.
fn read_results(folder: &Path, server: &str, revision: Revision) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scenario = name.strip_prefix("server-").unwrap_or(&name);
        let scenario =
            scenario.get(..scenario.len().saturating_sub(TIME.len())).unwrap_or(scenario);
        let checks = fs::read_to_string(path.join("checks.json"))?;
        let Value::Array(checks) = serde_json::from_str(&checks)? else {
            bail!("{}: the results are no list", path.display());
        };
        rows.extend(checks.iter().map(|check| row(server, revision, scenario, check)));
    }
    ensure!(!rows.is_empty(), "no results");
    rows.sort_by(|a, b| a.title.cmp(&b.title));
    Ok(rows)
}

fn row(server: &str, revision: Revision, scenario: &str, check: &Value) -> Row {
    let text = |member: &str| check[member].as_str().unwrap_or_default().to_owned();
    let outcome = match check["status"].as_str() {
        Some("SUCCESS") => Outcome::Pass,
        Some("WARNING") => Outcome::Warn(text("errorMessage")),
        Some("SKIPPED" | "INFO") => Outcome::Skipped(text("errorMessage")),
        _ => Outcome::Fail(text("errorMessage")),
    };
    Row {
        id: Cow::Borrowed("suite"),
        level: Level::Must,
        revision,
        transport: Transport::Http,
        server: server.to_owned(),
        title: Cow::Owned(format!("{scenario}: {}", text("id"))),
        outcome,
        evidence: Vec::new(),
    }
}

/// The row of a server behind the bridge. What is the bridge's own is nothing of the server's.
fn over_stdio(row: Row) -> Row {
    let is_of = |(scenario, _): &&(&str, &str)| row.title.split(':').next() == Some(*scenario);
    let outcome = match NOT_ON_STDIO.iter().find(is_of) {
        Some((_, reason)) => Outcome::Skipped((*reason).to_owned()),
        None => row.outcome.clone(),
    };
    Row { transport: Transport::Stdio, outcome, ..row }
}

/// A server of ours on a free port of this machine. Dropping it kills the process.
pub struct HttpServer {
    child: Child,
    /// Of its endpoint, by the name `localhost`.
    pub url: String,
}

impl HttpServer {
    /// Starts `program`, and waits until it says where it is.
    pub fn start(program: &Path, flags: &[&str]) -> Result<HttpServer> {
        let mut child = Command::new(program)
            .args(["--http", "127.0.0.1:0"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("the server's output is a pipe")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        // The suite tries names that lead elsewhere, and wants the good one to be this.
        let url = line.trim().replace("127.0.0.1", "localhost");
        let server = HttpServer { child, url };
        ensure!(server.url.starts_with("http://"), "the server does not say where it is: {line}");
        Ok(server)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
