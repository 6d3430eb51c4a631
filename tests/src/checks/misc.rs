//! Prompts, completion, caching and pagination.

use crate::check::{Check, Ctx, Level, Verdict, ensure, fail, skip};
use crate::checks::{declared_iff_served, list, must, observed, same_everywhere, should};
use crate::profile::told;
use crate::revision::{ALL, MODERN, SINCE_2025_03};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-160", ALL, "`prompts` is declared exactly when prompts are served.", is_declared),
    must(
        "S-161",
        MODERN,
        "`prompts/list` depends on nothing but the request.",
        prompts_do_not_vary,
    ),
    must("S-162", ALL, "A prompt can be had.", gets_prompt),
    observed(Level::Must, "S-162", ALL, "Prompt messages hold well-formed content."),
    must("S-163", ALL, "Prompt arguments are validated.", validates_prompts),
    must(
        "S-164",
        SINCE_2025_03,
        "`completions` is declared exactly when completion is served.",
        completions_declared,
    ),
    must("S-164", SINCE_2025_03, "Completion completes.", completes),
    observed(Level::Must, "S-165", ALL, "A completion has at most 100 values."),
    must("S-166", SINCE_2025_03, "Completion refuses references to nothing.", validates_completion),
    must("S-172", MODERN, "Cacheable results carry `ttlMs` and `cacheScope`.", visits_cacheable),
    observed(Level::Must, "S-172", MODERN, "Every cacheable result carries valid hints."),
    observed(Level::Must, "S-173", MODERN, "Requests for input carry no caching hints."),
    must("S-174", MODERN, "All pages of a list have the same `cacheScope`.", keeps_scope),
    should("S-178", ALL, "Cursors the server never gave are refused.", refuses_cursors),
];

fn is_declared(ctx: &mut Ctx<'_>) -> Verdict {
    declared_iff_served(ctx, "prompts", "prompts/list")
}

fn prompts_do_not_vary(ctx: &mut Ctx<'_>) -> Verdict {
    same_everywhere(ctx, "prompts", &["prompts/list"])
}

fn gets_prompt(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("prompts")?;
    let prompt = told(&ctx.profile()?.prompt, "prompt")?;
    let result = ctx.client()?.result("prompts/get", prompt.params())?;
    let messages = result["messages"].as_array().cloned().unwrap_or_default();
    ensure(!messages.is_empty(), || format!("a prompt without messages: {result}"))?;
    let odd = messages.iter().find(|message| {
        !["user", "assistant"].contains(&message["role"].as_str().unwrap_or_default())
    });
    ensure(odd.is_none(), || format!("an unknown role: {odd:?}"))
}

fn validates_prompts(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("prompts")?;
    let refused = &ctx.profile()?.refused_prompts;
    if refused.is_empty() {
        return Err(skip("the profile has no `refused_prompts`"));
    }
    for prompt in refused {
        let answer = ctx.client()?.call_oddly("prompts/get", prompt.params())?;
        ensure(answer["error"]["code"] == -32602, || {
            format!("{} was answered {answer}", prompt.arguments)
        })?;
    }
    Ok(())
}

fn completions_declared(ctx: &mut Ctx<'_>) -> Verdict {
    let params = json!({"ref": {"type": "ref/prompt", "name": "no_such_prompt"}, "argument": {"name": "a", "value": ""}});
    let declared = ctx.need("completions").is_ok();
    let answer = ctx.client()?.call("completion/complete", params)?;
    let unknown = answer["error"]["code"] == -32601;
    ensure(declared != unknown, || format!("declared: {declared}, yet answered {answer}"))
}

fn completes(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("completions")?;
    let params = told(&ctx.profile()?.completion, "completion")?;
    let result = ctx.client()?.result("completion/complete", params.clone())?;
    let values = result["completion"]["values"].as_array();
    let valid =
        values.is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_string));
    ensure(valid, || format!("answered {result}"))
}

fn validates_completion(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("completions")?;
    let client = ctx.client()?;
    let argument = json!({"name": "a", "value": ""});
    let references = [
        json!({"type": "ref/prompt", "name": "no_such_prompt"}),
        json!({"type": "ref/resource", "uri": "nowhere://{nothing}"}),
        json!({"type": "ref/unheard_of"}),
    ];
    for reference in references {
        let params = json!({"ref": reference, "argument": argument});
        let answer = client.call_oddly("completion/complete", params)?;
        ensure(answer["error"]["code"] == -32602, || format!("{reference} was answered {answer}"))?;
    }
    Ok(())
}

/// The hints themselves are judged by the watching; here every such method is called once.
fn visits_cacheable(ctx: &mut Ctx<'_>) -> Verdict {
    let capabilities = ctx.capabilities()?;
    let client = ctx.client()?;
    let mut results = vec![client.result("server/discover", Value::Null)?];
    for (capability, method) in LISTS {
        if capabilities.get(capability).is_some() {
            results.push(client.result(method, Value::Null)?);
        }
    }
    let readable = ctx.profile().ok().and_then(|profile| profile.readable.clone());
    if let Some(uri) = readable {
        results.push(ctx.client()?.result("resources/read", json!({ "uri": uri }))?);
    }
    let bare = results
        .iter()
        .find(|result| result.get("ttlMs").is_none() || result.get("cacheScope").is_none());
    ensure(bare.is_none(), || format!("no hints in {}", bare.cloned().unwrap_or_default()))
}

/// The list methods and the capability each belongs to.
const LISTS: [(&str, &str); 4] = [
    ("tools", "tools/list"),
    ("resources", "resources/list"),
    ("resources", "resources/templates/list"),
    ("prompts", "prompts/list"),
];

fn keeps_scope(ctx: &mut Ctx<'_>) -> Verdict {
    let capabilities = ctx.capabilities()?;
    let mut paged = false;
    for (capability, method) in LISTS {
        if capabilities.get(capability).is_none() {
            continue;
        }
        let client = ctx.client()?;
        let first = client.result(method, Value::Null)?;
        if let Some(cursor) = first.get("nextCursor") {
            paged = true;
            let second = client.result(method, json!({ "cursor": cursor }))?;
            ensure(first["cacheScope"] == second["cacheScope"], || {
                format!("{method}: the scope changes")
            })?;
        }
    }
    if paged { Ok(()) } else { Err(skip("no list has a second page")) }
}

fn refuses_cursors(ctx: &mut Ctx<'_>) -> Verdict {
    let capabilities = ctx.capabilities()?;
    let served = LISTS.into_iter().filter(|(capability, _)| capabilities.get(capability).is_some());
    let served: Vec<_> = served.collect();
    if served.is_empty() {
        return Err(skip("the server has no lists"));
    }
    for (_, method) in served {
        for cursor in ["not-a-cursor", "MTAw", "-1"] {
            let client = ctx.client()?;
            client.refusal(method, json!({ "cursor": cursor }), &[-32602])?;
        }
        // A list is stable: asked twice in a row, it is the same.
        let (first, again) = (list(ctx.client()?, method)?, list(ctx.client()?, method)?);
        if first != again {
            return Err(fail(format!("{method} changes from one request to the next")));
        }
    }
    Ok(())
}
