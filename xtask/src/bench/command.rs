//! Running `true` and sixteen times `sleep 0.5` through the real server, with its whole sandbox on,
//! beside a bare start of the same program and beside two public servers of this kind. Those are
//! installed here, in the versions named below. All take turns, so a busy minute hits everyone.
//!
//! `true` is run back to back, where what is got ready for the next call takes time of the processors
//! from this one, and with pauses, as a model's calls come.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;
use serde_json::{Value, json};

use super::metric::Target::{self, AtMost};
use super::peer::Peer;
use super::report::Report;
use super::size::Scratch;
use super::stdio::percentile;
use super::{procfs, wire};
use crate::workspace::{Profile, Workspace, run as run_command};

const REVISION: &str = "2025-11-25";
const LIMIT: Duration = Duration::from_secs(600);
const OURS: &str = "mcp-command";
const FROM_NPM: (&str, &str) = ("mcp-server-commands", "0.5.0");
const FROM_PYPI: (&str, &str) = ("mcp-shell-server", "1.1.14");
const TOGETHER: usize = 16;
const PAUSE: Duration = Duration::from_millis(20);

const MAX_START_MS: Target = AtMost(15.0);
const MAX_IDLE_RSS_MB: Target = AtMost(8.0);
const MAX_OVER_SPAWN_MS: Target = AtMost(1.0);
const MAX_TOGETHER_S: Target = AtMost(0.7);

/// A server that runs programs.
struct Subject {
    name: &'static str,
    command: Vec<String>,
    tool: &'static str,
    arguments: fn(&[&str]) -> Value,
}

#[derive(Default)]
struct Figures {
    start_ms: Vec<f64>,
    idle_rss_mb: Vec<f64>,
    at_once: Runs,
    paused: Runs,
    together_s: Vec<f64>,
}

/// Of `true`.
#[derive(Default)]
struct Runs {
    /// Bare, just before each call.
    spawn_ms: Vec<f64>,
    call_ms: Vec<f64>,
}

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    if let Err(error) = try_measure(workspace, quick, report) {
        report.fail("command", REVISION, &error);
    }
}

fn try_measure(workspace: &Workspace, quick: bool, report: &mut Report) -> Result<()> {
    let folder = Scratch::new("command")?;
    let mut subjects = vec![ours(workspace, &folder.0)?];
    let peers = workspace.target_dir.join("bench-peers/command");
    for (package, installed) in
        [(FROM_NPM, from_npm(&peers)), (FROM_PYPI, from_pypi(&peers, &folder.0))]
    {
        match installed {
            Ok(subject) => subjects.push(subject),
            Err(error) => report.skip(&format!("command: {}", package.0), &format!("{error:#}")),
        }
    }
    // A package may no longer run with what it depends on.
    subjects.retain(|subject| {
        if subject.name == OURS {
            return true;
        }
        let tried = one_round(subject, 1, &mut Figures::default());
        if let Err(error) = &tried {
            report.skip(&format!("command: {}", subject.name), &format!("{error:#}"));
        }
        tried.is_ok()
    });
    let (rounds, calls) = if quick { (1, 20) } else { (5, 200) };
    let mut all: Vec<Figures> = subjects.iter().map(|_| Figures::default()).collect();
    for round in 0..rounds {
        for (subject, figures) in subjects.iter().zip(&mut all) {
            eprintln!("round {}/{rounds}: {}", round + 1, subject.name);
            one_round(subject, calls, figures)?;
        }
    }
    let mut our_medians = None;
    for (subject, figures) in subjects.iter().zip(&mut all) {
        let medians = figures.medians()?;
        medians.state(subject.name, report);
        match our_medians {
            None => our_medians = Some(medians),
            Some(ours) => medians.compare(subject.name, ours, report),
        }
    }
    Ok(())
}

fn one_round(subject: &Subject, calls: usize, figures: &mut Figures) -> Result<()> {
    let started = Instant::now();
    let mut peer = Peer::start(&subject.command, LIMIT)?;
    peer.call(&wire::hello(REVISION))?;
    figures.start_ms.push(started.elapsed().as_secs_f64() * 1e3);
    peer.write(wire::INITIALIZED)?;
    let rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    figures.idle_rss_mb.push(rss);
    let request = subject.request(1, &["true"]);
    for _ in 0..10 {
        peer.call(&request)?;
    }
    for _ in 0..calls {
        figures.at_once.add(&mut peer, &request)?;
    }
    for _ in 0..calls / 4 {
        thread::sleep(PAUSE);
        figures.paused.add(&mut peer, &request)?;
    }
    let requests: Vec<u8> =
        (0..TOGETHER).flat_map(|id| subject.request(id, &["sleep", "0.5"])).collect();
    let begun = Instant::now();
    peer.write(&requests)?;
    for _ in 0..TOGETHER {
        check(peer.reply()?)?;
    }
    figures.together_s.push(begun.elapsed().as_secs_f64());
    Ok(())
}

/// A call that failed may have been a quick one.
fn check(reply: &[u8]) -> Result<()> {
    let failed = find(reply, b"\"isError\":true").is_some();
    ensure!(!failed, "a call failed: {}", String::from_utf8_lossy(reply));
    Ok(())
}

