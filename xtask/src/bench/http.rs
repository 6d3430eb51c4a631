//! `calculate_sum` by POST on connections that are kept: one call at a time, then 64 connections at
//! once on a server with a core of its own, beside the official SDK in its best mode and hyper with no protocol at all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::affinity::Pinned;
use super::metric::Target::{self, AtLeast, AtMost};
use super::procfs;
use super::report::Report;
use super::stdio::percentile;
use super::subject::{self, MODERN};
use super::wire::{self, Call};
use crate::workspace::Workspace;

const STATEFUL: &str = "2025-11-25";
const CONNECTIONS: usize = 64;
/// Enough threads to keep the server's core busy.
const DRIVERS: usize = 4;

const MAX_P50_US: Target = AtMost(90.0);
const MAX_CPU_US: Target = AtMost(45.0);
const MIN_OVER_SDK: Target = AtLeast(3.0);
const MIN_OVER_FLOOR: Target = AtLeast(0.6);
const MAX_P99_OVER_P50: Target = AtMost(3.0);
const MAX_RSS_MB: Target = AtMost(8.0);
const MAX_SESSION_KB: Target = AtMost(20.0);

#[derive(Clone, Copy)]
struct Load {
    sequential: u64,
    parallel: u64,
    sessions: usize,
    rounds: usize,
}

const FULL: Load = Load { sequential: 10_000, parallel: 100_000, sessions: 5_000, rounds: 3 };
const QUICK: Load = Load { sequential: 1_000, parallel: 5_000, sessions: 500, rounds: 1 };

struct Subject {
    name: &'static str,
    command: Vec<String>,
    revision: &'static str,
    /// Ours, and so held to the targets.
    is_bound: bool,
}

/// What one round on one server gave.
struct Figures {
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
    calls_per_s: f64,
    parallel_p99_over_p50: f64,
    rss_mb: f64,
}

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    let load = if quick { QUICK } else { FULL };
    let outcome = subjects(workspace).and_then(|subjects| rounds(&subjects, load, report));
    if let Err(error) = outcome {
        report.skip("http", &format!("{error:#}"));
    }
}

fn subjects(workspace: &Workspace) -> Result<Vec<Subject>> {
    let ours =
        [subject::calculator(workspace)?, ["--http", "127.0.0.1:0"].map(str::to_owned).to_vec()]
            .concat();
    let sdk = subject::peer(workspace, "rmcp", "rmcp-http", &["--features", "http"], &[])?;
    let floor = subject::peer(workspace, "floor", "floor", &[], &["http"])?;
    let subject = |name, command: &Vec<String>, revision, is_bound| Subject {
        name,
        command: command.clone(),
        revision,
        is_bound,
    };
    Ok(vec![
        subject("calculator", &ours, STATEFUL, true),
        subject("calculator", &ours, MODERN, true),
        subject("rmcp", &sdk, STATEFUL, false),
        subject("rmcp", &sdk, MODERN, false),
        subject("floor", &floor, STATEFUL, false),
    ])
}

