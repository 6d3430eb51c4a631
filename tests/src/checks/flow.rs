//! Nothing is lost: floods, the end of input with work in flight, a reader that stops, races.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, fail, skip};
use crate::checks::{must, should};
use crate::client::{Client, call, is_answer, line};
use crate::clock::{Instant, PATIENCE};
use crate::profile::told;
use crate::revision::ALL;
use crate::transport::Transport;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

pub(super) const CHECKS: &[Check] = &[
    must(
        "N-001",
        ALL,
        "10,000 requests written without waiting get 10,000 answers.",
        answers_flood,
    ),
    should("N-002", ALL, "Requests that are served at once are answered in order.", keeps_order)
        .over(Transport::Stdio),
    must(
        "N-003",
        ALL,
        "Requests written just before stdin closes are answered.",
        answers_before_end,
    )
    .over(Transport::Stdio),
    must("N-004", ALL, "Calls in flight when stdin closes are answered or cancelled.", drains)
        .over(Transport::Stdio),
    must("N-005", ALL, "A client that stops reading does not make the server grow.", holds_back)
        .over(Transport::Stdio),
    must(
        "N-006",
        ALL,
        "A call cancelled in flight ends without an answer; the next works.",
        cancels,
    ),
    must("N-007", ALL, "Cancelling finished and unknown requests does no harm.", survives_races),
];

const FLOOD: u64 = 10_000;
/// Above every id the client gives out itself.
const FIRST_ID: u64 = 1_000_000;
/// How long a server may take to finish or abort what is in flight when its input ends.
const DRAIN_PATIENCE: Duration = Duration::from_secs(20);
const IN_FLIGHT: usize = 64;

fn answers_flood(ctx: &mut Ctx<'_>) -> Verdict {
    let ids = flood(ctx, FLOOD)?;
    let distinct: HashSet<u64> = ids.iter().copied().collect();
    ensure(ids.len() as u64 == FLOOD && distinct.len() == ids.len(), || {
        format!("{} answers to {} of {FLOOD} requests", ids.len(), distinct.len())
    })
}

fn keeps_order(ctx: &mut Ctx<'_>) -> Verdict {
    if ctx.profile().is_ok_and(|profile| profile.quick_calls_overtake) {
        return Err(skip("calls of this server may overtake each other"));
    }
    let ids = flood(ctx, 500)?;
    let turns = ids.iter().zip(ids.iter().skip(1)).filter(|(earlier, later)| earlier > later);
    let turns = turns.count();
    ensure(turns == 0, || format!("{turns} of {} answers overtook another", ids.len()))
}

/// Writes the flood in one piece and gives the ids in the order of their answers.
fn flood(ctx: &mut Ctx<'_>, count: u64) -> Result<Vec<u64>, Outcome> {
    let mut client = ctx.fresh()?;
    let mut bytes = Vec::new();
    for id in 0..count {
        bytes.extend(line(&cheap_request(ctx, json!(FIRST_ID + id))));
    }
    // The watching would parse every line again; it has seen one of them elsewhere.
    client.peer.send(bytes);
    let mut ids = Vec::new();
    while (ids.len() as u64) < count {
        let deadline = Instant::now() + PATIENCE;
        let answers = client
            .receive_unwatched(deadline)
            .map_err(|why| fail(format!("{why} after {} of {count} answers", ids.len())))?;
        ids.extend(answers.get("id").and_then(Value::as_u64));
    }
    client.barrier()?;
    Ok(ids)
}

/// A request that is answered at once: the profile's quick call, or the harmless method.
fn cheap_request(ctx: &Ctx<'_>, id: Value) -> Value {
    let quick = ctx.profile().ok().and_then(|profile| profile.quick_call.as_ref());
    let (method, params) = match quick {
        Some(quick) => ("tools/call", quick.params()),
        None => (ctx.revision.harmless_method(), Value::Null),
    };
    call(Some(id), method, ctx.revision.envelope(params))
}

fn answers_before_end(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let ids: Vec<Value> = (1..=3).map(|id| json!(id)).collect();
    for id in &ids {
        client.send(&cheap_request(ctx, id.clone()));
    }
    let ending = client.finish(DRAIN_PATIENCE);
    let lost = ids.iter().find(|id| !ending.messages.iter().any(|message| is_answer(message, id)));
    ensure(lost.is_none(), || {
        format!("id {} was not answered", lost.cloned().unwrap_or_default())
    })?;
    ensure(ending.status.is_some_and(|status| status.success()), || {
        format!("exit: {:?}", ending.status)
    })
}

