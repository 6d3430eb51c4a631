//! Who is let in where a token is demanded: a server of ours, started once more with one.
//!
//! The token is a word that stands nowhere else, so that it can be looked for in all the server
//! says.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, skip, start};
use crate::checks::http_pair;
use crate::checks::http_raw::Raw;
use crate::checks::secret::SecretFile;
use crate::checks::{must, should};
use crate::client::call;
use crate::profile::told;
use crate::revision::{ALL, ONLY_2024_11, SINCE_2025_03, SINCE_2025_06, STREAMABLE};
use crate::transport::Transport::Http;
use crate::web::peer::Site;
use crate::web::{Ask, Reply};
use reqwest::Method;
use serde_json::{Value, json};

const TOKEN: &str = "conformance-canary-7f3a9c51d2e84b60";

pub(super) const CHECKS: &[Check] = &[
    must("S-240", SINCE_2025_06, "The metadata names an authorization server.", has_metadata)
        .over(Http),
    must("S-241", SINCE_2025_06, "The challenge says where the metadata is.", points_to_metadata)
        .over(Http),
    must("S-242", SINCE_2025_03, "Who brings no token gets 401.", wants_token).over(Http),
    must("S-242", SINCE_2025_03, "Who brings another token gets 401.", wants_its_token).over(Http),
    must("S-243", SINCE_2025_03, "Only the whole token, as a bearer's, opens.", wants_all_of_it)
        .over(Http),
    should("S-245", SINCE_2025_03, "A challenge tells a wrong token from none.", tells_why)
        .over(Http),
    must("S-247", SINCE_2025_03, "A token in the query opens nothing.", reads_no_query).over(Http),
    must("S-248", SINCE_2025_03, "The token is in no answer and in no log.", keeps_it).over(Http),
    must("S-250", ALL, "No path and no method goes without a token.", guards_all).over(Http),
    must("S-250", STREAMABLE, "A session's id is no token.", takes_no_session_for_it).over(Http),
    must("S-250", ONLY_2024_11, "The id of a stream is no token.", takes_no_stream_for_it)
        .over(Http),
];

/// The server, and what it was started with.
struct Guarded {
    site: Site,
    _file: SecretFile,
}

