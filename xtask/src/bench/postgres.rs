//! The PostgreSQL server beside psql and beside the archived reference server, on a throw-away
//! database: one small query with the whole read-only path around it, a large result, queries side
//! by side, start and memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use workspace_tests::postgres;

use super::metric::Target::{self, AtMost};
use super::peer::Peer;
use super::procfs;
use super::report::Report;
use super::stdio::percentile;
use crate::workspace::{Profile, Workspace, run};

/// The newest the reference server speaks.
const REVISION: &str = "2024-11-05";
const LIMIT: Duration = Duration::from_secs(300);
const REFERENCE: &str = "@modelcontextprotocol/server-postgres@0.6.2";
const ROWS: usize = 100_000;
const TABLE: &str = "CREATE TABLE IF NOT EXISTS bench AS SELECT n AS id, 'name ' || n AS name,
    n * 1.25 AS price, timestamp '2026-01-01' + n * interval '1 minute' AS at, n % 2 = 0 AS even
    FROM generate_series(1, 100000) n";
const SETTLE: &str = "VACUUM ANALYZE bench";

const MAX_SELECT_MS: Target = AtMost(0.6);
/// Times what psql takes.
const MAX_ROWS: Target = AtMost(2.0);
const MAX_SLEEPS_S: Target = AtMost(0.25);
const MAX_START_MS: Target = AtMost(15.0);
const MAX_START_MB: Target = AtMost(15.0);
/// While 100,000 rows pass through.
const MAX_ROWS_MB: Target = AtMost(25.0);

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    if let Err(error) = try_measure(workspace, quick, report) {
        report.fail("postgres", REVISION, &error);
    }
}

/// What is measured of a server.
struct Figures {
    start_ms: f64,
    start_mb: f64,
    select_ms: [f64; 2],
    sleeps_s: f64,
    rows_s: f64,
    rows_mb: f64,
}

fn try_measure(workspace: &Workspace, quick: bool, report: &mut Report) -> Result<()> {
    let servers = workspace.select(&["postgres".to_owned()])?;
    workspace.build(&servers, Profile::Release)?;
    let server = servers.first().context("no PostgreSQL server")?;
    let url = postgres::url()?;
    let statements = ["-q", "-d", &url, "-c", TABLE, "-c", SETTLE];
    run(Command::new("psql").args(statements).stdout(Stdio::null()))?;
    let calls = if quick { 200 } else { 2000 };
    let binary = workspace.binary(server, Profile::Release).display().to_string();
    let ours = figures(&[binary, url.clone()], calls, paged)?;
    let psql = psql_s(&url)?;
    let name = "mcp-postgres";
    report.state(name, "start ms", ours.start_ms, Some(MAX_START_MS));
    report.state(name, "start RSS MB", ours.start_mb, Some(MAX_START_MB));
    report.state(name, "SELECT 1 p50 ms", ours.select_ms[0], Some(MAX_SELECT_MS));
    report.state(name, "SELECT 1 p99 ms", ours.select_ms[1], None);
    report.state(name, "8 x pg_sleep(0.2) s", ours.sleeps_s, Some(MAX_SLEEPS_S));
    report.state("psql", "100,000 rows s", psql, None);
    report.state(name, "100,000 rows s", ours.rows_s, None);
    report.state(name, "100,000 rows, of psql", ours.rows_s / psql, Some(MAX_ROWS));
    report.state(name, "100,000 rows peak RSS MB", ours.rows_mb, Some(MAX_ROWS_MB));
    if let Err(error) = compare(workspace, &url, calls, &ours, report) {
        report.skip("postgres: the reference server", &format!("{error:#}"));
    }
    Ok(())
}

fn compare(
    workspace: &Workspace,
    url: &str,
    calls: usize,
    ours: &Figures,
    report: &mut Report,
) -> Result<()> {
    let folder = workspace.target_dir.join("bench-peers/npm-postgres");
    std::fs::create_dir_all(&folder)?;
    let install =
        ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    run(Command::new("npm").args(install).arg(&folder).arg(REFERENCE))?;
    let script = "node_modules/@modelcontextprotocol/server-postgres/dist/index.js";
    let script = folder.join(script).display().to_string();
    let theirs = figures(&["node".to_owned(), script, url.to_owned()], calls, at_once)?;
    let name = "reference server";
    for (what, theirs, ours) in [
        ("start ms", theirs.start_ms, ours.start_ms),
        ("start RSS MB", theirs.start_mb, ours.start_mb),
        ("SELECT 1 p50 ms", theirs.select_ms[0], ours.select_ms[0]),
        ("SELECT 1 p99 ms", theirs.select_ms[1], ours.select_ms[1]),
        ("8 x pg_sleep(0.2) s", theirs.sleeps_s, ours.sleeps_s),
        ("100,000 rows s", theirs.rows_s, ours.rows_s),
        ("100,000 rows peak RSS MB", theirs.rows_mb, ours.rows_mb),
    ] {
        report.state(name, what, theirs, None);
        report.state(name, &format!("{what}, times ours"), theirs / ours, None);
    }
    Ok(())
}