fn drains(ctx: &mut Ctx<'_>) -> Verdict {
    let endless = told(&ctx.profile()?.endless_call, "endless_call")?;
    let mut client = ctx.fresh()?;
    let ids: Vec<Value> =
        (0..IN_FLIGHT).map(|_| client.request("tools/call", endless.params())).collect();
    client.barrier()?;
    let ending = client.finish(DRAIN_PATIENCE);
    let Some(status) = ending.status else {
        return Err(fail(format!("still running {:?} after stdin closed", ending.took)));
    };
    ensure(status.success(), || format!("exited with {status}"))?;
    let answers: Vec<_> = ending.messages.iter().filter(|m| m.get("method").is_none()).collect();
    let odd = answers.iter().find(|answer| !ids.contains(&answer["id"]));
    ensure(odd.is_none(), || format!("answered what was never asked: {odd:?}"))
}

/// Growth that is buffers; a server that hoards what it cannot send passes it at once.
const GROWTH_KIB: u64 = 12 * 1024;
/// Their answers, lists of tools, are many times the allowed growth.
const UNREAD_REQUESTS: u64 = 20_000;

fn holds_back(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let listed =
        if ctx.need("tools").is_ok() { "tools/list" } else { ctx.revision.harmless_method() };
    let request = |id| line(&call(Some(json!(id)), listed, ctx.revision.envelope(Value::Null)));
    let mut bytes = Vec::new();
    (0..UNREAD_REQUESTS).for_each(|id| bytes.extend(request(FIRST_ID + id)));
    let total = bytes.len() as u64;
    client.peer.pause_reading(true);
    client.peer.send(bytes);
    let peak_kib = settled_kib(&client, total)?;
    ensure(peak_kib <= GROWTH_KIB, || {
        format!("{peak_kib} KiB grown with {} bytes taken and nothing read", client.peer.taken())
    })?;
    client.peer.pause_reading(false);
    for answered in 0..UNREAD_REQUESTS {
        let line = client.receive_unparsed(Instant::now() + PATIENCE);
        line.map_err(|why| fail(format!("{why} after {answered} answers")))?;
    }
    Ok(())
}

/// How much the server has grown once it takes no more input. Nothing announces that moment, so
/// it is polled for.
fn settled_kib(client: &Client, total: u64) -> Result<u64, Outcome> {
    const POLL: Duration = Duration::from_millis(20);
    const QUIET_POLLS: u32 = 15;
    let unknown = || skip("the system does not tell the memory of a process");
    let before = client.peer.resident_kib().ok_or_else(unknown)?;
    let (mut peak, mut taken, mut quiet) = (before, 0, 0);
    while quiet < QUIET_POLLS && client.peer.taken() < total {
        thread::sleep(POLL);
        peak = peak.max(client.peer.resident_kib().ok_or_else(unknown)?);
        quiet = if client.peer.taken() == taken { quiet + 1 } else { 0 };
        taken = client.peer.taken();
    }
    Ok(peak.saturating_sub(before))
}

/// A cancellation may come too late for one call; it does not for each of several.
fn cancels(ctx: &mut Ctx<'_>) -> Verdict {
    const TRIES: usize = 3;
    let profile = ctx.profile()?;
    let slow = told(&profile.slow_call, "slow_call")?;
    let client = ctx.client()?;
    let mut late = Ok(());
    for _ in 0..TRIES {
        late = cancels_once(client, &slow.params());
        if !matches!(late, Err(Outcome::Fail(_))) {
            break;
        }
    }
    late?;
    match &profile.quick_call {
        Some(quick) => client.result("tools/call", quick.params()).map(drop),
        None => Ok(()),
    }
}

fn cancels_once(client: &mut Client, slow: &Value) -> Verdict {
    let id = client.request("tools/call", slow.clone());
    client.barrier()?;
    if client.take(|message| is_answer(message, &id)).is_some() {
        return Err(skip("the slow call was over before it could be cancelled"));
    }
    client.cancel(&id);
    // A second call of the same length ends after the first would have.
    client.result("tools/call", slow.clone())?;
    let late = client.take(|message| is_answer(message, &id));
    ensure(late.is_none(), || format!("{} came after the cancellation", late.unwrap_or_default()))
}

fn survives_races(ctx: &mut Ctx<'_>) -> Verdict {
    const RACES: u64 = 200;
    let mut client = ctx.fresh()?;
    let mut ids = Vec::new();
    for id in 0..RACES {
        let id = json!(FIRST_ID + id);
        client.send(&cheap_request(ctx, id.clone()));
        client.notify("notifications/cancelled", json!({ "requestId": id }));
        ids.push(id);
    }
    client.notify("notifications/cancelled", json!({"requestId": "never"}));
    client.barrier()?;
    let answers = client.take_inbox();
    let odd = answers
        .iter()
        .find(|message| message.get("method").is_none() && !ids.contains(&message["id"]));
    ensure(odd.is_none(), || format!("answered what was never asked: {odd:?}"))
}
