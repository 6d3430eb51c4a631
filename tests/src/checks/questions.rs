//! What a question may hold, whichever way it is put: as a request of a session or, in 2026-07-28,
//! as part of a result.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::asks::{askable, call, session};
use crate::checks::replays::params;
use crate::checks::{must, observed, should};
use crate::profile::{Ask, told};
use crate::revision::{ONLY_2025_11, SINCE_2025_06, SINCE_2025_11};
use serde_json::{Value, json};

/// Parts of the names of fields that a person would fill with a secret.
const SECRETS: &[&str] =
    &["password", "passwd", "passphrase", "secret", "api_key", "apikey", "token", "credential"];

pub(super) const CHECKS: &[Check] = &[
    should("S-190", SINCE_2025_06, "Forms do not ask for secrets.", forms_ask_no_secrets),
    must(
        "S-193",
        SINCE_2025_11,
        "A page to open comes with its mode, a message and a URL.",
        pages_are_whole,
    ),
    observed(
        Level::Must,
        "S-194",
        ONLY_2025_11,
        "That an elicitation is complete is told with the id it was asked under.",
    ),
    observed(
        Level::Must,
        "S-195",
        ONLY_2025_11,
        "The error for URL elicitation lists the elicitations it is about.",
    ),
    must(
        "S-200",
        SINCE_2025_11,
        "A model is offered tools only where the client declared that.",
        offers_declared_tools,
    ),
];

/// The parameters of the question a call puts; `None` if it asks nothing.
fn question(ctx: &mut Ctx<'_>, ask: &Ask) -> Result<Option<Value>, Outcome> {
    if ctx.revision.is_modern() {
        let answer = ctx.client()?.call("tools/call", params(ask))?;
        let mut requests =
            answer["result"]["inputRequests"].as_object().into_iter().flat_map(|all| all.values());
        let found = requests.find(|request| request["method"] == ask.method.as_str());
        return Ok(found.map(|request| request["params"].clone()));
    }
    let answer = json!({"result": {"action": "cancel"}});
    let mut client = session(ctx, ask, ask.capabilities.clone(), answer)?;
    let (question, _) = call(&mut client, ask)?;
    Ok(question.map(|question| question["params"].clone()))
}

/// Those of the profile's questions that are put by `method`.
fn asks_by(ctx: &Ctx<'_>, method: &str) -> Result<Vec<Ask>, Outcome> {
    let mut asks = askable(ctx)?;
    asks.retain(|ask| ask.method == method);
    if asks.is_empty() { Err(skip(format!("the profile has no {method}"))) } else { Ok(asks) }
}

fn forms_ask_no_secrets(ctx: &mut Ctx<'_>) -> Verdict {
    for ask in asks_by(ctx, "elicitation/create")? {
        let params = question(ctx, &ask)?.ok_or_else(|| fail("nothing was asked"))?;
        let fields = params["requestedSchema"]["properties"].as_object();
        let names = fields.into_iter().flatten().map(|(name, _)| name.to_lowercase());
        for name in names {
            let is_secret = SECRETS.iter().any(|secret| name.contains(secret));
            ensure(!is_secret, || format!("the form asks for `{name}`"))?;
        }
    }
    Ok(())
}

fn pages_are_whole(ctx: &mut Ctx<'_>) -> Verdict {
    let ask = told(&ctx.profile()?.asks_by_url, "asks_by_url")?.clone();
    let params = question(ctx, &ask)?.ok_or_else(|| fail("nothing was asked"))?;
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let is_url = text("url").split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    let is_whole = text("mode") == "url" && !text("message").is_empty() && is_url;
    ensure(is_whole, || format!("{params}"))?;
    // An id of its own has come with 2025-11-25 and gone with it.
    let has_id = !text("elicitationId").is_empty();
    ensure(has_id != ctx.revision.is_modern(), || format!("about `elicitationId`: {params}"))
}

fn offers_declared_tools(ctx: &mut Ctx<'_>) -> Verdict {
    for mut ask in asks_by(ctx, "sampling/createMessage")? {
        ask.capabilities = json!({"sampling": {}});
        // A server may also do without the model then.
        let Some(params) = question(ctx, &ask)? else {
            continue;
        };
        let offers = ["tools", "toolChoice"].iter().any(|name| params.get(name).is_some());
        ensure(!offers, || format!("tools without `sampling.tools`: {params}"))?;
        balanced(&params["messages"])?;
    }
    Ok(())
}

/// Each use of a tool is answered by the next message, which holds results and nothing else.
fn balanced(messages: &Value) -> Verdict {
    let mut open: Vec<String> = Vec::new();
    for message in messages.as_array().into_iter().flatten() {
        let content = &message["content"];
        let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        let ids = |kind: &str, id: &str| {
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            let mut ids: Vec<_> = of_kind.map(|block| block[id].to_string()).collect();
            ids.sort_unstable();
            ids
        };
        let results = ids("tool_result", "toolUseId");
        let is_pure = results.is_empty() || results.len() == blocks.len();
        ensure(is_pure && results == open, || format!("tool uses and results: {messages}"))?;
        open = ids("tool_use", "id");
    }
    ensure(open.is_empty(), || format!("a tool use without its result: {messages}"))
}
