//! The measurements over standard streams, in the order a session lives: start, one call at a time,
//! many calls in flight, a megabyte, end of input.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::affinity::Pinned;
use super::asks;
use super::metric::{Figures, Metric};
use super::peer::Peer;
use super::procfs;
use super::subject::Subject;
use super::wire::{self, Call};

const IN_FLIGHT: u64 = 64;
const WARM_UP_CALLS: u64 = 500;
const MILLION: u64 = 1_000_000;
const ECHO_BYTES: usize = 1_000_000;
/// Far beyond what a million calls take the slowest server measured.
const SERVER_LIMIT: Duration = Duration::from_secs(180);

#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) starts: usize,
    pub(crate) sequential: u64,
    pub(crate) pipelined: u64,
    pub(crate) asks: u64,
    pub(crate) echoes: usize,
    pub(crate) million: bool,
}

pub(crate) const FULL: Load = Load {
    starts: 20,
    sequential: 10_000,
    pipelined: 100_000,
    asks: 5_000,
    echoes: 50,
    million: true,
};
pub(crate) const QUICK: Load = Load {
    starts: 5,
    sequential: 2_000,
    pipelined: 20_000,
    asks: 1_000,
    echoes: 10,
    million: false,
};

pub(crate) fn measure(subject: &Subject, revision: &str, load: Load) -> Result<Figures> {
    let mut figures = Figures::default();
    starts(subject, revision, load, &mut figures).context("start")?;
    let started = Instant::now();
    let mut peer = Peer::start(&subject.command, SERVER_LIMIT)?;
    peer.handshake(revision, started)?;
    figures.set(Metric::RssStart, procfs::rss_mb(peer.pid));
    if subject.sums {
        sequential(&mut peer, revision, load, &mut figures).context("sequential calls")?;
        pipelined(&mut peer, revision, load, &mut figures).context("pipelined calls")?;
    }
    if subject.asks {
        asks::measure(&mut peer, revision, load.asks, &mut figures).context("questions")?;
    }
    if subject.echoes {
        echo(&mut peer, revision, load, &mut figures).context("1 MB echo")?;
    }
    figures.set(Metric::Exit, Some(millis(peer.close().context("end of input")?)));
    Ok(figures)
}

/// Each start is a new process, ended by force: how it ends by itself is measured elsewhere.
fn starts(subject: &Subject, revision: &str, load: Load, figures: &mut Figures) -> Result<()> {
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..load.starts {
        let started = Instant::now();
        let mut peer = Peer::start(&subject.command, SERVER_LIMIT)?;
        wall.push(millis(peer.handshake(revision, started)?));
        cpu.extend(procfs::cpu(peer.pid).map(millis));
    }
    figures.set(Metric::Start, percentile(&mut wall, 0.5));
    figures.set(Metric::StartCpu, percentile(&mut cpu, 0.5));
    Ok(())
}

fn sequential(peer: &mut Peer, revision: &str, load: Load, figures: &mut Figures) -> Result<()> {
    let call = Call::sum(revision);
    one_by_one(peer, &call, 1, WARM_UP_CALLS)?;
    let mut free = one_by_one(peer, &call, 10_000, load.sequential)?;
    figures.set(Metric::SequentialFree, percentile(&mut free, 0.5));
    let pinned = Pinned::together(peer.pid);
    let cpu = CpuMeter::start(peer);
    let mut latencies = one_by_one(peer, &call, 50_000, load.sequential)?;
    figures.set(Metric::SequentialCpu, cpu.micros_per(load.sequential));
    if pinned.is_some() {
        figures.set(Metric::SequentialP50, percentile(&mut latencies, 0.5));
        figures.set(Metric::SequentialP99, percentile(&mut latencies, 0.99));
    }
    Ok(())
}

/// The microseconds of each call, none sent before the last was answered.
fn one_by_one(peer: &mut Peer, call: &Call, first_id: u64, count: u64) -> Result<Vec<f64>> {
    let mut request = Vec::new();
    let mut latencies = Vec::new();
    for id in first_id..first_id + count {
        request.clear();
        call.write(id, id.to_string().as_bytes(), &mut request);
        let sent = Instant::now();
        let reply = peer.call(&request)?;
        latencies.push(sent.elapsed().as_secs_f64() * 1e6);
        let right = wire::has_sum(reply, id + 1) && wire::id(reply) == Some(id);
        ensure!(right, "a wrong answer: {}", String::from_utf8_lossy(reply));
    }
    Ok(latencies)
}