/// Rounds are interleaved; of each figure the median counts.
fn rounds(subjects: &[Subject], load: Load, report: &mut Report) -> Result<()> {
    let mut all: Vec<Vec<Figures>> = subjects.iter().map(|_| Vec::new()).collect();
    for round in 0..load.rounds {
        for (subject, figures) in subjects.iter().zip(&mut all) {
            eprintln!(
                "round {}/{}: {} {} over HTTP",
                round + 1,
                load.rounds,
                subject.name,
                subject.revision
            );
            let name = || format!("{} {}", subject.name, subject.revision);
            figures.push(one_round(subject, load).with_context(name)?);
        }
    }
    let median = |figures: &[Figures], of: fn(&Figures) -> f64| {
        percentile(&mut figures.iter().map(of).collect::<Vec<_>>(), 0.5).unwrap_or_default()
    };
    let floor = all.last().map_or(0.0, |figures| median(figures, |f| f.calls_per_s));
    for (subject, figures) in subjects.iter().zip(&all) {
        let name = format!("{} {} http", subject.name, subject.revision);
        let bound = |target| subject.is_bound.then_some(target);
        let mut state = |what, of, target| report.state(&name, what, median(figures, of), target);
        state("seq p50 µs", |f| f.p50_us, bound(MAX_P50_US));
        state("seq p99 µs", |f| f.p99_us, None);
        state("seq CPU µs", |f| f.cpu_us, bound(MAX_CPU_US));
        state("64 connections calls/s", |f| f.calls_per_s, None);
        state("64 connections p99 / p50", |f| f.parallel_p99_over_p50, bound(MAX_P99_OVER_P50));
        state("RSS after MB", |f| f.rss_mb, bound(MAX_RSS_MB));
        if subject.is_bound {
            let calls = median(figures, |f| f.calls_per_s);
            let sdk = subjects
                .iter()
                .zip(&all)
                .find(|(other, _)| other.name == "rmcp" && other.revision == subject.revision);
            let sdk = sdk.map_or(0.0, |(_, figures)| median(figures, |f| f.calls_per_s));
            report.state(&name, "calls/s over rmcp", calls / sdk, Some(MIN_OVER_SDK));
            report.state(&name, "calls/s over floor", calls / floor, Some(MIN_OVER_FLOOR));
        }
    }
    if let Some(ours) = subjects.first() {
        let kilobytes = idle_session_kb(ours, load.sessions)?;
        report.state("calculator http", "KB per idle session", kilobytes, Some(MAX_SESSION_KB));
    }
    Ok(())
}

fn one_round(subject: &Subject, load: Load) -> Result<Figures> {
    let server = Server::start(&subject.command)?;
    let mut connection = server.connect(subject.revision)?;
    let call = Call::sum(subject.revision);
    connection.calls(&call, 1, load.sequential / 10)?;
    let pinned = Pinned::together(server.child.id());
    let before = procfs::cpu(server.child.id());
    let mut latencies = connection.calls(&call, 10_000, load.sequential)?;
    let used = procfs::cpu(server.child.id()).zip(before).map(|(after, before)| after - before);
    drop(pinned);
    let cpu_us = used.map_or(f64::NAN, |used| used.as_secs_f64() * 1e6 / load.sequential as f64);
    let pinned = Pinned::apart(server.child.id());
    let (calls_per_s, _) = server.parallel(subject.revision, load.parallel, DRIVERS)?;
    // Threads that wait for each other would be part of the time a call takes.
    let (_, mut parallel) = server.parallel(subject.revision, load.parallel, 1)?;
    drop(pinned);
    let at = |latencies: &mut [f64], share| percentile(latencies, share).unwrap_or(f64::NAN);
    Ok(Figures {
        p50_us: at(&mut latencies, 0.5),
        p99_us: at(&mut latencies, 0.99),
        cpu_us,
        calls_per_s,
        parallel_p99_over_p50: at(&mut parallel, 0.99) / at(&mut parallel, 0.5),
        rss_mb: procfs::rss_mb(server.child.id()).unwrap_or(f64::NAN),
    })
}

