//! Searching 50,000 files, listing 20,000 and reading small ones through the real server, in CPU
//! time; beside ripgrep on the same files where it is installed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;
use serde_json::{Value, json};

use super::metric::Target::{self, AtMost};
use super::peer::Peer;
use super::procfs;
use super::report::Report;
use super::size::Scratch;
use crate::workspace::{Profile, Workspace};

const REVISION: &str = "2025-11-25";
const LIMIT: Duration = Duration::from_secs(300);
const FILES_A_FOLDER: usize = 100;
const LISTED_FILES: usize = 20_000;
const READS: usize = 1_000;
const MAX_START_RSS_MB: Target = AtMost(8.0);
const MAX_READS_CPU_MS: Target = AtMost(150.0);
/// Times what ripgrep needs.
const MAX_NAMES: Target = AtMost(2.0);
const MAX_CONTENTS: Target = AtMost(1.3);

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    if let Err(error) = try_measure(workspace, quick, report) {
        report.fail("filesystem", REVISION, &error);
    }
}

fn try_measure(workspace: &Workspace, quick: bool, report: &mut Report) -> Result<()> {
    let servers = workspace.select(&["filesystem".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no filesystem server")?;
    let folder = Scratch::new("filesystem")?;
    let files = if quick { 5_000 } else { 50_000 };
    eprintln!("filesystem: writing {files} files");
    let tree = folder.0.join("tree");
    write_tree(&tree, files)?;
    write_list(&folder.0.join("list"))?;
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let mut peer = Peer::start(&[binary, folder.0.display().to_string()], LIMIT)?;
    peer.handshake(REVISION, Instant::now())?;
    let rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    report.state("mcp-filesystem", "start RSS MB", rss, Some(MAX_START_RSS_MB));

    let rounds = if quick { 2 } else { 10 };
    let found = format!("[{} found", files / 4);
    let names = json!({"path": "tree", "pattern": "*.ts"});
    let names = cpu_ms(&mut peer, "search_files", &names, rounds, &found)?;
    report.state("mcp-filesystem", "find names CPU ms", names, None);
    let lines = format!("[{files} lines in {files} files");
    let contents = json!({"path": "tree", "query": "ne+dle", "output": "counts"});
    let contents = cpu_ms(&mut peer, "search_content", &contents, rounds, &lines)?;
    report.state("mcp-filesystem", "search contents CPU ms", contents, None);
    let list = json!({"path": "list", "maxEntries": LISTED_FILES});
    let list = cpu_ms(&mut peer, "list_directory", &list, rounds, "[20000 entries in all")?;
    report.state("mcp-filesystem", "list 20,000 CPU ms", list, None);
    let read = json!({"path": "tree/0/0.ts"});
    let reads = cpu_ms(&mut peer, "read_text_file", &read, READS, "needle")? * READS as f64;
    report.state("mcp-filesystem", "1,000 reads CPU ms", reads, Some(MAX_READS_CPU_MS));
    peer.close()?;

    if let Err(error) = compare(&tree, rounds, names, contents, report) {
        report.skip("filesystem: ripgrep", &format!("{error:#}"));
    }
    Ok(())
}

fn compare(
    tree: &Path,
    rounds: usize,
    names: f64,
    contents: f64,
    report: &mut Report,
) -> Result<()> {
    let their_names = ripgrep_cpu_ms(tree, &["--files", "-g", "*.ts"], rounds)?;
    report.state("ripgrep", "find names CPU ms", their_names, None);
    let what = "find names, of ripgrep";
    report.state("mcp-filesystem", what, names / their_names, Some(MAX_NAMES));
    let their_contents = ripgrep_cpu_ms(tree, &["-c", "ne+dle"], rounds)?;
    report.state("ripgrep", "search contents CPU ms", their_contents, None);
    let what = "search contents, of ripgrep";
    report.state("mcp-filesystem", what, contents / their_contents, Some(MAX_CONTENTS));
    Ok(())
}

/// Files of half a kilobyte and of four kinds, each with one line to be found.
fn write_tree(tree: &Path, files: usize) -> Result<()> {
    let text =
        format!("{}needle\n{}", "not what is wanted here\n".repeat(10), "nor this\n".repeat(20));
    for number in 0..files {
        let folder = tree.join((number / FILES_A_FOLDER).to_string());
        if number % FILES_A_FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let kind = ["ts", "js", "md", "rs"].get(number % 4).unwrap_or(&"txt");
        std::fs::write(folder.join(format!("{}.{kind}", number % FILES_A_FOLDER)), &text)?;
    }
    Ok(())
}

fn write_list(list: &Path) -> Result<()> {
    std::fs::create_dir(list)?;
    for number in 0..LISTED_FILES {
        std::fs::write(list.join(format!("a file of number {number:06}")), "")?;
    }
    Ok(())
}

/// Milliseconds of CPU time for each call; every answer must hold `right`.
fn cpu_ms(
    peer: &mut Peer,
    tool: &str,
    arguments: &Value,
    calls: usize,
    right: &str,
) -> Result<f64> {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = format!("{request}\n").into_bytes();
    let cpu = |peer: &Peer| procfs::cpu(peer.pid).context("CPU time needs /proc");
    peer.call(&request)?;
    let before = cpu(peer)?;
    for _ in 0..calls {
        let reply = peer.call(&request)?;
        let shown = || String::from_utf8_lossy(reply.get(..400).unwrap_or(reply));
        ensure!(find(reply, right.as_bytes()).is_some(), "{right} is not in {}", shown());
    }
    let used = cpu(peer)?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e3 / calls as f64)
}

fn ripgrep_cpu_ms(tree: &Path, arguments: &[&str], rounds: usize) -> Result<f64> {
    let before = procfs::children_cpu().context("CPU time needs /proc")?;
    for _ in 0..rounds {
        let mut rg = Command::new("rg");
        let rg = rg.args(arguments).current_dir(tree).stdin(Stdio::null()).stdout(Stdio::null());
        ensure!(rg.status().context("rg cannot be started")?.success(), "rg failed");
    }
    let used = procfs::children_cpu().context("CPU time needs /proc")?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e3 / rounds as f64)
}