fn figures(
    command: &[String],
    calls: usize,
    all_rows: fn(&mut Peer) -> Result<usize>,
) -> Result<Figures> {
    let mut starts = Vec::new();
    for _ in 0..5 {
        let since = Instant::now();
        let mut peer = Peer::start(command, LIMIT)?;
        starts.push(ms(peer.handshake(REVISION, since)?));
    }
    let mut peer = Peer::start(command, LIMIT)?;
    peer.handshake(REVISION, Instant::now())?;
    let start_mb = procfs::rss_mb(peer.pid).context("memory needs /proc")?;
    // The first call connects.
    for _ in 0..20 {
        call(&mut peer, "query", &json!({"sql": "SELECT 1"}))?;
    }
    let mut selects = Vec::new();
    for _ in 0..calls {
        let since = Instant::now();
        call(&mut peer, "query", &json!({"sql": "SELECT 1"}))?;
        selects.push(ms(since.elapsed()));
    }
    let sleeps_s = (0..3).map(|_| sleeps(&mut peer)).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for _ in 0..5 {
        let since = Instant::now();
        let found = all_rows(&mut peer)?;
        ensure!(found == ROWS, "{found} rows");
        rows.push(since.elapsed().as_secs_f64());
    }
    Ok(Figures {
        start_ms: median(starts),
        start_mb,
        select_ms: [0.5, 0.99].map(|share| percentile(&mut selects, share).unwrap_or(f64::NAN)),
        sleeps_s: median(sleeps_s),
        rows_s: median(rows),
        rows_mb: procfs::peak_rss_mb(peer.pid).context("memory needs /proc")?,
    })
}

/// From the first request to the last answer.
fn sleeps(peer: &mut Peer) -> Result<f64> {
    let since = Instant::now();
    for id in 100..108 {
        peer.write(&request(id, "query", &json!({"sql": "SELECT pg_sleep(0.2)"})))?;
    }
    for _ in 0..8 {
        peer.reply()?;
    }
    Ok(since.elapsed().as_secs_f64())
}

const ALL: &str = "SELECT * FROM bench";

/// Page after page of one snapshot, as large as they are by default.
fn paged(peer: &mut Peer) -> Result<usize> {
    let mut answer = call(peer, "query", &json!({"sql": ALL, "max_rows": ROWS}))?;
    let mut rows = 0;
    loop {
        let page: Value = serde_json::from_str(text(&answer)?)?;
        let count = page.get("row_count").and_then(Value::as_u64).context("no row_count")?;
        rows += usize::try_from(count)?;
        let cursor = page.get("next_cursor").and_then(Value::as_str);
        let Some(cursor) = cursor else { return Ok(rows) };
        answer = call(peer, "fetch_rows", &json!({"cursor": cursor, "max_rows": ROWS}))?;
    }
}

/// The reference server knows no other way.
fn at_once(peer: &mut Peer) -> Result<usize> {
    let answer = call(peer, "query", &json!({"sql": ALL}))?;
    Ok(text(&answer)?.matches("\"id\":").count())
}

fn text(answer: &Value) -> Result<&str> {
    let text = answer.pointer("/result/content/0/text");
    text.and_then(Value::as_str).with_context(|| format!("no text in {answer}"))
}

fn call(peer: &mut Peer, tool: &str, arguments: &Value) -> Result<Value> {
    Ok(serde_json::from_slice(peer.call(&request(1, tool, arguments))?)?)
}

fn request(id: u64, tool: &str, arguments: &Value) -> Vec<u8> {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    format!("{request}\n").into_bytes()
}

fn psql_s(url: &str) -> Result<f64> {
    let once = |_| {
        let since = Instant::now();
        run(Command::new("psql").args(["-qtA", "-d", url, "-c", ALL]).stdout(Stdio::null()))?;
        Ok(since.elapsed().as_secs_f64())
    };
    Ok(median((0..5).map(once).collect::<Result<Vec<_>>>()?))
}

fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 0.5).unwrap_or(f64::NAN)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
