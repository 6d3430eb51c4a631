//! What comes beside the answers: logs and progress, only to those who asked and as they asked.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure};
use crate::checks::{must, observed, should};
use crate::profile::told;
use crate::revision::{ALL, LEGACY, LOG_LEVEL, MODERN};
use crate::watch::LEVELS;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-167", ALL, "Logs are sent only where `logging` is declared."),
    must(
        "S-168",
        MODERN,
        "Without a log level in the request nothing is logged.",
        logs_nothing_unasked,
    ),
    observed(Level::Must, "S-168", MODERN, "Logs are sent only to requests that asked."),
    must("S-169", MODERN, "The log level of the request is the threshold.", respects_request_level),
    observed(Level::Must, "S-169", MODERN, "No log is below its request's level."),
    should("S-169", MODERN, "An unknown log level is refused.", refuses_unknown_level),
    must("S-171", LEGACY, "All eight log levels are accepted.", accepts_levels),
    must("S-171", LEGACY, "The level that was set is the threshold.", respects_session_level),
    observed(Level::Must, "S-171", LEGACY, "No log is below the level that was set."),
    should("S-176", ALL, "Progress is reported to those who ask.", reports_progress),
    observed(Level::Must, "S-176", ALL, "Progress strictly rises."),
    must("S-177", ALL, "Without a token there is no progress.", reports_nothing_unasked),
    observed(Level::Must, "S-177", ALL, "Progress belongs to a request that is running."),
];

fn logs_nothing_unasked(ctx: &mut Ctx<'_>) -> Verdict {
    logs_during_call(ctx, json!({}))
        .and_then(|logs| ensure(logs.is_empty(), || format!("nobody asked for {logs:?}")))
}

fn respects_request_level(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("logging")?;
    let level = told(&ctx.profile()?.log_level, "log_level")?;
    let logs = logs_during_call(ctx, json!({ LOG_LEVEL: level }))?;
    ensure(!logs.is_empty(), || format!("no log came at level {level}"))?;
    let logs = logs_during_call(ctx, json!({ LOG_LEVEL: "emergency" }))?;
    ensure(logs.is_empty(), || format!("below emergency: {logs:?}"))
}

fn refuses_unknown_level(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("logging")?;
    let quick = told(&ctx.profile()?.quick_call, "quick_call")?;
    let client = ctx.client()?;
    let params = quick.params_with(json!({ LOG_LEVEL: "loud" }));
    let answer = client.call_oddly("tools/call", params)?;
    ensure(answer["error"]["code"] == -32602, || format!("answered {answer}"))
}

fn accepts_levels(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("logging")?;
    let mut client = ctx.fresh()?;
    for level in LEVELS {
        let result = client.result("logging/setLevel", json!({ "level": level }))?;
        ensure(result == json!({}), || format!("{level} was answered {result}"))?;
    }
    Ok(())
}

fn respects_session_level(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("logging")?;
    let profile = ctx.profile()?;
    let slow = told(&profile.slow_call, "slow_call")?;
    let level = told(&profile.log_level, "log_level")?;
    let mut client = ctx.fresh()?;
    for (level, expected) in [(level.as_str(), true), ("emergency", false)] {
        client.result("logging/setLevel", json!({ "level": level }))?;
        client.take_inbox();
        client.result("tools/call", slow.params())?;
        client.barrier()?;
        let heard = client.take(|message| message["method"] == "notifications/message");
        ensure(heard.is_some() == expected, || format!("at level {level}: {heard:?}"))?;
    }
    Ok(())
}

fn logs_during_call(ctx: &mut Ctx<'_>, meta: Value) -> Result<Vec<Value>, Outcome> {
    let slow = told(&ctx.profile()?.slow_call, "slow_call")?;
    let client = ctx.client()?;
    client.result("tools/call", slow.params_with(meta))?;
    client.barrier()?;
    let heard = client.take_inbox().into_iter();
    Ok(heard.filter(|message| message["method"] == "notifications/message").collect())
}

fn reports_progress(ctx: &mut Ctx<'_>) -> Verdict {
    let heard = progress_during_call(ctx, json!({"progressToken": 4711}))?;
    ensure(!heard.is_empty(), || "no progress was reported".to_owned())
}

fn reports_nothing_unasked(ctx: &mut Ctx<'_>) -> Verdict {
    let heard = progress_during_call(ctx, json!({}))?;
    ensure(heard.is_empty(), || format!("nobody asked for {heard:?}"))
}

fn progress_during_call(ctx: &mut Ctx<'_>, meta: Value) -> Result<Vec<Value>, Outcome> {
    let slow = told(&ctx.profile()?.slow_call, "slow_call")?;
    let client = ctx.client()?;
    client.result("tools/call", slow.params_with(meta))?;
    client.barrier()?;
    let heard = client.take_inbox().into_iter();
    Ok(heard.filter(|message| message["method"] == "notifications/progress").collect())
}
