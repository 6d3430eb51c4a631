//! Starting, searching 50,000 files, listing 20,000 and reading, through the real server: in CPU
//! time, beside `rg` and `ls` on the same files, and beside another server if one is named.

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
const LIMIT: Duration = Duration::from_secs(600);
const FILES_A_FOLDER: usize = 100;
const LISTED_FILES: usize = 20_000;
const READS: usize = 1_000;
const LONG_FILE_BYTES: usize = 10_000_000;
const OURS: &str = "mcp-filesystem";
const THEIRS: &str = "other server";

const MAX_START_MS: Target = AtMost(10.0);
const MAX_START_RSS_MB: Target = AtMost(8.0);
const MAX_READS_CPU_MS: Target = AtMost(150.0);
/// What a read of a long file adds to the memory in use at most, in lengths of the answer.
const MAX_COPIES: Target = AtMost(2.0);
/// Times what `rg` or `ls` needs.
const MAX_NAMES: Target = AtMost(2.0);
const MAX_CONTENTS: Target = AtMost(1.3);
const MAX_LISTING: Target = AtMost(3.0);

/// How often things are done.
#[derive(Clone, Copy)]
struct Rounds {
    files: usize,
    starts: usize,
    searches: usize,
    listings: usize,
}

/// CPU time in milliseconds of one call, where nothing else is said.
struct Figures {
    start_ms: f64,
    start_cpu: f64,
    rss_mb: f64,
    names: f64,
    /// Only where there is such a tool.
    contents: Option<f64>,
    listing: f64,
    /// All of them.
    reads: f64,
    long_read: f64,
    copies: f64,
}

/// `other` is the command of another server, which gets the directory as its last argument.
pub(crate) fn measure(
    workspace: &Workspace,
    quick: bool,
    other: Option<&str>,
    report: &mut Report,
) {
    if let Err(error) = try_measure(workspace, quick, other, report) {
        report.fail("filesystem", REVISION, &error);
    }
}

