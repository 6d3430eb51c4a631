//! The session of Streamable HTTP up to 2025-11-25: its id, its life, the version it agreed on.

use crate::check::{Check, Ctx, Level, Verdict, ensure, skip};
use crate::checks::http_raw::{Raw, status};
use crate::checks::{must, observed, should};
use crate::revision::{MIDDLE, STREAMABLE};
use crate::transport::Transport::Http;
use reqwest::Method;
use serde_json::Value;
use std::collections::HashSet;

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-091", STREAMABLE, "Session ids are visible ASCII.").over(Http),
    must("S-092", STREAMABLE, "A session that was ended is not found.", ends_sessions).over(Http),
    must("S-092", STREAMABLE, "A session that never was is not found.", finds_no_stranger)
        .over(Http),
    should("S-093", STREAMABLE, "Without the session's header a request gets 400.", wants_session)
        .over(Http),
    must("S-094", MIDDLE, "A version nobody knows gets 400.", refuses_versions).over(Http),
    should("S-095", MIDDLE, "Without the version's header a request is served.", needs_no_version)
        .over(Http),
    must("S-098", STREAMABLE, "Session ids cannot be guessed.", gives_random_ids).over(Http),
];

fn ends_sessions(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open_session(ctx)?;
    let ended = status(ctx, &raw.delete(ctx))?;
    if ended == 405 {
        return Err(skip("clients cannot end sessions here"));
    }
    ensure((200..300).contains(&ended), || format!("DELETE is answered {ended}"))?;
    for ask in [raw.harmless(ctx, 2), raw.get(ctx), raw.delete(ctx)] {
        let status = status(ctx, &ask)?;
        ensure(status == 404, || format!("{} after DELETE is answered {status}", ask.method))?;
    }
    Ok(())
}

fn finds_no_stranger(ctx: &mut Ctx<'_>) -> Verdict {
    let mut raw = Raw::open_session(ctx)?;
    let id = raw.session.take().unwrap_or_default();
    let shorter = id.get(1..).unwrap_or_default().to_owned();
    for stranger in ["no-such-session".to_owned(), shorter, id.repeat(2)] {
        raw.session = Some(stranger.clone());
        let status = status(ctx, &raw.harmless(ctx, 2))?;
        ensure(status == 404, || format!("the session {stranger} is answered {status}"))?;
    }
    Ok(())
}

fn wants_session(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open_session(ctx)?;
    for ask in [raw.request(ctx, 2, "tools/list", Value::Null), raw.get(ctx)] {
        let status = status(ctx, &ask.clone().without("mcp-session-id"))?;
        let fine = status == 400 || ask.method == Method::GET && status == 405;
        ensure(fine, || format!("{} without a session is answered {status}", ask.method))?;
    }
    Ok(())
}

fn refuses_versions(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for version in ["1999-01-01", "latest", "2025-11-25, 2025-06-18"] {
        let notice = crate::client::call(None, "notifications/unheard_of", None);
        for ask in [raw.harmless(ctx, 2), raw.ask(ctx, &notice)] {
            let status = status(ctx, &ask.with("mcp-protocol-version", version))?;
            ensure(status == 400, || format!("the version {version} is answered {status}"))?;
        }
    }
    Ok(())
}

fn needs_no_version(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let status = status(ctx, &raw.harmless(ctx, 2).without("mcp-protocol-version"))?;
    ensure(status == 200, || format!("without a version a request is answered {status}"))
}

/// A sample shows counters and clocks; whether the source is a good one it cannot show.
fn gives_random_ids(ctx: &mut Ctx<'_>) -> Verdict {
    const SAMPLE: usize = 8;
    const LEAST_CHARACTERS: usize = 16;
    let mut ids = Vec::new();
    for _ in 0..SAMPLE {
        ids.extend(Raw::open_session(ctx)?.session);
    }
    let distinct: HashSet<&String> = ids.iter().collect();
    ensure(distinct.len() == SAMPLE, || format!("of {SAMPLE} ids some are equal: {ids:?}"))?;
    let short = ids.iter().find(|id| id.len() < LEAST_CHARACTERS);
    ensure(short.is_none(), || format!("the id {short:?} is short"))?;
    for (one, other) in ids.iter().zip(ids.iter().skip(1)) {
        let differing = one.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count();
        ensure(differing >= LEAST_CHARACTERS / 2, || format!("{one} and {other} are alike"))?;
    }
    Ok(())
}