/// Memory for sessions that are opened, each by a connection of its own, and left alone.
fn idle_session_kb(subject: &Subject, sessions: usize) -> Result<f64> {
    let server = Server::start(&subject.command)?;
    server.connect(subject.revision)?;
    let before = procfs::rss_mb(server.child.id()).context("memory needs /proc")?;
    for _ in 0..sessions {
        server.connect(subject.revision)?;
    }
    let after = procfs::rss_mb(server.child.id()).context("memory needs /proc")?;
    Ok((after - before) * 1024.0 / sessions as f64)
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(command: &[String]) -> Result<Self> {
        let (program, arguments) = command.split_first().context("an empty command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let stdout = child.stdout.take().context("the output is a pipe")?;
        let mut server = Self { child, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        server.address = address.context("the server does not say where it is")?.to_owned();
        Ok(server)
    }

    /// A connection ready for calls: with a session, where the revision has some.
    fn connect(&self, revision: &str) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut connection = Connection {
            stream: BufReader::new(stream),
            head: head(revision, None),
            reply: Vec::new(),
            request: Vec::new(),
        };
        if revision != MODERN {
            let hello = wire::hello(revision);
            let session = connection.exchange(&hello)?;
            connection.head = head(revision, session.as_deref());
        }
        Ok(connection)
    }

    /// Calls a second over all connections, and the microseconds of each call.
    fn parallel(&self, revision: &str, calls: u64, drivers: usize) -> Result<(f64, Vec<f64>)> {
        let each = calls / drivers as u64;
        let mut groups = Vec::new();
        for _ in 0..drivers {
            let connections = (0..CONNECTIONS / drivers).map(|_| self.connect(revision));
            groups.push(connections.collect::<Result<Vec<_>>>()?);
        }
        let started = Instant::now();
        let driven: Vec<Result<Vec<f64>>> = std::thread::scope(|scope| {
            let drive = |group: Vec<Connection>| scope.spawn(move || drive(group, revision, each));
            let drivers: Vec<_> = groups.into_iter().map(drive).collect();
            let join = |driver: std::thread::ScopedJoinHandle<'_, Result<Vec<f64>>>| {
                driver.join().unwrap_or_else(|_| bail!("a driver panicked"))
            };
            drivers.into_iter().map(join).collect()
        });
        let elapsed = started.elapsed().as_secs_f64();
        let mut latencies = Vec::new();
        for driver in driven {
            latencies.extend(driver?);
        }
        Ok((latencies.len() as f64 / elapsed, latencies))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a call on every connection, then reads every answer, and again.
fn drive(mut connections: Vec<Connection>, revision: &str, calls: u64) -> Result<Vec<f64>> {
    let call = Call::sum(revision);
    let mut latencies = Vec::new();
    let mut id = 1;
    while (latencies.len() as u64) < calls {
        let mut sent = Vec::with_capacity(connections.len());
        for connection in &mut connections {
            connection.send_call(&call, id)?;
            sent.push((id, Instant::now()));
            id += 1;
        }
        for (connection, (id, sent)) in connections.iter_mut().zip(sent) {
            connection.receive()?;
            latencies.push(sent.elapsed().as_secs_f64() * 1e6);
            ensure!(wire::id(&connection.reply) == Some(id), "a wrong answer");
        }
    }
    Ok(latencies)
}

struct Connection {
    stream: BufReader<TcpStream>,
    /// Of every request, up to the length of its body.
    head: String,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Connection {
    fn calls(&mut self, call: &Call, first_id: u64, count: u64) -> Result<Vec<f64>> {
        let mut latencies = Vec::new();
        for id in first_id..first_id + count {
            let sent = Instant::now();
            self.send_call(call, id)?;
            self.receive()?;
            latencies.push(sent.elapsed().as_secs_f64() * 1e6);
            let is_right = wire::has_sum(&self.reply, id + 1) && wire::id(&self.reply) == Some(id);
            ensure!(is_right, "a wrong answer: {}", String::from_utf8_lossy(&self.reply));
        }
        Ok(latencies)
    }

    fn send_call(&mut self, call: &Call, id: u64) -> Result<()> {
        let mut body = std::mem::take(&mut self.request);
        body.clear();
        call.write(id, id.to_string().as_bytes(), &mut body);
        self.send(&body)?;
        self.request = body;
        Ok(())
    }

    fn exchange(&mut self, body: &[u8]) -> Result<Option<String>> {
        self.send(body)?;
        self.receive()
    }

    fn send(&mut self, body: &[u8]) -> Result<()> {
        let mut request = Vec::with_capacity(self.head.len() + body.len() + 16);
        write!(request, "{}{}\r\n\r\n", self.head, body.len())?;
        request.extend_from_slice(body);
        Ok(self.stream.get_mut().write_all(&request)?)
    }

    /// Reads one response; gives the session it opens, if it does.
    fn receive(&mut self) -> Result<Option<String>> {
        let (mut length, mut session, mut line) = (None, None, String::new());
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the server has closed");
            if line == "\r\n" {
                break;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse()?);
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                session = Some(value.to_owned());
            }
        }
        self.reply.resize(length.context("no content-length: not plain JSON")?, 0);
        self.stream.read_exact(&mut self.reply)?;
        Ok(session)
    }
}

fn head(revision: &str, session: Option<&str>) -> String {
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: {revision}\r\n"
    );
    if revision == MODERN {
        head += "mcp-method: tools/call\r\nmcp-name: calculate_sum\r\n";
    }
    if let Some(session) = session {
        head += &format!("mcp-session-id: {session}\r\n");
    }
    head + "content-length: "
}
