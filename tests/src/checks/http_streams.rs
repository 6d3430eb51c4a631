//! The streams of Streamable HTTP: what each carries, and, in a session, coming back to one.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::http_raw::{Raw, until};
use crate::checks::{must, observed, should};
use crate::client::{GRACE, LAST_CHANCE};
use crate::clock::Instant;
use crate::profile::told;
use crate::revision::{MODERN, ONLY_2025_11, STREAMABLE};
use crate::transport::Transport::Http;
use crate::web::events::Event;
use crate::web::{Reply, parsed};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-087", STREAMABLE, "No answer comes by GET unless it is resumed.")
        .over(Http),
    must("S-088", STREAMABLE, "A message goes to one stream only.", does_not_broadcast).over(Http),
    observed(Level::Must, "S-089", STREAMABLE, "Event ids are unique in a session.").over(Http),
    must("S-090", STREAMABLE, "Coming back gives nothing of another stream.", replays_no_other)
        .over(Http),
    should("S-090", STREAMABLE, "Coming back gives all that followed.", replays_the_rest)
        .over(Http),
    should("S-096", STREAMABLE, "Who loses the connection has cancelled nothing.", goes_on)
        .over(Http),
    should("S-097", ONLY_2025_11, "A stream begins with an id and no data.", primes).over(Http),
    must("S-099", STREAMABLE, "Requests at the same time have a stream each.", serves_many)
        .over(Http),
    must("S-122", MODERN, "Requests at the same time have a stream each.", serves_many).over(Http),
];

/// A call that reports progress, on its stream.
fn slow(ctx: &Ctx<'_>, raw: &Raw, id: u64, token: &str) -> Result<Reply, Outcome> {
    let call = told(&ctx.profile()?.slow_call, "slow_call")?;
    let params = call.params_with(json!({ "progressToken": token }));
    let reply = ctx.http(&raw.request(ctx, id, "tools/call", params))?;
    match reply.status() {
        200 if reply.is_stream() => Ok(reply),
        200 => Err(skip("the server answers the slow call without a stream")),
        status => Err(fail(format!("the slow call is answered {status}"))),
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message.get("method").is_none() && message["id"] == id
}

/// Everything that still comes within the grace, or up to the end.
fn rest(reply: &mut Reply) -> Vec<Value> {
    let deadline = Instant::now() + GRACE;
    std::iter::from_fn(|| reply.event(deadline)).map(|event| parsed(&event)).collect()
}

fn updates(messages: impl Iterator<Item = Value>) -> Vec<String> {
    let update = |message: &Value| message["method"] == "notifications/resources/updated";
    messages.filter(update).map(|message| message.to_string()).collect()
}

fn does_not_broadcast(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources.subscribe")?;
    let uri = told(&ctx.profile()?.watched, "watched")?;
    let raw = Raw::open(ctx)?;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let reply = ctx.http(&raw.get(ctx))?;
        if reply.is_stream() {
            streams.push(reply);
        }
    }
    let subscribe = raw.request(ctx, 2, "resources/subscribe", json!({ "uri": uri }));
    ctx.http(&subscribe)?.message()?;
    let mut reply = slow(ctx, &raw, 3, "one")?;
    let events = until(&mut reply, "an answer", |message| is_answer(message, 3))?;
    let mut heard = vec![updates(events.iter().map(parsed))];
    for stream in &mut streams {
        heard.push(updates(rest(stream).into_iter()));
    }
    heard.retain(|updates| !updates.is_empty());
    let twice = heard.iter().zip(heard.iter().skip(1)).find(|(one, other)| one == other);
    ensure(twice.is_none(), || format!("on two streams: {twice:?}"))
}

/// The id of the first event that carries a message, and of the last.
fn ids(events: &[Event]) -> Result<(String, String), Outcome> {
    let carrying = |event: &&Event| event.data.as_deref().is_some_and(|data| !data.is_empty());
    let mut ids = events.iter().filter(carrying).filter_map(|event| event.id.clone());
    let first = ids.next().ok_or_else(|| skip("events have no ids: nobody can come back"))?;
    let last = ids.next_back().unwrap_or_else(|| first.clone());
    Ok((first, last))
}

