//! The endpoint of Streamable HTTP: its path, methods and media types, and who is let in.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, skip};
use crate::checks::http_raw::{Raw, code, status};
use crate::checks::{must, observed, should};
use crate::client::call;
use crate::revision::{ALL, ONLY_2025_11, Revision, SINCE_2025_03, SINCE_2025_06, SINCE_2025_11};
use crate::revision::{MIDDLE, STREAMABLE};
use crate::transport::Transport::Http;
use crate::web::Ask;
use reqwest::Method;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-080", SINCE_2025_03, "One path takes every method.", has_one_path).over(Http),
    must("S-081", ALL, "A page of a foreign origin is refused everywhere.", refuses_origins)
        .over(Http),
    must("S-082", SINCE_2025_11, "A foreign origin is refused by 403.", forbids_origins).over(Http),
    should("S-081", ALL, "A page of this machine is let in.", lets_local_pages_in).over(Http),
    should("S-081", ALL, "A foreign host is refused by a server on this machine.", refuses_hosts)
        .over(Http),
    observed(
        Level::Must,
        "S-083",
        SINCE_2025_03,
        "Accepted notifications and responses get 202 and no body.",
    )
    .over(Http),
    must("S-084", SINCE_2025_03, "What is not accepted gets an error status.", refuses_garbage)
        .over(Http),
    observed(Level::Must, "S-085", SINCE_2025_03, "Requests are answered by JSON or events.")
        .over(Http),
    observed(Level::Must, "S-086", STREAMABLE, "GET gives a stream, or 405.").over(Http),
    should("H-001", SINCE_2025_03, "Other methods get 405, and which are offered.", offers_methods)
        .over(Http),
    should("H-002", SINCE_2025_03, "A body that is not JSON by its type gets 415.", wants_json)
        .over(Http),
    should("H-003", SINCE_2025_03, "Who accepts neither JSON nor events gets 406.", wants_accept)
        .over(Http),
    should("H-004", SINCE_2025_03, "What is not JSON gets 400.", refuses_nonsense).over(Http),
    should("H-005", SINCE_2025_06, "An array gets 400.", refuses_arrays).over(Http),
    should("H-006", STREAMABLE, "An error of a session's request has status 200.", errs_by_200)
        .over(Http),
    should("H-007", MIDDLE, "A message of a megabyte is taken.", takes_long_messages).over(Http),
    should("H-008", ONLY_2025_11, "Streams tell caches to let them be.", is_not_cached).over(Http),
];

const EVIL: &str = "http://evil.example";

fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status)
}

/// Every way in, each with what it needs to be let in otherwise.
fn ways_in(ctx: &Ctx<'_>) -> Result<Vec<(&'static str, Ask)>, Outcome> {
    if ctx.revision == Revision::V2024_11_05 {
        let server = ctx.site()?.server;
        let mut down = ctx.http(&Ask::get(server.sse_url()))?;
        let endpoint = super::http_pair::endpoint(&mut down, &server.sse_url())?;
        let message = call(Some(json!(1)), "ping", None);
        return Ok(vec![
            ("GET of the stream", Ask::get(server.sse_url())),
            ("POST", Ask::post(endpoint, &message)),
        ]);
    }
    let raw = Raw::open(ctx)?;
    let mut ways = vec![("POST", raw.harmless(ctx, 2)), ("GET", raw.get(ctx))];
    ways.push(("DELETE", raw.delete(ctx)));
    Ok(ways)
}

fn has_one_path(ctx: &mut Ctx<'_>) -> Verdict {
    for (way, ask) in ways_in(ctx)? {
        let status = status(ctx, &ask)?;
        ensure(status != 404, || format!("{way} is answered {status}"))?;
    }
    Ok(())
}

fn refuses_origins(ctx: &mut Ctx<'_>) -> Verdict {
    for (way, ask) in ways_in(ctx)? {
        for origin in [EVIL, "null", "http://localhost.evil.example", "file://"] {
            let status = status(ctx, &ask.clone().with("origin", origin))?;
            ensure(is_refusal(status), || format!("{way} from {origin} is answered {status}"))?;
        }
    }
    Ok(())
}

fn forbids_origins(ctx: &mut Ctx<'_>) -> Verdict {
    for (way, ask) in ways_in(ctx)? {
        let status = status(ctx, &ask.with("origin", EVIL))?;
        ensure(status == 403, || format!("{way} from {EVIL} is answered {status}"))?;
    }
    Ok(())
}

fn lets_local_pages_in(ctx: &mut Ctx<'_>) -> Verdict {
    if !ctx.site()?.server.is_local() {
        return Err(skip("the server is not on this machine"));
    }
    for (way, ask) in ways_in(ctx)?.into_iter().filter(|(way, _)| *way != "DELETE") {
        for origin in ["http://localhost:6274", "http://127.0.0.1"] {
            let status = status(ctx, &ask.clone().with("origin", origin))?;
            ensure(status != 403, || format!("{way} from {origin} is answered {status}"))?;
        }
    }
    Ok(())
}

