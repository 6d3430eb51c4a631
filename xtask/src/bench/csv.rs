//! `analyze_csv` on a gigabyte through the real server: bytes for each second of CPU time, and the
//! most memory it ever held. The sums in the answer must be the exact ones.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;

use super::csv_file::{self, Truth};
use super::metric::Target::{self, AtLeast, AtMost};
use super::peer::Peer;
use super::procfs;
use super::report::Report;
use super::size::Scratch;
use crate::workspace::{Profile, Workspace};

const REVISION: &str = "2025-11-25";
const MIN_MB_PER_CPU_S: Target = AtLeast(180.0);
const MAX_PEAK_RSS_MB: Target = AtMost(16.0);
const FILE_BYTES: u64 = 1_000_000_000;
const QUICK_FILE_BYTES: u64 = 50_000_000;
const LIMIT: Duration = Duration::from_secs(300);
const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\
    \"name\":\"analyze_csv\",\"arguments\":{\"filepath\":\"bench.csv\",\
    \"operations\":[\"sum\",\"average\",\"count\"]}}}\n";

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
    let truth = csv_file::write(&folder.0.join("bench.csv"), bytes)?;
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let mut peer = Peer::start(&[binary, folder.0.display().to_string()], LIMIT)?;
    peer.handshake(REVISION, std::time::Instant::now())?;
    let before = procfs::cpu(peer.pid).context("CPU time needs /proc")?;
    check_answer(peer.call(REQUEST)?, &truth)?;
    let used = procfs::cpu(peer.pid).context("CPU time needs /proc")?.saturating_sub(before);
    let speed = truth.bytes as f64 / 1e6 / used.as_secs_f64();
    let peak = procfs::peak_rss_mb(peer.pid).context("memory needs /proc")?;
    report.state("mcp-csv", "analyze MB per CPU s", speed, Some(MIN_MB_PER_CPU_S));
    report.state("mcp-csv", "analyze peak RSS MB", peak, Some(MAX_PEAK_RSS_MB));
    peer.close()?;
    Ok(())
}

/// Speed without the right answer is worth nothing.
fn check_answer(reply: &[u8], truth: &Truth) -> Result<()> {
    let wanted = [
        truth.rows.to_string(),
        truth.qty.to_string(),
        truth.cents.to_string(),
        truth.price_decimal(),
    ];
    for number in wanted {
        let shown = || String::from_utf8_lossy(reply.get(..2_000).unwrap_or(reply));
        ensure!(find(reply, number.as_bytes()).is_some(), "{number} is not in {}", shown());
    }
    Ok(())
}
