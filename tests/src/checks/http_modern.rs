//! 2026-07-28 over HTTP: every request by itself, and its answer lasts as long as its connection.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip, start};
use crate::checks::http_raw::{Raw, until};
use crate::checks::{must, observed, should};
use crate::client::GRACE;
use crate::clock::{Instant, PATIENCE};
use crate::profile::told;
use crate::revision::{MODERN, SUBSCRIPTION_ID};
use crate::transport::Transport::Http;
use crate::web::{Reply, parsed};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-111", MODERN, "An unsupported version has status 400.").over(Http),
    observed(Level::Must, "S-112", MODERN, "An unknown method has status 404.").over(Http),
    observed(Level::Must, "S-055", MODERN, "A missing capability has status 400.").over(Http),
    observed(Level::Must, "S-122", MODERN, "A stream carries what belongs to its request.")
        .over(Http),
    observed(Level::Must, "S-123", MODERN, "No stream carries a request of the server.").over(Http),
    must("S-124", MODERN, "Who hangs up has cancelled.", cancels_by_hanging_up).over(Http),
    should("S-125", MODERN, "GET and DELETE are not offered.", offers_post_only).over(Http),
    should("S-125", MODERN, "What belongs to sessions is ignored.", ignores_sessions).over(Http),
    observed(Level::Should, "S-125", MODERN, "No answer names a session.").over(Http),
    should("S-136", MODERN, "A stream the server ends is ended with a tagged result.", ends_tagged)
        .over(Http),
    must("H-030", MODERN, "A listen stream ends for who hangs up, and no other.", ends_one_listen)
        .over(Http),
];

fn cancels_by_hanging_up(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources.subscribe")?;
    let profile = ctx.profile()?;
    let uri = told(&profile.watched, "watched")?;
    let endless = told(&profile.endless_call, "endless_call")?;
    let mut client = ctx.fresh()?;
    let filter = json!({ "resourceSubscriptions": [uri] });
    client.request("subscriptions/listen", json!({ "notifications": filter }));
    let updated = |message: &Value| message["method"] == "notifications/resources/updated";
    let acknowledged =
        |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
    client.wait_for("an acknowledgement", acknowledged)?;
    let id = client.request("tools/call", endless.params());
    client.wait_for("a change when the call begins", updated)?;
    client.linger();
    client.take_inbox();
    client.cancel(&id);
    client.wait_for("a change when the call ends", updated).map(drop)
}

fn offers_post_only(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for ask in [raw.get(ctx), raw.delete(ctx)] {
        let reply = ctx.http(&ask)?;
        let (status, allow) = (reply.status(), reply.header("allow").unwrap_or_default());
        ensure(status == 405 && allow.contains("POST"), || {
            format!("{} is answered {status}, Allow: {allow:?}", ask.method)
        })?;
    }
    Ok(())
}

fn ignores_sessions(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let ask = raw.harmless(ctx, 2).with("mcp-session-id", "no-such-session");
    let reply = ctx.http(&ask.with("last-event-id", "1-1"))?;
    let (status, session) = (reply.status(), reply.header("mcp-session-id"));
    ensure(status == 200 && session.is_none(), || format!("answered {status}, {session:?}"))
}

/// A listen stream that has been acknowledged.
fn listen(ctx: &Ctx<'_>, raw: &Raw, id: u64) -> Result<Reply, Outcome> {
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut reply = ctx.http(&raw.request(ctx, id, "subscriptions/listen", params))?;
    if !reply.is_stream() {
        return Err(skip("the server has no listen streams"));
    }
    until(&mut reply, "an acknowledgement", |message| {
        message["method"] == "notifications/subscriptions/acknowledged"
    })?;
    Ok(reply)
}

fn ends_tagged(ctx: &mut Ctx<'_>) -> Verdict {
    if !ctx.site()?.server.is_ours() {
        return Err(skip("the server is not ours to stop"));
    }
    // A process of its own, because it is ended.
    let site = start(ctx.endpoint())?;
    let mut raw = Raw::open(ctx)?;
    raw.url = site.server.url().to_owned();
    let mut stream = listen(ctx, &raw, 2)?;
    ensure(site.server.terminate(), || "the process cannot be told to stop".to_owned())?;
    let deadline = Instant::now() + PATIENCE;
    let event = stream.event(deadline).ok_or_else(|| fail("the stream ends without a result"))?;
    let result = parsed(&event);
    let tagged = result["id"] == 2 && result["result"]["_meta"][SUBSCRIPTION_ID] == 2;
    ensure(tagged && stream.ends(deadline), || format!("the stream ended with {result}"))
}

fn ends_one_listen(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    // Two clients may well use the same id.
    let (gone, mut kept) = (listen(ctx, &raw, 2)?, listen(ctx, &raw, 2)?);
    drop(gone);
    ctx.http(&raw.harmless(ctx, 3))?.message()?;
    let grace = Instant::now() + GRACE;
    ensure(!kept.ends(grace), || "the other client's stream has ended as well".to_owned())
}
