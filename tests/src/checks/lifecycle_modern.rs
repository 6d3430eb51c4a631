//! The newest revision, in which every request describes itself, and both eras on one pipe.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::{list, must, observed, should};
use crate::client::Client;
use crate::profile::told;
use crate::revision::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, MODERN, PROTOCOL_VERSION, Revision,
    initialize_params,
};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-050", MODERN, "`server/discover` tells versions and capabilities.", discovers),
    must("S-051", MODERN, "A request without its envelope is refused.", demands_envelope),
    must("S-053", MODERN, "`clientInfo` is not needed.", serves_the_nameless),
    must(
        "S-054",
        MODERN,
        "An unsupported version is refused with what is supported.",
        refuses_versions,
    ),
    must("S-055", MODERN, "Undeclared client capabilities are not relied on.", relies_on_nothing),
    must(
        "S-057",
        MODERN,
        "No request is answered from another one's context.",
        keeps_requests_apart,
    ),
    must("S-059", MODERN, "Extension identifiers have a prefix.", prefixes_extensions),
    observed(Level::Must, "S-060", MODERN, "A peer without an extension gets core behaviour."),
    observed(Level::Must, "S-061", MODERN, "The server sends no requests."),
    must("S-062", MODERN, "Removed methods are unknown.", forgets_removed_methods),
    should(
        "S-063",
        MODERN,
        "`initialize` works after `server/discover`, and both eras side by side.",
        serves_both_eras,
    ),
];

fn discovers(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.unopened()?;
    let found = client.result("server/discover", Value::Null)?;
    let versions = found["supportedVersions"].as_array();
    let modern = json!(Revision::V2026_07_28.date());
    ensure(versions.is_some_and(|versions| versions.contains(&modern)), || {
        format!("supportedVersions lacks {modern}: {found}")
    })?;
    ensure(found["capabilities"].is_object(), || format!("no capabilities: {found}"))
}

fn demands_envelope(ctx: &mut Ctx<'_>) -> Verdict {
    let version = json!(Revision::V2026_07_28.date());
    let mut client = ctx.unopened()?;
    // One connection for all: nothing said before may stand in for the envelope.
    client.open()?;
    let envelopes = [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": {PROTOCOL_VERSION: version}}),
        json!({"_meta": {CLIENT_CAPABILITIES: {}}}),
        json!({"_meta": {PROTOCOL_VERSION: null, CLIENT_CAPABILITIES: {}}}),
        json!({"_meta": {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: []}}),
    ];
    for params in envelopes {
        let id = json!(client.reserve_id());
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
        client.send_odd(&message);
        let answer = client.answer(&id)?;
        ensure(answer["error"]["code"] == -32602, || format!("{params} was answered {answer}"))?;
    }
    Ok(())
}

fn serves_the_nameless(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.unopened()?;
    let version = Revision::V2026_07_28.date();
    let meta = json!({PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}});
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta},
    });
    client.send(&message);
    let answer = client.answer(&json!(1))?;
    ensure(answer.get("result").is_some(), || format!("answered {answer}"))
}

fn refuses_versions(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    let discovered = client.result("server/discover", Value::Null)?;
    let listed = discovered["supportedVersions"].as_array().cloned().unwrap_or_default();
    let unsupported = |version: &&str| !listed.contains(&json!(version));
    for requested in ["2031-01-01", "2025-11-25", "", "v2"].into_iter().filter(unsupported) {
        let params = json!({"_meta": {PROTOCOL_VERSION: requested}});
        let error = client.refusal("tools/list", params, &[-32022])?;
        ensure(error["data"]["requested"] == requested, || format!("does not echo: {error}"))?;
        let supported = error["data"]["supported"].as_array().cloned().unwrap_or_default();
        let subset =
            !supported.is_empty() && supported.iter().all(|version| listed.contains(version));
        ensure(subset, || format!("`supported` is not what discover lists: {error}"))?;
    }
    Ok(())
}

