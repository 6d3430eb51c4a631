//! The transport: lines, purity, cancellation on one pipe, the end of the connection.

use crate::check::{Check, Ctx, Level, Verdict, ensure};
use crate::checks::{must, observed, should};
use crate::client::is_answer;
use crate::profile::told;
use crate::revision::{ALL, MODERN};
use crate::transport::Transport;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const CHECKS: &[Check] = &[
    observed(Level::Must, "S-070", ALL, "One message fills one line.").over(Transport::Stdio),
    observed(Level::Must, "S-071", ALL, "stdout carries nothing but messages.")
        .over(Transport::Stdio),
    must("S-072", MODERN, "After a cancellation nothing more is sent for that id.", falls_silent)
        .over(Transport::Stdio),
    observed(Level::Must, "S-073", MODERN, "The server cancels nothing but listen streams.")
        .over(Transport::Stdio),
    should("S-075", ALL, "The server exits promptly when stdin closes.", exits_at_eof)
        .over(Transport::Stdio),
    should("S-075", ALL, "The server exits with status 0 when stdin closes.", exits_cleanly)
        .over(Transport::Stdio),
];

/// "Promptly" for a process that only has to notice, or has yet to start. The slowest interpreters
/// need half a second; the rest is for machines that are busy.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);

fn falls_silent(ctx: &mut Ctx<'_>) -> Verdict {
    let slow = told(&ctx.profile()?.slow_call, "slow_call")?;
    let client = ctx.client()?;
    let token = json!("to-be-cancelled");
    let params = slow.params_with(json!({ "progressToken": token }));
    let id = client.request("tools/call", params);
    client.wait_for("progress", |message| message["params"]["progressToken"] == token)?;
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "a test"}));
    client.barrier()?;
    client.take_inbox();
    // A second call of the same length ends after the first would have.
    client.result("tools/call", slow.params())?;
    let late = client
        .take_inbox()
        .into_iter()
        .find(|message| is_answer(message, &id) || message["params"]["progressToken"] == token);
    ensure(late.is_none(), || format!("{} came after the cancellation", late.unwrap_or_default()))
}

fn exits_at_eof(ctx: &mut Ctx<'_>) -> Verdict {
    let ending = ctx.fresh()?.finish(EXIT_PATIENCE);
    ensure(ending.status.is_some(), || format!("still running after {:?}", ending.took))
}

fn exits_cleanly(ctx: &mut Ctx<'_>) -> Verdict {
    let mut used = ctx.fresh()?;
    used.request(used.revision.harmless_method(), Value::Null);
    let occasions = [(ctx.unopened()?, "before anything was said"), (used, "after a request")];
    for (mut client, when) in occasions {
        let ending = client.finish(EXIT_PATIENCE);
        let success = ending.status.is_some_and(|status| status.success());
        ensure(success, || format!("{when}: {:?}", ending.status))?;
    }
    Ok(())
}
