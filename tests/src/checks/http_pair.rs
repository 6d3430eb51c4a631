//! HTTP with server-sent events, 2024-11-05: a stream down, and where to send to.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail};
use crate::checks::{must, observed, should};
use crate::client::call;
use crate::clock::{Instant, PATIENCE};
use crate::revision::{ONLY_2024_11, initialize_params};
use crate::transport::Transport::Http;
use crate::web::{Ask, Reply, parsed};
use reqwest::Url;
use serde_json::json;
use std::thread::sleep;
use std::time::Duration;

pub(super) const CHECKS: &[Check] = &[
    must("S-105", ONLY_2024_11, "The first event is `endpoint`.", begins_with_endpoint).over(Http),
    must("S-105", ONLY_2024_11, "What is sent there is answered on the stream.", answers_down)
        .over(Http),
    observed(Level::Must, "S-107", ONLY_2024_11, "Messages are `message` events of JSON.")
        .over(Http),
    should("H-020", ONLY_2024_11, "What is sent to no session gets 400 or 404.", refuses_strangers)
        .over(Http),
    should("H-021", ONLY_2024_11, "The session ends with its stream.", ends_with_stream).over(Http),
];

/// Where the first `endpoint` event says to send to.
pub(super) fn endpoint(down: &mut Reply, sse_url: &str) -> Result<String, Outcome> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(event) = down.event(deadline) {
        if event.name.as_deref() == Some("endpoint") {
            let base = Url::parse(sse_url).map_err(|error| fail(error.to_string()))?;
            let url = base.join(&event.data.unwrap_or_default());
            return url.map(String::from).map_err(|error| fail(format!("the endpoint: {error}")));
        }
    }
    Err(fail("no `endpoint` event comes"))
}

fn begins_with_endpoint(ctx: &mut Ctx<'_>) -> Verdict {
    let mut down = ctx.http(&Ask::get(ctx.site()?.server.sse_url()))?;
    let first = down.event(Instant::now() + PATIENCE).unwrap_or_default();
    let says_where = first.data.as_deref().is_some_and(|data| !data.is_empty());
    ensure(first.name.as_deref() == Some("endpoint") && says_where, || {
        format!("the stream begins with {first:?}")
    })
}

fn answers_down(ctx: &mut Ctx<'_>) -> Verdict {
    let url = ctx.site()?.server.sse_url();
    let mut down = ctx.http(&Ask::get(&url))?;
    let endpoint = endpoint(&mut down, &url)?;
    let params = initialize_params(ctx.revision.date());
    let message = call(Some(json!("first")), "initialize", Some(params));
    let status = ctx.http(&Ask::post(endpoint, &message))?.status();
    ensure((200..300).contains(&status), || format!("a message is answered {status}"))?;
    let event = down.event(Instant::now() + PATIENCE).unwrap_or_default();
    let answer = parsed(&event);
    ensure(answer["id"] == "first" && answer["result"].is_object(), || format!("{event:?} comes"))
}

fn refuses_strangers(ctx: &mut Ctx<'_>) -> Verdict {
    let url = ctx.site()?.server.sse_url();
    let mut down = ctx.http(&Ask::get(&url))?;
    let endpoint = endpoint(&mut down, &url)?;
    let (path, _) = endpoint.split_once('?').unwrap_or((&endpoint, ""));
    let ping = call(Some(json!(1)), "ping", None);
    for query in ["", "?sessionId=", "?sessionId=no-such-session", "?session_id=no-such-session"] {
        let status = ctx.http(&Ask::post(format!("{path}{query}"), &ping))?.status();
        ensure([400, 404].contains(&status), || format!("{query:?} is answered {status}"))?;
    }
    Ok(())
}

fn ends_with_stream(ctx: &mut Ctx<'_>) -> Verdict {
    let url = ctx.site()?.server.sse_url();
    let mut down = ctx.http(&Ask::get(&url))?;
    let ask = Ask::post(endpoint(&mut down, &url)?, &call(Some(json!(1)), "ping", None));
    drop(down);
    // Nothing tells when the server has noticed.
    let deadline = Instant::now() + PATIENCE;
    let mut status = 0;
    while Instant::now() < deadline {
        status = ctx.http(&ask)?.status();
        if [400, 404, 410].contains(&status) {
            return Ok(());
        }
        sleep(Duration::from_millis(20));
    }
    Err(fail(format!("without its stream a session is answered {status}")))
}