fn try_measure(
    workspace: &Workspace,
    quick: bool,
    other: Option<&str>,
    report: &mut Report,
) -> Result<()> {
    let servers = workspace.select(&["filesystem".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no filesystem server")?;
    let rounds = if quick {
        Rounds { files: 5_000, starts: 3, searches: 2, listings: 10 }
    } else {
        Rounds { files: 50_000, starts: 20, searches: 10, listings: 50 }
    };
    let folder = Scratch::new("filesystem")?;
    eprintln!("filesystem: writing {} files", rounds.files);
    write_tree(&folder.0, rounds.files)?;
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let ours = subject(&[binary], &folder.0, rounds, true)?;
    state(&ours, OURS, report);
    if let Err(error) = beside_tools(&folder.0, rounds, &ours, report) {
        report.skip("filesystem: rg and ls", &format!("{error:#}"));
    }
    let Some(other) = other else {
        report.skip("filesystem: another server", "--filesystem-peer is not given");
        return Ok(());
    };
    let command: Vec<String> = other.split_whitespace().map(str::to_owned).collect();
    let few = Rounds { starts: 3, searches: 1, listings: 10, ..rounds };
    let theirs = subject(&command, &folder.0, few, false)?;
    state(&theirs, THEIRS, report);
    compare(&ours, &theirs, report);
    Ok(())
}

fn subject(command: &[String], folder: &Path, rounds: Rounds, is_ours: bool) -> Result<Figures> {
    eprintln!("filesystem: measuring {}", command.join(" "));
    let mut command = command.to_vec();
    command.push(folder.display().to_string());
    let mut starts: Vec<(f64, f64)> =
        (0..rounds.starts).map(|_| start(&command)).collect::<Result<_>>()?;
    starts.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (start_ms, start_cpu) = *starts.get(starts.len() / 2).context("no start")?;
    let mut peer = connect(&command)?;
    peer.call(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n")?;
    let rss_mb = procfs::rss_mb(peer.pid).context("memory needs /proc")?;

    let at = |path: &str| folder.join(path).display().to_string();
    let small = json!({"path": at("small.txt")});
    let reads = cpu_ms(&mut peer, "read_text_file", &small, READS, "needle")? * READS as f64;
    let listing = json!({"path": at("list"), "maxEntries": LISTED_FILES});
    let listing = if is_ours { listing } else { json!({"path": at("list")}) };
    let listing = cpu_ms(&mut peer, "list_directory", &listing, rounds.listings, "[FILE] 19999")?;
    let pattern = if is_ours { "*.ts" } else { "**/*.ts" };
    let names = json!({"path": at("tree"), "pattern": pattern});
    let names = cpu_ms(&mut peer, "search_files", &names, rounds.searches, "/0/0.ts")?;
    let contents = json!({"path": at("tree"), "query": "ne+dle", "output": "counts"});
    let lines = format!("[{files} lines in {files} files", files = rounds.files);
    let mut search = || cpu_ms(&mut peer, "search_content", &contents, rounds.searches, &lines);
    let contents = if is_ours { Some(search()?) } else { None };
    peer.close()?;
    let (long_read, copies) = long_read(&command, folder, is_ours)?;
    Ok(Figures { start_ms, start_cpu, rss_mb, names, contents, listing, reads, long_read, copies })
}

fn connect(command: &[String]) -> Result<Peer> {
    let mut peer = Peer::start(command, LIMIT)?;
    peer.handshake(REVISION, Instant::now())?;
    Ok(peer)
}

/// Milliseconds until the first answer, and of CPU time.
fn start(command: &[String]) -> Result<(f64, f64)> {
    let started = Instant::now();
    let mut peer = Peer::start(command, LIMIT)?;
    let elapsed = peer.handshake(REVISION, started)?;
    let cpu = procfs::cpu(peer.pid).context("CPU time needs /proc")?;
    Ok((elapsed.as_secs_f64() * 1e3, cpu.as_secs_f64() * 1e3))
}

/// All of a file of 10 MB by one request: CPU time, and memory in lengths of the file. Ours gives
/// that much as a resource only.
fn long_read(command: &[String], folder: &Path, is_ours: bool) -> Result<(f64, f64)> {
    let request = |name: &str| {
        let path = folder.join(name).display().to_string();
        let request = if is_ours {
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                "params": {"uri": format!("file://{path}")}})
        } else {
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "read_text_file", "arguments": {"path": path}}})
        };
        format!("{request}\n")
    };
    let mut peer = connect(command)?;
    // What the first read of all takes is not what a long one takes.
    peer.call(request("small.txt").as_bytes())?;
    let rss = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    let cpu = procfs::cpu(peer.pid).context("CPU time needs /proc")?;
    let bytes = peer.call(request("long.txt").as_bytes())?.len();
    ensure!(bytes > LONG_FILE_BYTES, "only {bytes} bytes of the long file");
    let cpu = procfs::cpu(peer.pid).context("CPU time needs /proc")?.saturating_sub(cpu);
    let peak = procfs::peak_rss_mb(peer.pid).context("memory needs /proc")?;
    Ok((cpu.as_secs_f64() * 1e3, (peak - rss) / (bytes as f64 / 1024.0 / 1024.0)))
}

fn state(figures: &Figures, name: &str, report: &mut Report) {
    let ours = |target: Target| (name == OURS).then_some(target);
    let mut state = |what: &str, value: f64, target: Option<Target>| {
        report.state(name, what, value, target);
    };
    state("start ms", figures.start_ms, ours(MAX_START_MS));
    state("start CPU ms", figures.start_cpu, None);
    state("start RSS MB", figures.rss_mb, ours(MAX_START_RSS_MB));
    state("find names CPU ms", figures.names, None);
    if let Some(contents) = figures.contents {
        state("search contents CPU ms", contents, None);
    }
    state("list 20,000 CPU ms", figures.listing, None);
    state("1,000 reads CPU ms", figures.reads, ours(MAX_READS_CPU_MS));
    state("read 10 MB CPU ms", figures.long_read, None);
    state("read 10 MB, copies in memory", figures.copies, ours(MAX_COPIES));
}

