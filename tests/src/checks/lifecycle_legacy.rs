//! The session of the revisions up to 2025-11-25: `initialize`, `ping`, cancellation, gating.

use crate::check::{Check, Ctx, Level, Verdict, ensure};
use crate::checks::{must, observed, should};
use crate::revision::{self, BEFORE_2025_06, LEGACY, MIDDLE, Revision};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must(
        "S-030",
        LEGACY,
        "`initialize` is answered with version, capabilities, serverInfo.",
        answers_initialize,
    ),
    must("S-031", LEGACY, "A supported version is echoed.", echoes_version),
    must("S-032", LEGACY, "Another version is answered with a supported one.", offers_version),
    should(
        "S-032",
        LEGACY,
        "The version offered is the newest of the session revisions.",
        offers_newest,
    ),
    observed(Level::Must, "S-033", MIDDLE, "Nothing of another revision is sent."),
    observed(Level::Should, "S-033", BEFORE_2025_06, "Nothing of another revision is sent."),
    observed(Level::Must, "S-034", MIDDLE, "Only declared capabilities are used."),
    observed(Level::Should, "S-034", BEFORE_2025_06, "Only declared capabilities are used."),
    must("S-035", LEGACY, "`ping` is answered with an empty result, at any time.", answers_ping),
    must(
        "S-036",
        LEGACY,
        "Cancelling what is unknown or finished does no harm.",
        survives_late_cancels,
    ),
    observed(Level::Must, "S-037", LEGACY, "The server cancels only its own requests."),
    observed(Level::Must, "S-038", LEGACY, "The server's own progress tokens are valid."),
];

fn answers_initialize(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.unopened()?;
    let params = revision::initialize_params(ctx.revision.date());
    let answer = client.result("initialize", params)?;
    let info = &answer["serverInfo"];
    let named = info["name"].is_string() && info["version"].is_string();
    ensure(answer["protocolVersion"].is_string(), || format!("no protocolVersion: {answer}"))?;
    ensure(answer["capabilities"].is_object(), || format!("no capabilities: {answer}"))?;
    ensure(named, || format!("no serverInfo with name and version: {answer}"))
}

fn echoes_version(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.fresh().map(drop)
}

/// Versions no server of ours knows: older, newer, garbage, and the one without a session.
const FOREIGN_VERSIONS: &[&str] = &["2020-01-01", "2099-12-31", "", "garbage", "2026-07-28"];

fn offers_version(ctx: &mut Ctx<'_>) -> Verdict {
    offers(ctx, FOREIGN_VERSIONS, |offered| LEGACY.contains(&offered))
}

fn offers_newest(ctx: &mut Ctx<'_>) -> Verdict {
    offers(ctx, &["2099-12-31"], |offered| offered == Revision::V2025_11_25)
}

fn offers(ctx: &mut Ctx<'_>, versions: &[&str], acceptable: fn(Revision) -> bool) -> Verdict {
    for version in versions {
        let mut client = ctx.unopened()?;
        let answer = client.result("initialize", revision::initialize_params(version))?;
        let offered = answer["protocolVersion"].as_str().and_then(Revision::from_date);
        ensure(offered.is_some_and(acceptable), || {
            format!("\"{version}\" was answered {}", answer["protocolVersion"])
        })?;
    }
    Ok(())
}

fn answers_ping(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.unopened()?;
    // Over HTTP there is no session yet that could be pinged.
    let before = if ctx.is_one_pipe() { client.result("ping", Value::Null)? } else { json!({}) };
    client.open()?;
    let after = client.result("ping", json!({"_meta": {}}))?;
    ensure(before == json!({}) && after == json!({}), || format!("answered {before} and {after}"))
}

fn survives_late_cancels(ctx: &mut Ctx<'_>) -> Verdict {
    let quick = ctx.profile().ok().and_then(|profile| profile.quick_call.as_ref());
    let client = ctx.client()?;
    let id = match quick {
        Some(call) => client.request("tools/call", call.params()),
        None => client.request("ping", Value::Null),
    };
    client.answer(&id)?;
    for finished in [id, json!("never-sent"), json!(-5)] {
        client.notify("notifications/cancelled", json!({"requestId": finished}));
    }
    client.barrier()?;
    let unexpected =
        client.take_inbox().into_iter().find(|message| message.get("method").is_none());
    ensure(unexpected.is_none(), || format!("a cancellation was answered {unexpected:?}"))
}