fn refuses_hosts(ctx: &mut Ctx<'_>) -> Verdict {
    if !ctx.site()?.server.is_local() {
        return Err(skip("a server that is not on this machine has names we do not know"));
    }
    for (way, ask) in ways_in(ctx)? {
        for host in ["evil.example", "localhost.evil.example:80"] {
            let status = status(ctx, &ask.clone().with("host", host))?;
            ensure(is_refusal(status), || format!("{way} to {host} is answered {status}"))?;
        }
    }
    Ok(())
}

fn refuses_garbage(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let nothing = raw.ask(ctx, &json!({"jsonrpc": "2.0", "neither": "nor"}));
    let mut refused = vec![("what is no message", nothing)];
    if raw.session.is_some() {
        let notice = call(None, "notifications/unheard_of", None);
        let ask = raw.ask(ctx, &notice).with("mcp-session-id", "no-such-session");
        refused.push(("a notification to no session", ask));
    }
    if ctx.revision.is_modern() {
        let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        refused.push(("a response", raw.ask(ctx, &response)));
    }
    for (what, ask) in refused {
        let status = status(ctx, &ask)?;
        ensure(is_refusal(status), || format!("{what} is answered {status}"))?;
    }
    Ok(())
}

fn offers_methods(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for method in [Method::PUT, Method::PATCH] {
        let mut ask = raw.harmless(ctx, 2);
        ask.method = method;
        let reply = ctx.http(&ask)?;
        let (status, allow) = (reply.status(), reply.header("allow").unwrap_or_default());
        ensure(status == 405 && allow.contains("POST"), || {
            format!("{} is answered {status}, Allow: {allow:?}", ask.method)
        })?;
    }
    Ok(())
}

fn wants_json(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        let ask = raw.harmless(ctx, 2).with("content-type", content_type);
        let status = status(ctx, &ask)?;
        ensure(status == 415, || format!("{content_type} is answered {status}"))?;
    }
    let untyped = status(ctx, &raw.harmless(ctx, 3).without("content-type"))?;
    ensure(untyped == 415, || format!("a body of no type is answered {untyped}"))?;
    let ask = raw.harmless(ctx, 4).with("content-type", "Application/JSON; charset=utf-8");
    let status = status(ctx, &ask)?;
    ensure(status == 200, || format!("JSON with a parameter is answered {status}"))
}

fn wants_accept(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let mut refused = vec![raw.harmless(ctx, 2).with("accept", "text/html")];
    if !ctx.revision.is_modern() {
        refused.push(raw.get(ctx).with("accept", "application/json"));
    }
    for ask in refused {
        let status = status(ctx, &ask)?;
        // A server without such streams says that first.
        let fine = status == 406 || ask.method == Method::GET && status == 405;
        ensure(fine, || format!("{} is answered {status}", ask.method))?;
    }
    for accept in ["*/*", "application/json, text/event-stream;q=0.5", "text/*, application/*"] {
        let status = status(ctx, &raw.harmless(ctx, 3).with("accept", accept))?;
        ensure(status == 200, || format!("Accept: {accept} is answered {status}"))?;
    }
    Ok(())
}

fn refuses_nonsense(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for body in ["", "{", "not json", "{\"jsonrpc\":\"2.0\",\"id\":1,"] {
        let mut ask = raw.harmless(ctx, 2);
        ask.body = body.as_bytes().to_vec();
        let status = status(ctx, &ask)?;
        ensure(status == 400, || format!("{body:?} is answered {status}"))?;
    }
    Ok(())
}

fn refuses_arrays(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let mut ask = raw.harmless(ctx, 2);
    ask.body = [b"[".as_slice(), &ask.body, b"]"].concat();
    let status = status(ctx, &ask)?;
    ensure(status == 400, || format!("an array is answered {status}"))
}

fn errs_by_200(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let reply = ctx.http(&raw.request(ctx, 2, "no/such", Value::Null))?;
    let (status, code) = (reply.status(), code(reply)?);
    ensure(status == 200 && code == -32601, || format!("answered {status} and {code}"))
}

fn takes_long_messages(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let padding = json!({"_meta": {"com.example/padding": "x".repeat(1_000_000)}});
    let reply = ctx.http(&raw.request(ctx, 2, "ping", padding))?;
    let status = reply.status();
    let answer = reply.message()?;
    ensure(answer["result"] == json!({}), || format!("1 MB is answered {status} {answer}"))
}

fn is_not_cached(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let reply = ctx.http(&raw.get(ctx))?;
    if !reply.is_stream() {
        return Err(skip("the server has no stream for GET"));
    }
    let caching = reply.header("cache-control").unwrap_or_default();
    ensure(caching.contains("no-cache") || caching.contains("no-store"), || {
        format!("Cache-Control: {caching:?}")
    })
}