/// The engine declares no client capability, so no call may come back asking for input.
fn relies_on_nothing(ctx: &mut Ctx<'_>) -> Verdict {
    let profile = ctx.profile()?;
    let call = told(&profile.quick_call, "quick_call")?;
    let answer = ctx.client()?.call("tools/call", call.params())?;
    if answer["error"]["code"] == -32021 {
        let required = &answer["error"]["data"]["requiredCapabilities"];
        return ensure(required.is_object(), || format!("requiredCapabilities: {answer}"));
    }
    let asks = answer["result"]["resultType"] == "input_required";
    ensure(!asks, || format!("asks for input nobody can give: {answer}"))
}

fn keeps_requests_apart(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let one =
        json!({CLIENT_INFO: {"name": "one", "version": "1"}, CLIENT_CAPABILITIES: {"roots": {}}});
    let two = json!({CLIENT_INFO: {"name": "two", "version": "2"}, CLIENT_CAPABILITIES: {}});
    let first = client.result("server/discover", json!({"_meta": one}))?;
    let second = client.result("server/discover", json!({"_meta": two}))?;
    ensure(first == second, || format!("{first} became {second} for another client"))?;
    let Ok(profile) = ctx.profile() else {
        return Ok(());
    };
    let Some(slow) = &profile.slow_call else {
        return Ok(());
    };
    let token = json!({"progressToken": "identity-one", LOG_LEVEL: "debug"});
    client.result("tools/call", slow.params_with(token))?;
    client.take_inbox();
    client.result("tools/call", slow.params())?;
    let heard = client.take_inbox();
    ensure(heard.is_empty(), || format!("a request that asked for nothing got {heard:?}"))
}

fn prefixes_extensions(ctx: &mut Ctx<'_>) -> Verdict {
    let capabilities = ctx.capabilities()?;
    let Some(extensions) = capabilities["extensions"].as_object() else {
        return Err(skip("no extension is declared"));
    };
    let bare = extensions.keys().find(|key| {
        !key.split_once('/').is_some_and(|(prefix, name)| !prefix.is_empty() && !name.is_empty())
    });
    ensure(bare.is_none(), || format!("the extension {bare:?} has no prefix"))
}

fn forgets_removed_methods(ctx: &mut Ctx<'_>) -> Verdict {
    let client = ctx.client()?;
    // A server of both eras may speak of versions instead.
    client.refusal("initialize", initialize_params("2026-07-28"), &[-32601, -32022])?;
    let removed = [
        ("ping", Value::Null),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "a:b"})),
        ("resources/unsubscribe", json!({"uri": "a:b"})),
        ("tasks/list", Value::Null),
        ("tasks/result", json!({"taskId": "x"})),
    ];
    for (method, params) in removed {
        client.refusal(method, params, &[-32601])?;
    }
    Ok(())
}

fn serves_both_eras(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let version = Revision::V2025_11_25.date();
    let answer = session_call(&mut client, "initialize", initialize_params(version))?;
    if [-32601, -32602].map(Value::from).contains(&answer["error"]["code"]) {
        return Err(skip("the server is of the newest revision only"));
    }
    let negotiated = answer["result"]["protocolVersion"].as_str().and_then(Revision::from_date);
    ensure(negotiated.is_some_and(|revision| !revision.is_modern()), || {
        format!("initialize after discover was answered {answer}")
    })?;
    client.notify("notifications/initialized", Value::Null);
    let modern = client.result("server/discover", Value::Null)?;
    let ping = session_call(&mut client, "ping", json!({}))?;
    ensure(ping["result"] == json!({}), || format!("ping was answered {ping}"))?;
    let again = client.result("server/discover", Value::Null)?;
    ensure(modern == again, || format!("{modern} became {again}"))?;
    if ctx.need("tools").is_err() {
        return Ok(());
    }
    let legacy = session_call(&mut client, "tools/list", json!({}))?;
    let leaked = legacy["result"].get("resultType").is_some();
    ensure(legacy["result"]["tools"].is_array() && !leaked, || format!("answered {legacy}"))?;
    list(&mut client, "tools/list").map(drop)
}

/// A request as a session has it, without an envelope.
fn session_call(client: &mut Client, method: &str, params: Value) -> Result<Value, Outcome> {
    let id = json!(client.reserve_id());
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    client.send_odd(&message);
    client.answer(&id).map_err(|outcome| fail(format!("{method}: {}", outcome.detail())))
}
