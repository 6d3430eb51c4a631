//! The headers in which a request of 2026-07-28 repeats what its body says, and the order in which
//! what is wrong with it is found.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, skip};
use crate::checks::http_raw::{Raw, code, status};
use crate::checks::{list, must, observed, should};
use crate::profile::told;
use crate::revision::{CLIENT_CAPABILITIES, MODERN, PROTOCOL_VERSION};
use crate::transport::Transport::Http;
use crate::web::Ask;
use crate::web::routing::{annotations, sentinel};
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) const CHECKS: &[Check] = &[
    must("S-110", MODERN, "A version that is not the body's gets 400.", compares_version)
        .over(Http),
    observed(Level::Must, "S-110", MODERN, "A mismatch has status 400.").over(Http),
    should("S-113", MODERN, "A request without the version's header is refused.", wants_version)
        .over(Http),
    must("S-114", MODERN, "A method that is not the body's gets 400.", compares_method).over(Http),
    must("S-114", MODERN, "A name that is not the body's gets 400.", compares_name).over(Http),
    must("S-116", MODERN, "A name may be said in base64.", decodes_names).over(Http),
    must("S-117", MODERN, "Case of header names and blanks do not matter.", ignores_name_case)
        .over(Http),
    must("S-117", MODERN, "The case of header values matters.", heeds_value_case).over(Http),
    must("S-118", MODERN, "An argument in broken base64 is refused.", refuses_broken_base64)
        .over(Http),
    must("S-119", MODERN, "An argument must be repeated, and truly.", compares_arguments)
        .over(Http),
    must("S-120", MODERN, "An argument that is not there needs no header.", needs_no_argument)
        .over(Http),
    must("S-121", MODERN, "What is to be repeated can be.", annotates_well).over(Http),
    should("H-010", MODERN, "A header that comes twice is refused.", refuses_doubles).over(Http),
    should("H-011", MODERN, "The first thing wrong is the one that is said.", keeps_the_ladder)
        .over(Http),
];

const MISMATCH: i64 = -32020;

/// Sends what must be refused in this way.
fn refused(ctx: &Ctx<'_>, what: &str, ask: &Ask, due: i64) -> Verdict {
    let reply = ctx.http(ask)?;
    let status = reply.status();
    let code = code(reply)?;
    ensure(status == 400 && code == due, || {
        format!("{what} is answered {status} and {code}, not 400 and {due}")
    })
}

fn served(ctx: &Ctx<'_>, what: &str, ask: &Ask) -> Verdict {
    let reply = ctx.http(ask)?;
    let status = reply.status();
    let answer = reply.message()?;
    ensure(answer.get("result").is_some(), || format!("{what} is answered {status} {answer}"))
}

fn compares_version(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for version in ["2025-11-25", "2025-06-18", "2031-01-01", "garbage"] {
        let ask = raw.harmless(ctx, 2).with("mcp-protocol-version", version);
        refused(ctx, &format!("the version {version}"), &ask, MISMATCH)?;
    }
    let params = json!({"_meta": {PROTOCOL_VERSION: "v999.0.0"}});
    let ask = raw.request(ctx, 2, "server/discover", params);
    let ask = ask.with("mcp-protocol-version", ctx.revision.date());
    refused(ctx, "an unknown version in the body alone", &ask, MISMATCH)
}

fn wants_version(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = Raw::open(ctx)?.harmless(ctx, 2).without("mcp-protocol-version");
    refused(ctx, "a request without the version", &ask, MISMATCH)
}

fn compares_method(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let ask = raw.harmless(ctx, 2).without("mcp-method");
    refused(ctx, "a request without Mcp-Method", &ask, MISMATCH)?;
    let ask = raw.harmless(ctx, 2).with("mcp-method", "tools/list");
    refused(ctx, "another Mcp-Method", &ask, MISMATCH)
}