fn guarded(ctx: &Ctx<'_>) -> Result<Guarded, Outcome> {
    let flags = told(&ctx.profile()?.token_flags, "token_flags")?;
    let file = SecretFile::write(TOKEN)?;
    let arguments = [flags.as_slice(), &[file.path()]].concat();
    let endpoint = ctx.endpoint().with(&arguments);
    let site = start(&endpoint.ok_or_else(|| skip("the server is not ours to start"))?)?;
    Ok(Guarded { site, _file: file })
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

impl Guarded {
    fn client(&self, ctx: &Ctx<'_>) -> Result<Raw, Outcome> {
        Raw::open_at(ctx, self.site.server.url(), &[("authorization", &bearer())])
    }

    /// Every request a client makes, in the order in which it does, each with the token.
    fn ways_in(&self, ctx: &Ctx<'_>) -> Result<Vec<Ask>, Outcome> {
        let raw = self.client(ctx)?;
        let mut ways = vec![raw.harmless(ctx, 2)];
        let notice = call(None, "notifications/cancelled", Some(json!({"requestId": 99})));
        ways.push(raw.ask(ctx, &notice));
        if raw.session.is_some() {
            ways.extend([raw.get(ctx), raw.delete(ctx)]);
        }
        Ok(ways)
    }
}

pub(super) fn challenge(reply: &Reply) -> String {
    reply.header("www-authenticate").unwrap_or_default()
}

pub(super) fn is_challenged(ctx: &Ctx<'_>, what: &str, ask: &Ask) -> Verdict {
    let reply = ctx.http(ask)?;
    let (status, challenge) = (reply.status(), challenge(&reply));
    let is_bearer = challenge.to_ascii_lowercase().starts_with("bearer");
    ensure(status == 401 && is_bearer, || {
        format!("{} with {what} is answered {status}, {challenge:?}", ask.method)
    })
}

fn wants_token(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    for ask in guarded.ways_in(ctx)? {
        is_challenged(ctx, "no token", &ask.clone().without("authorization"))?;
        let status = ctx.http(&ask)?.status();
        ensure(status != 401, || format!("{} with the token is answered {status}", ask.method))?;
    }
    Ok(())
}

fn wants_its_token(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    for ask in guarded.ways_in(ctx)? {
        let ask = ask.with("authorization", "Bearer another-token-altogether");
        is_challenged(ctx, "another token", &ask)?;
    }
    Ok(())
}

fn wants_all_of_it(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let ask = guarded.client(ctx)?.harmless(ctx, 2);
    let half = TOKEN.get(..TOKEN.len() / 2).unwrap_or_default();
    let wrong = [
        format!("Bearer {half}"),
        format!("Bearer {TOKEN}0"),
        format!("Bearer {}", TOKEN.to_uppercase()),
        format!("Bearer {TOKEN} {TOKEN}"),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        TOKEN.to_owned(),
        "Bearer".to_owned(),
        String::new(),
    ];
    for value in wrong {
        is_challenged(ctx, &format!("{value:?}"), &ask.clone().with("authorization", &value))?;
    }
    let twice = ask.with("authorization", "Bearer another").and("authorization", &bearer());
    is_challenged(ctx, "two tokens", &twice)
}

fn tells_why(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let ask = guarded.client(ctx)?.harmless(ctx, 2);
    let none = challenge(&ctx.http(&ask.clone().without("authorization"))?);
    ensure(!none.contains("error="), || format!("who brings none is told {none:?}"))?;
    let other = challenge(&ctx.http(&ask.with("authorization", "Bearer another"))?);
    let said = other.contains("error=\"invalid_token\"");
    ensure(said, || format!("who brings another is told {other:?}"))
}

fn reads_no_query(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    for ask in guarded.ways_in(ctx)? {
        for name in ["access_token", "token"] {
            let mut ask = ask.clone().without("authorization");
            ask.url = format!("{}?{name}={TOKEN}", ask.url);
            is_challenged(ctx, "the token in its query", &ask)?;
        }
    }
    Ok(())
}

fn keeps_it(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let raw = guarded.client(ctx)?;
    let mut asks = vec![raw.harmless(ctx, 2), raw.request(ctx, 3, "tools/list", Value::Null)];
    asks.push(raw.request(ctx, 4, "no/such", Value::Null));
    asks.push(raw.harmless(ctx, 5).with("authorization", &format!("Basic {TOKEN}")));
    asks.push(raw.harmless(ctx, 6).with("authorization", &format!("Bearer {TOKEN}0")));
    let mut in_query = raw.harmless(ctx, 7).without("authorization");
    in_query.url = format!("{}?access_token={TOKEN}", in_query.url);
    asks.push(in_query);
    for ask in asks {
        let reply = ctx.http(&ask)?;
        let headers = format!("{} {:?}", challenge(&reply), reply.header("location"));
        let body = String::from_utf8_lossy(&reply.body()?).into_owned();
        let told = [headers, body].iter().any(|text| text.contains(TOKEN));
        ensure(!told, || "an answer has the token".to_owned())?;
    }
    let log = guarded.site.server.stderr();
    let line = log.lines().find(|line| line.contains(TOKEN));
    ensure(line.is_none(), || {
        format!("a log line has the token: {}", line.unwrap_or_default().replace(TOKEN, "***"))
    })
}

/// Other paths may be unknown to a server, but none of them does anything.
fn guards_all(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let server = &guarded.site.server;
    let own = reqwest::Url::parse(server.url()).map(|url| url.path().to_owned());
    let own = own.unwrap_or_default();
    let message = call(Some(json!(2)), "ping", None);
    for path in [own.as_str(), "/", "/sse", "/messages?sessionId=1", "/metrics"] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let mut ask = Ask::post(server.sibling(path), &message).with("accept", "*/*");
            ask.method = method;
            let status = ctx.http(&ask)?.status();
            let is_closed = status == 401 || (400..500).contains(&status) && path != own;
            ensure(is_closed, || {
                format!("{} {path} without a token is answered {status}", ask.method)
            })?;
        }
    }
    Ok(())
}

