//! What a question costs: a call of `calculate_power` whose result is long enough for the server to
//! ask the person first, answered at once. In the stateful revisions the question is a request to
//! the client; in 2026-07-28 the call is answered with the question and called again.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::metric::{Figures, Metric};
use super::peer::Peer;
use super::stdio::{CpuMeter, percentile};
use super::subject::MODERN;
use super::wire::{self, Call};

/// Those that have elicitation.
const REVISIONS: &[&str] = &["2025-06-18", "2025-11-25", MODERN];
const ANSWER: &str = r#"{"action":"accept","content":{"show":true}}"#;
/// 10⁴⁰, which is longer than the calculator shows unasked.
const DIGITS: &[u8] = b"10000000000000000000000000000000000000000";

pub(crate) fn measure(
    peer: &mut Peer,
    revision: &str,
    count: u64,
    figures: &mut Figures,
) -> Result<()> {
    if !REVISIONS.contains(&revision) {
        return Ok(());
    }
    let call = Call::power(revision);
    let mut latencies = Vec::new();
    let cpu = CpuMeter::start(peer);
    for id in 30_000_000..30_000_000 + count {
        let asked = Instant::now();
        let mut request = Vec::new();
        call.write(id, b"40", &mut request);
        peer.write(&request)?;
        let answer = if revision == MODERN { again(peer, id)? } else { answered(peer)? };
        latencies.push(asked.elapsed().as_secs_f64() * 1e6);
        let right = memchr::memmem::find(answer, DIGITS).is_some();
        ensure!(right, "a wrong answer: {}", String::from_utf8_lossy(answer));
    }
    figures.set(Metric::AskCpu, cpu.micros_per(count));
    figures.set(Metric::Ask, percentile(&mut latencies, 0.5));
    Ok(())
}

fn answered(peer: &mut Peer) -> Result<&[u8]> {
    let id = peer.question("elicitation/create")?;
    peer.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{ANSWER}}}\n").as_bytes())?;
    peer.reply()
}

/// Calls again under another id, with the answer and the state the server has sealed.
fn again(peer: &mut Peer, id: u64) -> Result<&[u8]> {
    let state = wire::request_state(peer.line()?).context("no question came")?.to_vec();
    let mut retry = Vec::new();
    Call::power_again(ANSWER).write(id + 10_000_000, &state, &mut retry);
    peer.call(&retry)
}