/// A request about something that has a name, for each method that has one.
fn named(ctx: &Ctx<'_>, raw: &Raw) -> Result<Vec<Ask>, Outcome> {
    let profile = ctx.profile()?;
    let mut asks = Vec::new();
    if let Some(quick) = &profile.quick_call {
        asks.push(raw.request(ctx, 2, "tools/call", quick.params()));
    }
    if let Some(prompt) = &profile.prompt {
        asks.push(raw.request(ctx, 3, "prompts/get", prompt.params()));
    }
    if let Some(uri) = &profile.readable {
        asks.push(raw.request(ctx, 4, "resources/read", json!({ "uri": uri })));
    }
    if asks.is_empty() { Err(skip("the profile names nothing")) } else { Ok(asks) }
}

fn compares_name(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for ask in named(ctx, &raw)? {
        served(ctx, "a request with its name", &ask)?;
        let without = ask.clone().without("mcp-name");
        refused(ctx, "a request without Mcp-Name", &without, MISMATCH)?;
        refused(ctx, "another Mcp-Name", &ask.with("mcp-name", "another"), MISMATCH)?;
    }
    Ok(())
}

fn decodes_names(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    for ask in named(ctx, &raw)? {
        let name = ask.headers.iter().find(|(name, _)| name == "mcp-name");
        let name = name.map(|(_, value)| value.clone()).unwrap_or_default();
        served(ctx, "a name in base64", &ask.clone().with("mcp-name", &sentinel(&name)))?;
        let other = ask.clone().with("mcp-name", &sentinel("another"));
        refused(ctx, "another name in base64", &other, MISMATCH)?;
        let broken = ask.with("mcp-name", "=?base64?***?=");
        refused(ctx, "a name in broken base64", &broken, MISMATCH)?;
    }
    Ok(())
}

fn ignores_name_case(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let mut capitals = raw.harmless(ctx, 2);
    capitals.title_case = true;
    served(ctx, "Mcp-Method with capitals", &capitals)?;
    let padded = raw.harmless(ctx, 3).with("mcp-method", "  server/discover\t ");
    served(ctx, "a method between blanks", &padded)
}

fn heeds_value_case(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = Raw::open(ctx)?.harmless(ctx, 2).with("mcp-method", "Server/Discover");
    refused(ctx, "a method with capitals", &ask, MISMATCH)
}

/// A call with an argument that its tool wants repeated: the request without any such header, and
/// the headers that are due.
fn annotated(ctx: &mut Ctx<'_>) -> Result<(Ask, Vec<(String, String)>), Outcome> {
    let call = told(&ctx.profile()?.header_call, "header_call")?;
    let tools = list(ctx.client()?, "tools/list")?;
    let tool = tools.into_iter().find(|tool| tool["name"] == call.name.as_str());
    let found = annotations(&tool.unwrap_or_default()["inputSchema"]);
    let due = found.into_iter().filter_map(|(name, place)| {
        let value = call.arguments.pointer(&place).filter(|value| !value.is_null())?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((format!("mcp-param-{}", name.to_ascii_lowercase()), value))
    });
    let due: Vec<_> = due.collect();
    if due.is_empty() {
        return Err(skip("the call of the profile has no argument to repeat"));
    }
    let ask = Raw::open(ctx)?.request(ctx, 2, "tools/call", call.params());
    Ok((ask, due))
}

/// The call with every header that is due.
fn repeated(ask: &Ask, due: &[(String, String)]) -> Ask {
    due.iter().fold(ask.clone(), |ask, (name, value)| ask.with(name, value))
}

fn refuses_broken_base64(ctx: &mut Ctx<'_>) -> Verdict {
    let (ask, due) = annotated(ctx)?;
    let whole = repeated(&ask, &due);
    for (name, value) in &due {
        served(ctx, "base64", &whole.clone().with(name, &sentinel(value)))?;
        for broken in ["=?base64?***?=", "=?base64?YQ?=", "=?base64?/w==?="] {
            let ask = whole.clone().with(name, broken);
            refused(ctx, &format!("{name}: {broken}"), &ask, MISMATCH)?;
        }
    }
    Ok(())
}