fn pipelined(peer: &mut Peer, revision: &str, load: Load, figures: &mut Figures) -> Result<()> {
    let call = Call::sum(revision);
    let cpu = CpuMeter::start(peer);
    let started = Instant::now();
    let reordered = pipeline(peer, &call, 100_000, load.pipelined)?;
    let elapsed = started.elapsed();
    figures.set(Metric::PipelinedCpu, cpu.micros_per(load.pipelined));
    figures.set(Metric::Pipelined, Some(load.pipelined as f64 / elapsed.as_secs_f64()));
    figures.set(Metric::Reordered, Some(100.0 * reordered as f64 / load.pipelined as f64));
    let after = procfs::rss_mb(peer.pid);
    figures.set(Metric::RssAfter, after);
    if load.million {
        pipeline(peer, &call, 10_000_000, MILLION)?;
        let million = procfs::rss_mb(peer.pid);
        figures.set(Metric::RssMillion, million);
        figures.set(Metric::RssGrowth, million.zip(after).map(|(later, before)| later - before));
    }
    Ok(())
}

/// Keeps a fixed number of calls in flight: as many are sent, in one write, as were answered in the
/// last batch read. Every id must be answered exactly once. Gives the count of answers that came
/// right after one with a higher id.
fn pipeline(peer: &mut Peer, call: &Call, first_id: u64, count: u64) -> Result<u64> {
    let mut answered = vec![false; usize::try_from(count)?];
    let mut requests = Vec::new();
    let (mut sent, mut received, mut reordered, mut previous) = (0, 0, 0, 0);
    while received < count {
        requests.clear();
        while sent < count && sent - received < IN_FLIGHT {
            call.write(first_id + sent, b"41", &mut requests);
            sent += 1;
        }
        peer.write(&requests)?;
        loop {
            let id = wire::id(peer.reply()?).context("an answer without a numeric id")?;
            let index = id.checked_sub(first_id).and_then(|index| usize::try_from(index).ok());
            let slot = index.and_then(|index| answered.get_mut(index));
            let slot = slot.with_context(|| format!("an answer to {id}, which was not asked"))?;
            ensure!(!*slot, "two answers to {id}");
            *slot = true;
            reordered += u64::from(id < previous);
            previous = id;
            received += 1;
            if !peer.has_buffered_line() {
                break;
            }
        }
    }
    Ok(reordered)
}

fn echo(peer: &mut Peer, revision: &str, load: Load, figures: &mut Figures) -> Result<()> {
    let message = vec![b'x'; ECHO_BYTES];
    let call = Call::echo(revision);
    let (mut request, mut latencies) = (Vec::new(), Vec::new());
    let cpu = CpuMeter::start(peer);
    for index in 0..load.echoes {
        request.clear();
        call.write(20_000_000 + index as u64, &message, &mut request);
        let sent = Instant::now();
        let reply = peer.call(&request)?;
        latencies.push(millis(sent.elapsed()));
        ensure!(reply.len() > message.len(), "a short echo of {} bytes", reply.len());
    }
    figures.set(Metric::EchoCpu, cpu.micros_per(load.echoes as u64).map(|us| us / 1e3));
    figures.set(Metric::Echo, percentile(&mut latencies, 0.5));
    figures.set(Metric::RssEcho, procfs::rss_mb(peer.pid));
    Ok(())
}

pub(crate) struct CpuMeter {
    pid: u32,
    before: Option<Duration>,
}

impl CpuMeter {
    pub(crate) fn start(peer: &Peer) -> Self {
        Self { pid: peer.pid, before: procfs::cpu(peer.pid) }
    }

    pub(crate) fn micros_per(&self, calls: u64) -> Option<f64> {
        let used = procfs::cpu(self.pid)?.checked_sub(self.before?)?;
        Some(used.as_secs_f64() * 1e6 / calls as f64)
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The value that this share of all values does not exceed.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len().checked_sub(1)? as f64 * share).round() as usize;
    values.get(rank).copied()
}
