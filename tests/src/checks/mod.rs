//! The requirements, by section of the specification. The ids are those of the project's digest
//! of the specification: `S` a requirement, `M` a line of the error matrix, `P` a probe, `N`
//! "nothing is lost", `H` a status or header that all servers over HTTP agree on though no text
//! demands it, `W` the official schemas, `R` a revision claimed.
//!
//! A requirement about every message appears twice where it can also be provoked: once as the
//! check that provokes it, once as the row of what was watched throughout.
//!
//! What needs another server than the one under test, such as one that demands a token, starts
//! that itself, and is skipped where the server is not ours to start.

mod base;
mod lifecycle_legacy;
mod lifecycle_modern;
mod stdio;
mod subscriptions;
mod tools;
mod dialects;
mod resources;
mod apps;
mod misc;
mod asks;
mod questions;
mod replays;
mod rounds;
mod notices;
mod tasks;
mod tasks_legacy;
mod tasks_modern;
mod flow;
mod http;
mod http_raw;
mod http_sessions;
mod http_streams;
mod http_pair;
mod http_modern;
mod http_headers;
mod auth;
mod issued;
mod secret;

use crate::case;
use crate::check::{Check, Ctx, Level, Outcome, Run, Verdict, fail, skip};
use crate::client::Client;
use crate::revision::{self, Revision};
use anyhow::Result;
use serde_json::{Value, json};

/// Reported for every revision that is asked for.
pub(crate) const CLAIM: Check =
    observed(Level::Must, "R-001", revision::ALL, "The server serves this revision.");

/// Every check there is, in the order in which they run.
pub(crate) fn all() -> Result<impl Iterator<Item = Check>> {
    let sections = [
        base::CHECKS,
        lifecycle_legacy::CHECKS,
        lifecycle_modern::CHECKS,
        stdio::CHECKS,
        subscriptions::CHECKS,
        tools::CHECKS,
        dialects::CHECKS,
        resources::CHECKS,
        apps::CHECKS,
        misc::CHECKS,
        asks::CHECKS,
        questions::CHECKS,
        replays::CHECKS,
        rounds::CHECKS,
        notices::CHECKS,
        tasks_legacy::CHECKS,
        tasks_modern::CHECKS,
        http::CHECKS,
        http_sessions::CHECKS,
        http_streams::CHECKS,
        http_pair::CHECKS,
        http_modern::CHECKS,
        http_headers::CHECKS,
        auth::CHECKS,
        issued::CHECKS,
    ];
    let active = sections.into_iter().flatten().copied();
    Ok(active.chain(case::checks()?).chain(flow::CHECKS.iter().copied()))
}

/// A binding requirement that is provoked.
const fn must(
    id: &'static str,
    revisions: &'static [Revision],
    title: &'static str,
    run: fn(&mut Ctx<'_>) -> Verdict,
) -> Check {
    Check { id, level: Level::Must, revisions, transport: None, title, run: Run::Active(run) }
}

/// A recommendation that is provoked.
const fn should(
    id: &'static str,
    revisions: &'static [Revision],
    title: &'static str,
    run: fn(&mut Ctx<'_>) -> Verdict,
) -> Check {
    Check { id, level: Level::Should, revisions, transport: None, title, run: Run::Active(run) }
}

/// A requirement every message is held to.
const fn observed(
    level: Level,
    id: &'static str,
    revisions: &'static [Revision],
    title: &'static str,
) -> Check {
    Check { id, level, revisions, transport: None, title, run: Run::Observed }
}

/// The items of a list method, over all pages.
fn list(client: &mut Client, method: &str) -> Result<Vec<Value>, Outcome> {
    /// A server whose cursors lead in a circle would otherwise be followed for ever.
    const PAGES: usize = 1000;
    let key = match method {
        "resources/templates/list" => "resourceTemplates",
        _ => method.split('/').next().unwrap_or_default(),
    };
    let mut items = Vec::new();
    let mut params = Value::Null;
    for _ in 0..PAGES {
        let page = client.result(method, params)?;
        let Some(found) = page[key].as_array() else {
            return Err(fail(format!("{method} has no `{key}`: {page}")));
        };
        items.extend(found.iter().cloned());
        match &page["nextCursor"] {
            Value::Null => return Ok(items),
            cursor => params = json!({ "cursor": cursor }),
        }
    }
    Err(fail(format!("{method} goes on after {PAGES} pages")))
}

/// Holds if a feature is declared and its list answered, or neither.
fn declared_iff_served(ctx: &mut Ctx<'_>, capability: &str, method: &str) -> Verdict {
    let declared = ctx.capabilities()?.get(capability).is_some();
    let client = ctx.client()?;
    if declared {
        list(client, method)?;
        return Ok(());
    }
    client.refusal(method, Value::Null, &[-32601])?;
    Err(skip(format!("`{capability}` is neither declared nor served")))
}

/// Holds if a list is the same on two connections, and again after other traffic.
fn same_everywhere(ctx: &mut Ctx<'_>, capability: &str, methods: &[&str]) -> Verdict {
    ctx.need(capability)?;
    for method in methods {
        let first = list(ctx.client()?, method)?;
        let second = list(&mut ctx.fresh()?, method)?;
        let again = list(ctx.client()?, method)?;
        if first != second || first != again {
            return Err(fail(format!("{method} varies between connections or with time")));
        }
    }
    Ok(())
}