fn compares_arguments(ctx: &mut Ctx<'_>) -> Verdict {
    let (ask, due) = annotated(ctx)?;
    let whole = repeated(&ask, &due);
    served(ctx, "the call with its headers", &whole)?;
    for (name, _) in &due {
        let without = whole.clone().without(name);
        refused(ctx, &format!("the call without {name}"), &without, MISMATCH)?;
        let other = whole.clone().with(name, "something-else");
        refused(ctx, &format!("another {name}"), &other, MISMATCH)?;
    }
    let unknown = whole.with("mcp-param-unheard-of", "x");
    served(ctx, "a header of an argument nobody knows", &unknown)
}

fn needs_no_argument(ctx: &mut Ctx<'_>) -> Verdict {
    let (ask, due) = annotated(ctx)?;
    let mut message: Value = serde_json::from_slice(&ask.body).unwrap_or_default();
    let quick = told(&ctx.profile()?.quick_call, "quick_call")?;
    if message["params"]["name"] != quick.name.as_str() {
        return Err(skip("the quick call is not of the same tool"));
    }
    message["params"]["arguments"] = quick.arguments.clone();
    let mut bare = ask;
    bare.body = message.to_string().into_bytes();
    served(ctx, "the call without the argument", &bare)?;
    let told_anyway = repeated(&bare, &due);
    refused(ctx, "a header of an argument that is not there", &told_anyway, MISMATCH)
}

fn annotates_well(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    let mut found = 0;
    for tool in list(ctx.client()?, "tools/list")? {
        let schema = &tool["inputSchema"];
        let mut names = HashSet::new();
        for (header, place) in annotations(schema) {
            found += 1;
            let kind = schema.pointer(&place.replace('/', "/properties/"));
            let kind = kind.and_then(|property| property["type"].as_str()).unwrap_or_default();
            let simple = ["string", "integer", "boolean"].contains(&kind);
            let fresh = names.insert(header.to_ascii_lowercase());
            ensure(simple && is_token(&header) && fresh, || {
                format!("{} repeats {place} of type {kind:?} in {header:?}", tool["name"])
            })?;
        }
    }
    if found == 0 { Err(skip("no argument is to be repeated")) } else { Ok(()) }
}

fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn refuses_doubles(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let method = ctx.revision.harmless_method();
    for (name, value) in [("mcp-method", method), ("mcp-protocol-version", ctx.revision.date())] {
        let status = status(ctx, &raw.harmless(ctx, 2).and(name, value))?;
        ensure(status == 400, || format!("{name} twice is answered {status}"))?;
    }
    Ok(())
}

/// Each of these has two things wrong with it; the one found first decides.
fn keeps_the_ladder(ctx: &mut Ctx<'_>) -> Verdict {
    let raw = Raw::open(ctx)?;
    let meta = json!({PROTOCOL_VERSION: ctx.revision.date()});
    let message =
        json!({"jsonrpc": "2.0", "id": 2, "method": "no/such", "params": {"_meta": meta}});
    let incomplete = raw.ask(ctx, &message).with("mcp-protocol-version", "2031-01-01");
    refused(ctx, "no capabilities, another version", &incomplete, -32602)?;
    let unlike = raw.request(ctx, 2, "no/such", Value::Null).with("mcp-method", "tools/list");
    refused(ctx, "another method, and an unknown one", &unlike, MISMATCH)?;
    let meta = json!({PROTOCOL_VERSION: "2031-01-01", CLIENT_CAPABILITIES: {}});
    let unsupported = raw.request(ctx, 2, "no/such", json!({ "_meta": meta }));
    refused(ctx, "an unknown version and method", &unsupported, -32022)?;
    let nameless = raw.request(ctx, 2, "tools/call", json!({"name": "no_such_tool"}));
    refused(ctx, "another name, no such tool", &nameless.with("mcp-name", "x"), MISMATCH)
}