/// How many times as much the other server needs.
fn compare(ours: &Figures, theirs: &Figures, report: &mut Report) {
    for (what, ours, theirs) in [
        ("start ms, times ours", ours.start_ms, theirs.start_ms),
        ("start RSS, times ours", ours.rss_mb, theirs.rss_mb),
        ("find names, times ours", ours.names, theirs.names),
        ("list 20,000, times ours", ours.listing, theirs.listing),
        ("1,000 reads, times ours", ours.reads, theirs.reads),
        ("read 10 MB, times ours", ours.long_read, theirs.long_read),
        ("read 10 MB in memory, times ours", ours.copies, theirs.copies),
    ] {
        report.state(THEIRS, what, theirs / ours, None);
    }
}

fn beside_tools(folder: &Path, rounds: Rounds, ours: &Figures, report: &mut Report) -> Result<()> {
    let mut beside = |what: &str, command: &[&str], dir: &str, rounds: usize, target| {
        let theirs = command_cpu_ms(command, &folder.join(dir), rounds)?;
        let name = *command.first().unwrap_or(&"");
        report.state(name, &format!("{what} CPU ms"), theirs, None);
        let ours = match what {
            "find names" => ours.names,
            "search contents" => ours.contents.unwrap_or_default(),
            _ => ours.listing,
        };
        report.state(OURS, &format!("{what}, times {name}"), ours / theirs, Some(target));
        anyhow::Ok(())
    };
    beside("list 20,000", &["ls", "-f"], "list", rounds.listings * 2, MAX_LISTING)?;
    let names = ["rg", "--files", "-g", "*.ts"];
    beside("find names", &names, "tree", rounds.searches, MAX_NAMES)?;
    beside("search contents", &["rg", "-c", "ne+dle"], "tree", rounds.searches, MAX_CONTENTS)
}

/// Files of half a kilobyte and of four kinds, each with one line to be found; and what is listed
/// and read.
fn write_tree(folder: &Path, files: usize) -> Result<()> {
    let text =
        format!("{}needle\n{}", "not what is wanted here\n".repeat(10), "nor this\n".repeat(20));
    for number in 0..files {
        let folder = folder.join("tree").join((number / FILES_A_FOLDER).to_string());
        if number % FILES_A_FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let kind = ["ts", "js", "md", "rs"].get(number % 4).unwrap_or(&"txt");
        std::fs::write(folder.join(format!("{}.{kind}", number % FILES_A_FOLDER)), &text)?;
    }
    std::fs::write(folder.join("small.txt"), format!("needle{}\n", " in a kilobyte".repeat(72)))?;
    let line = "a line of a long file, with nothing but its end to be escaped\n";
    std::fs::write(folder.join("long.txt"), line.repeat(LONG_FILE_BYTES / line.len() + 1))?;
    let list = folder.join("list");
    std::fs::create_dir(&list)?;
    for number in 0..LISTED_FILES {
        std::fs::write(list.join(format!("{number:05}")), "")?;
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

fn command_cpu_ms(command: &[&str], dir: &Path, rounds: usize) -> Result<f64> {
    let (program, arguments) = command.split_first().context("no command")?;
    let before = procfs::children_cpu().context("CPU time needs /proc")?;
    for _ in 0..rounds {
        let mut child = Command::new(program);
        let child = child.args(arguments).current_dir(dir).stdin(Stdio::null());
        let status = child.stdout(Stdio::null()).status();
        ensure!(status.with_context(|| format!("no {program}"))?.success(), "{program} failed");
    }
    let used = procfs::children_cpu().context("CPU time needs /proc")?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e3 / rounds as f64)
}
