//! Questions about a gigabyte through the real server: CPU time, time, and the most memory it ever
//! held, beside the engines people use for such files. The answers must be the exact ones.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;
use serde_json::{Value, json};

use super::csv_file::{self, Truth};
use super::csv_peers::{self, ENGINES, Effort};
use super::metric::Target::{self, AtLeast, AtMost};
use super::peer::Peer;
use super::procfs;
use super::report::Report;
use super::size::Scratch;
use crate::workspace::{Profile, Workspace};

const OURS: &str = "mcp-csv";
const REVISION: &str = "2025-11-25";
const FILE: &str = "bench.csv";
const FILE_BYTES: u64 = 1_000_000_000;
const QUICK_FILE_BYTES: u64 = 50_000_000;
const LIMIT: Duration = Duration::from_secs(300);

const MIN_MB_PER_CPU_S: Target = AtLeast(180.0);
const MAX_PEAK_RSS_MB: Target = AtMost(16.0);
/// Times the best of the engines.
const MAX_CPU_OF_NUMBERS: Target = AtMost(0.8);
const MAX_CPU: Target = AtMost(1.0);
const MAX_WALL: Target = AtMost(1.0);
const MAX_MEMORY: Target = AtMost(0.25);

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    if let Err(error) = try_measure(workspace, quick, report) {
        report.fail("csv", REVISION, &error);
    }
}