impl Runs {
    fn add(&mut self, peer: &mut Peer, request: &[u8]) -> Result<()> {
        let begun = Instant::now();
        let mut bare = Command::new("true");
        let bare = bare.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ensure!(bare.status()?.success(), "`true` failed");
        self.spawn_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let reply = peer.call(request)?;
        self.call_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        check(reply)
    }
}

impl Subject {
    fn request(&self, id: usize, words: &[&str]) -> Vec<u8> {
        let params = json!({"name": self.tool, "arguments": (self.arguments)(words)});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{request}\n").into_bytes()
    }
}

#[derive(Clone, Copy)]
struct Medians {
    start_ms: f64,
    idle_rss_mb: f64,
    true_ms: f64,
    spawn_ms: f64,
    paused_true_ms: f64,
    paused_spawn_ms: f64,
    together_s: f64,
}

impl Figures {
    fn medians(&mut self) -> Result<Medians> {
        let median = |values: &mut Vec<f64>| percentile(values, 0.5).context("nothing measured");
        Ok(Medians {
            start_ms: median(&mut self.start_ms)?,
            idle_rss_mb: median(&mut self.idle_rss_mb)?,
            true_ms: median(&mut self.at_once.call_ms)?,
            spawn_ms: median(&mut self.at_once.spawn_ms)?,
            paused_true_ms: median(&mut self.paused.call_ms)?,
            paused_spawn_ms: median(&mut self.paused.spawn_ms)?,
            together_s: median(&mut self.together_s)?,
        })
    }
}

impl Medians {
    /// Only ours must reach the targets.
    fn state(self, name: &str, report: &mut Report) {
        let bound = |target: Target| (name == OURS).then_some(target);
        report.state(name, "start ms", self.start_ms, bound(MAX_START_MS));
        report.state(name, "idle RSS MB", self.idle_rss_mb, bound(MAX_IDLE_RSS_MB));
        report.state(name, "bare spawn p50 ms", self.spawn_ms, None);
        report.state(name, "`true` p50 ms", self.true_ms, None);
        let over = self.true_ms - self.spawn_ms;
        report.state(name, "`true` over spawn ms", over, bound(MAX_OVER_SPAWN_MS));
        report.state(name, "paused: spawn p50 ms", self.paused_spawn_ms, None);
        report.state(name, "paused: `true` p50 ms", self.paused_true_ms, None);
        let over = self.paused_true_ms - self.paused_spawn_ms;
        report.state(name, "paused: over spawn ms", over, bound(MAX_OVER_SPAWN_MS));
        report.state(name, "16 × sleep 0.5 s", self.together_s, bound(MAX_TOGETHER_S));
    }

    /// How many times what ours needs.
    fn compare(self, name: &str, ours: Self, report: &mut Report) {
        for (what, theirs, ours) in [
            ("start : ours", self.start_ms, ours.start_ms),
            ("idle RSS : ours", self.idle_rss_mb, ours.idle_rss_mb),
            ("`true` p50 : ours", self.true_ms, ours.true_ms),
            ("paused: `true` p50 : ours", self.paused_true_ms, ours.paused_true_ms),
            ("16 × sleep : ours", self.together_s, ours.together_s),
        ] {
            report.state(name, what, theirs / ours, None);
        }
    }
}

fn ours(workspace: &Workspace, folder: &Path) -> Result<Subject> {
    let servers = workspace.select(&["command".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no command server")?;
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let folder = folder.display().to_string();
    Ok(Subject {
        name: OURS,
        command: vec![binary, "--root".to_owned(), folder],
        tool: "execute_command",
        arguments: |words| json!({"command": words.first(), "args": words.get(1..)}),
    })
}

fn from_npm(peers: &Path) -> Result<Subject> {
    let (name, version) = FROM_NPM;
    let package = format!("{name}@{version}");
    let folder = peers.join(&package);
    let program = folder.join("node_modules/.bin").join(name);
    install(&program, || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(&package);
        vec![npm]
    })?;
    Ok(Subject {
        name,
        command: vec![program.display().to_string()],
        tool: "run_command",
        arguments: |words| json!({"command": words.join(" ")}),
    })
}

fn from_pypi(peers: &Path, work: &Path) -> Result<Subject> {
    let (name, version) = FROM_PYPI;
    let package = format!("{name}=={version}");
    // Without `=`, which `env` would take for a variable.
    let folder = peers.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    install(&program, || {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&folder);
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]).arg(&package);
        vec![make, pip]
    })?;
    let work = PathBuf::from(work).display().to_string();
    let allow = "ALLOW_COMMANDS=true,sleep".to_owned();
    Ok(Subject {
        name,
        command: vec!["env".into(), "-C".into(), work, allow, program.display().to_string()],
        tool: "shell_execute",
        arguments: |words| json!({"command": words}),
    })
}

/// Once; the version is part of the folder's name.
fn install(program: &Path, commands: impl Fn() -> Vec<Command>) -> Result<()> {
    if program.exists() {
        return Ok(());
    }
    for mut command in commands() {
        run_command(&mut command)?;
    }
    ensure!(program.exists(), "{} was not installed", program.display());
    Ok(())
}
