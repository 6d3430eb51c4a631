//! Resources: lists, reading, what is missing, odd uris, subscriptions of a session.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::{declared_iff_served, list, must, observed, same_everywhere, should};
use crate::profile::told;
use crate::revision::{ALL, LEGACY, MODERN, SINCE_2025_06};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-150", ALL, "`resources` is declared exactly when resources are served.", is_declared),
    must("S-150", ALL, "A listed resource can be read.", reads_what_it_lists),
    must("S-151", MODERN, "`resources/list` depends on nothing but the request.", does_not_vary),
    must("S-152", MODERN, "A missing resource is an invalid parameter.", refuses_missing),
    should("S-153", LEGACY, "A missing resource has its own code.", refuses_missing),
    must("S-154", MODERN, "A missing resource has no empty contents.", invents_nothing),
    must("S-155", ALL, "Every uri is validated.", validates_uris),
    observed(Level::Must, "S-156", ALL, "Binary contents are base64."),
    must("S-157", MODERN, "File uris do not lead out of what is served.", stays_inside),
    must("S-158", SINCE_2025_06, "Listed uris follow RFC 3986.", lists_valid_uris),
    must(
        "S-159",
        LEGACY,
        "Subscribers hear of changes until they unsubscribe.",
        notifies_subscribers,
    ),
    observed(Level::Must, "S-159", LEGACY, "Only subscribed resources are reported."),
];

fn is_declared(ctx: &mut Ctx<'_>) -> Verdict {
    declared_iff_served(ctx, "resources", "resources/list")
}

fn reads_what_it_lists(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources")?;
    let listed = list(ctx.client()?, "resources/list")?;
    let listed = listed.first().and_then(|resource| resource["uri"].as_str()).map(str::to_owned);
    let told = ctx.profile().ok().and_then(|profile| profile.readable.clone());
    let uri = told.or(listed).ok_or_else(|| skip("no resource is listed"))?;
    let result = ctx.client()?.result("resources/read", json!({ "uri": uri }))?;
    let contents = result["contents"].as_array().cloned().unwrap_or_default();
    ensure(!contents.is_empty(), || format!("{uri} has no contents: {result}"))?;
    let odd = contents.iter().find(|content| {
        content["uri"].as_str().is_none()
            || content["text"].is_string() == content["blob"].is_string()
    });
    ensure(odd.is_none(), || format!("contents need a uri and either text or blob: {result}"))
}

fn does_not_vary(ctx: &mut Ctx<'_>) -> Verdict {
    same_everywhere(ctx, "resources", &["resources/list", "resources/templates/list"])
}

fn refuses_missing(ctx: &mut Ctx<'_>) -> Verdict {
    let code = if ctx.revision.is_modern() { -32602 } else { -32002 };
    let (uri, answer) = read_missing(ctx)?;
    let right = answer["error"]["code"] == code && answer["error"]["data"]["uri"] == uri.as_str();
    ensure(right, || format!("{uri} was answered {answer} instead of {code} with data.uri"))
}

fn invents_nothing(ctx: &mut Ctx<'_>) -> Verdict {
    let (uri, answer) = read_missing(ctx)?;
    ensure(answer.get("result").is_none(), || format!("{uri} was answered {answer}"))
}

fn read_missing(ctx: &mut Ctx<'_>) -> Result<(String, Value), Outcome> {
    ctx.need("resources")?;
    let told = ctx.profile().ok().and_then(|profile| profile.missing.clone());
    let uri = told.unwrap_or_else(|| "conformance-nowhere://missing".to_owned());
    let answer = ctx.client()?.call("resources/read", json!({ "uri": uri }))?;
    Ok((uri, answer))
}

fn validates_uris(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources")?;
    let client = ctx.client()?;
    let long = format!("nowhere://{}", "a".repeat(20_000));
    let odd = [
        "",
        " ",
        "no scheme",
        "://",
        "http://[::1",
        "%zz:%",
        "a:\u{0}b",
        "../../etc/passwd",
        &long,
    ];
    for uri in odd {
        let answer = client.call_oddly("resources/read", json!({ "uri": uri }))?;
        ensure(answer.get("error").is_some(), || format!("\"{uri}\" was answered {answer}"))?;
    }
    client.barrier()
}

fn stays_inside(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources")?;
    let client = ctx.client()?;
    let mut listed = list(client, "resources/list")?;
    listed.extend(list(client, "resources/templates/list")?);
    let uris: Vec<&str> = listed
        .iter()
        .filter_map(|item| item["uri"].as_str().or(item["uriTemplate"].as_str()))
        .collect();
    if !uris.iter().any(|uri| uri.starts_with("file:")) {
        return Err(skip("no file uri is served"));
    }
    let climb = "../".repeat(30);
    let encoded = "%2e%2e%2f".repeat(30);
    let escapes = [
        "file:///etc/passwd".to_owned(),
        format!("file:///{climb}etc/passwd"),
        format!("file:///{encoded}etc/passwd"),
    ];
    for uri in escapes {
        let answer = client.call("resources/read", json!({ "uri": uri }))?;
        ensure(answer.get("error").is_some(), || format!("{uri} was answered {answer}"))?;
    }
    Ok(())
}

fn lists_valid_uris(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources")?;
    let is_uri = jsonschema::options()
        .should_validate_formats(true)
        .build(&json!({"type": "string", "format": "uri"}))
        .map_err(|error| fail(format!("the format does not compile: {error}")))?;
    let listed = list(ctx.client()?, "resources/list")?;
    if listed.is_empty() {
        return Err(skip("no resource is listed"));
    }
    let odd = listed.iter().find(|resource| !is_uri.is_valid(&resource["uri"]));
    ensure(odd.is_none(), || format!("no uri: {odd:?}"))
}

fn notifies_subscribers(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("resources.subscribe")?;
    let profile = ctx.profile()?;
    let uri = told(&profile.watched, "watched")?;
    let change = told(&profile.slow_call, "slow_call")?;
    let mut client = ctx.fresh()?;
    let update = |message: &Value| message["method"] == "notifications/resources/updated";
    client.result("resources/subscribe", json!({ "uri": uri }))?;
    client.result("tools/call", change.params())?;
    client.gather(|inbox| inbox.iter().any(update));
    let heard = client.take(update).ok_or_else(|| fail("no update came after a change"))?;
    ensure(heard["params"]["uri"] == uri.as_str(), || {
        format!("{heard} is about another resource")
    })?;
    client.result("resources/unsubscribe", json!({ "uri": uri }))?;
    client.take_inbox();
    client.result("tools/call", change.params())?;
    client.barrier()?;
    let late = client.take(update);
    ensure(late.is_none(), || format!("{} came after unsubscribing", late.unwrap_or_default()))
}