/// What coming back with an event's id gives, up to what is enough.
fn resumed(
    ctx: &Ctx<'_>,
    raw: &Raw,
    event: &str,
    enough: impl Fn(&[Value]) -> bool,
) -> Result<Vec<Value>, Outcome> {
    let mut reply = ctx.http(&raw.get(ctx).with("last-event-id", event))?;
    match reply.status() {
        200 => {}
        400..500 => return Ok(Vec::new()),
        status => return Err(fail(format!("coming back is answered {status}"))),
    }
    let mut given = Vec::new();
    let deadline = Instant::now() + LAST_CHANCE;
    while !enough(&given) {
        let Some(event) = reply.event(deadline) else { break };
        given.push(parsed(&event));
    }
    given.extend(rest(&mut reply));
    Ok(given)
}

fn replays_no_other(ctx: &mut Ctx<'_>) -> Verdict {
    let (one, other) = (Raw::open_session(ctx)?, Raw::open_session(ctx)?);
    let mut begun = Vec::new();
    for (raw, id, token) in [(&one, 2, "first"), (&one, 3, "second"), (&other, 4, "third")] {
        let mut reply = slow(ctx, raw, id, token)?;
        let events = until(&mut reply, "an answer", |message| is_answer(message, id))?;
        begun.push(ids(&events)?.0);
    }
    let is_about = |message: &Value, id: u64, token: &str| {
        message["id"] == id || message["params"]["progressToken"] == token
    };
    let own = resumed(ctx, &one, begun.first().map_or("", String::as_str), |_| true)?;
    let foreign = own.iter().find(|m| is_about(m, 3, "second") || is_about(m, 4, "third"));
    ensure(foreign.is_none(), || format!("of another stream: {foreign:?}"))?;
    for event in &begun {
        let given = resumed(ctx, &other, event, |_| true)?;
        let foreign = given.iter().find(|m| is_about(m, 2, "first") || is_about(m, 3, "second"));
        ensure(foreign.is_none(), || format!("of another session: {foreign:?}"))?;
    }
    Ok(())
}

fn replays_the_rest(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open_session(ctx)?;
    let mut reply = slow(ctx, &raw, 2, "first")?;
    let events = until(&mut reply, "an answer", |message| is_answer(message, 2))?;
    let (first, _) = ids(&events)?;
    let sent: Vec<_> = events.iter().map(parsed).filter(|message| !message.is_null()).collect();
    let due = sent.get(1..).unwrap_or_default();
    let has_all = |again: &[Value]| due.iter().all(|message| again.contains(message));
    let again = resumed(ctx, &raw, &first, has_all)?;
    let missing = due.iter().find(|message| !again.contains(message));
    ensure(missing.is_none(), || format!("after {first} this is missing: {missing:?}"))
}

fn goes_on(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open_session(ctx)?;
    let mut reply = slow(ctx, &raw, 2, "first")?;
    let progress = |message: &Value| message["method"] == "notifications/progress";
    let events = until(&mut reply, "progress", progress)?;
    let (_, last) = ids(&events)?;
    drop(reply);
    let mut reply = ctx.http(&raw.get(ctx).with("last-event-id", &last))?;
    ensure(reply.is_stream(), || format!("coming back is answered {}", reply.status()))?;
    let events = until(&mut reply, "the answer", |message| is_answer(message, 2))?;
    let answer = events.last().map(parsed).unwrap_or_default();
    let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
    ensure(!failed, || format!("the call whose connection was lost came to {answer}"))
}

fn primes(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open_session(ctx)?;
    let mut reply = slow(ctx, &raw, 2, "first")?;
    let events = until(&mut reply, "an answer", |message| is_answer(message, 2))?;
    let first = events.first().cloned().unwrap_or_default();
    let empty = first.data.as_deref() == Some("");
    ensure(first.id.is_some() && empty, || format!("the stream begins with {first:?}"))
}

fn serves_many(ctx: &mut Ctx<'_>) -> Verdict {
    const MANY: u64 = 4;
    let raw = Raw::open(ctx)?;
    let token = |id: u64| format!("token-{id}");
    let mut replies = Vec::new();
    for id in 2..2 + MANY {
        replies.push((id, slow(ctx, &raw, id, &token(id))?));
    }
    for (id, reply) in &mut replies {
        let events = until(reply, "its answer", |message| is_answer(message, *id))?;
        let foreign = events.iter().map(parsed).find(|message| {
            let progress = &message["params"]["progressToken"];
            !progress.is_null() && *progress != token(*id).as_str()
        });
        ensure(foreign.is_none(), || format!("on the stream of {id}: {foreign:?}"))?;
    }
    Ok(())
}