fn try_measure(workspace: &Workspace, quick: bool, report: &mut Report) -> Result<()> {
    let servers = workspace.select(&["csv".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no csv server")?;
    let folder = Scratch::new("csv")?;
    let bytes = if quick { QUICK_FILE_BYTES } else { FILE_BYTES };
    eprintln!("csv: writing {} MB", bytes / 1_000_000);
    let file = folder.0.join(FILE);
    let truth = csv_file::write(&file, bytes)?;
    let command = [
        workspace.binary(server, Profile::Release).display().to_string(),
        folder.0.display().to_string(),
    ];
    let packages = csv_peers::install(workspace);
    if let Err(error) = &packages {
        report.skip("csv: other engines", &format!("{error:#}"));
    }
    for (question, tool, arguments) in questions() {
        let ours = ask(&command, question, tool, &arguments, &truth)?;
        state(OURS, question, ours, report);
        if question == "numbers" {
            let speed = truth.bytes as f64 / 1e6 / ours.cpu_s;
            report.state(OURS, "numbers MB per CPU s", speed, Some(MIN_MB_PER_CPU_S));
            report.state(OURS, "numbers peak RSS MB", ours.peak_mb, Some(MAX_PEAK_RSS_MB));
        }
        if let Ok(packages) = &packages {
            beside(packages, question, &file, ours, report)?;
        }
    }
    Ok(())
}

fn questions() -> [(&'static str, &'static str, Value); 4] {
    let facts = ["sum", "average", "count"];
    let numbers = ["id", "qty", "cents", "price", "ratio"];
    let sum = json!([{"operation": "sum", "column": "price"}]);
    [
        (
            "numbers",
            "analyze_csv",
            json!({"filepath": FILE, "operations": facts, "columns": numbers}),
        ),
        ("groups", "group_csv", json!({"filepath": FILE, "keys": ["category"], "aggregates": sum})),
        ("frequency", "frequency_csv", json!({"filepath": FILE, "column": "city"})),
        (
            "median",
            "analyze_csv",
            json!({"filepath": FILE, "operations": ["median"], "columns": ["price"]}),
        ),
    ]
}

/// A fresh server for each, so that its memory is that of this question.
fn ask(
    command: &[String],
    question: &str,
    tool: &str,
    arguments: &Value,
    truth: &Truth,
) -> Result<Effort> {
    eprintln!("csv: {tool} {arguments}");
    let mut peer = Peer::start(command, LIMIT)?;
    peer.handshake(REVISION, Instant::now())?;
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let before = procfs::cpu(peer.pid).context("CPU time needs /proc")?;
    let since = Instant::now();
    let reply = peer.call(format!("{request}\n").as_bytes())?;
    let wall = since.elapsed();
    check(reply, question, truth)?;
    let cpu = procfs::cpu(peer.pid).context("CPU time needs /proc")?.saturating_sub(before);
    let peak_mb = procfs::peak_rss_mb(peer.pid).context("memory needs /proc")?;
    peer.close()?;
    Ok(Effort { cpu_s: cpu.as_secs_f64(), wall_s: wall.as_secs_f64(), peak_mb })
}

/// Speed without the right answer is worth nothing.
fn check(reply: &[u8], question: &str, truth: &Truth) -> Result<()> {
    let shown = || String::from_utf8_lossy(reply.get(..2_000).unwrap_or(reply));
    ensure!(find(reply, b"\"isError\":true").is_none(), "{}", shown());
    for part in right_parts(question, truth) {
        ensure!(find(reply, part.as_bytes()).is_some(), "{part} is not in {}", shown());
    }
    Ok(())
}

/// What has to stand in the answer.
fn right_parts(question: &str, truth: &Truth) -> Vec<String> {
    let number =
        |name: &str, value: &str| format!("\"{name}\":{{\"value\":{value},\"exact\":true}}");
    match question {
        "numbers" => vec![
            number("count", &truth.rows.to_string()),
            number("sum", &truth.qty.to_string()),
            number("sum", &truth.cents.to_string()),
            number("sum", &csv_file::decimal(truth.price)),
        ],
        "groups" => (truth.categories.iter().zip(0..))
            .map(|((rows, sum), name): (_, u32)| {
                format!("[\"category-{name:02}\",{rows},{}]", csv_file::decimal(*sum))
            })
            .collect(),
        "frequency" => {
            let (name, rows) = truth.top_city();
            vec![format!("[\"{name}\",{rows}]")]
        }
        _ => {
            // Half a hundredth, where it has one, is five thousandths.
            let (whole, half) = (truth.doubled_median() / 2, truth.doubled_median() % 2);
            let median = match half {
                0 => csv_file::decimal(whole),
                _ => format!("{}.{:02}5", whole / 100, whole % 100),
            };
            vec![number("median", &median)]
        }
    }
}

fn state(name: &str, question: &str, effort: Effort, report: &mut Report) {
    report.state(name, &format!("{question} CPU s"), effort.cpu_s, None);
    report.state(name, &format!("{question} s"), effort.wall_s, None);
    report.state(name, &format!("{question} memory MB"), effort.peak_mb, None);
}

/// What the others need, and how much of the best of them we do.
fn beside(
    packages: &Path,
    question: &str,
    file: &Path,
    ours: Effort,
    report: &mut Report,
) -> Result<()> {
    let mut best = Effort { cpu_s: f64::INFINITY, wall_s: f64::INFINITY, peak_mb: f64::INFINITY };
    for engine in ENGINES {
        let theirs = csv_peers::ask(packages, engine, question, file)?;
        state(engine, question, theirs, report);
        best.cpu_s = best.cpu_s.min(theirs.cpu_s);
        best.wall_s = best.wall_s.min(theirs.wall_s);
        best.peak_mb = best.peak_mb.min(theirs.peak_mb);
    }
    let max_cpu = if question == "numbers" { MAX_CPU_OF_NUMBERS } else { MAX_CPU };
    for (what, ours, best, target) in [
        ("CPU", ours.cpu_s, best.cpu_s, max_cpu),
        ("time", ours.wall_s, best.wall_s, MAX_WALL),
        ("memory", ours.peak_mb, best.peak_mb, MAX_MEMORY),
    ] {
        let what = format!("{question} {what}, of the best engine's");
        report.state(OURS, &what, ours / best, Some(target));
    }
    Ok(())
}