fn takes_no_session_for_it(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let raw = guarded.client(ctx)?;
    if raw.session.is_none() {
        return Err(skip("the server has no sessions"));
    }
    for ask in [raw.get(ctx), raw.harmless(ctx, 2), raw.delete(ctx)] {
        is_challenged(ctx, "a session alone", &ask.clone().without("authorization"))?;
        let ask = ask.with("authorization", "Bearer another-token-altogether");
        is_challenged(ctx, "a session and another token", &ask)?;
    }
    // Nor has that ended the session.
    let status = ctx.http(&raw.harmless(ctx, 3))?.status();
    ensure(status == 200, || format!("after that the session is answered {status}"))
}

fn takes_no_stream_for_it(ctx: &mut Ctx<'_>) -> Verdict {
    let guarded = guarded(ctx)?;
    let url = guarded.site.server.sse_url();
    let down = Ask::get(&url).with("authorization", &bearer());
    let mut stream = ctx.http(&down)?;
    if !stream.is_stream() {
        return Err(skip("the server does not have the two paths of 2024-11-05"));
    }
    let endpoint = http_pair::endpoint(&mut stream, &url)?;
    let up = Ask::post(endpoint, &call(Some(json!(1)), "ping", None));
    is_challenged(ctx, "the id of a stream", &up)?;
    is_challenged(ctx, "no token", &down.without("authorization"))
}

/// A server that says where its tokens come from; none of them is needed to be told that.
fn with_issuer(ctx: &Ctx<'_>) -> Result<Site, Outcome> {
    let arguments = told(&ctx.profile()?.oauth_args, "oauth_args")?;
    let endpoint = ctx.endpoint().with(arguments);
    start(&endpoint.ok_or_else(|| skip("the server is not ours to start"))?)
}

fn metadata(ctx: &Ctx<'_>, site: &Site, path: &str) -> Result<Value, Outcome> {
    let ask = Ask::new(Method::GET, site.server.sibling(path)).with("accept", "application/json");
    let reply = ctx.http(&ask)?;
    let status = reply.status();
    ensure(status == 200, || format!("{path} is answered {status}"))?;
    reply.message()
}

/// Whether a document says what it must: whose it is, and who issues the tokens.
fn is_whole(document: &Value) -> Verdict {
    let is_url = |value: &Value| {
        let url = value.as_str().and_then(|text| reqwest::Url::parse(text).ok());
        url.is_some_and(|url| url.has_host() && url.fragment().is_none())
    };
    let issuers = document["authorization_servers"].as_array();
    let named = issuers.is_some_and(|all| !all.is_empty() && all.iter().all(is_url));
    ensure(named && is_url(&document["resource"]), || format!("the metadata is {document}"))
}

fn has_metadata(ctx: &mut Ctx<'_>) -> Verdict {
    let site = with_issuer(ctx)?;
    is_whole(&metadata(ctx, &site, "/.well-known/oauth-protected-resource")?)
}

fn points_to_metadata(ctx: &mut Ctx<'_>) -> Verdict {
    let site = with_issuer(ctx)?;
    let message = call(Some(json!(1)), "ping", None);
    let reply = ctx.http(&Ask::post(site.server.url(), &message))?;
    let (status, challenge) = (reply.status(), challenge(&reply));
    let said = challenge.split_once("resource_metadata=\"");
    let url = said.and_then(|(_, rest)| rest.split('"').next());
    let url = url.and_then(|url| reqwest::Url::parse(url).ok());
    let Some(url) = url.filter(|_| status == 401) else {
        return ensure(false, || format!("without a token: {status}, {challenge:?}"));
    };
    // The name in it is the one clients use, which need not lead here.
    is_whole(&metadata(ctx, &site, url.path())?)
}
