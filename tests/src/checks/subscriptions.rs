//! `subscriptions/listen` of the newest revision.

use crate::check::{Check, Ctx, Level, Outcome, Verdict, ensure, fail, skip};
use crate::checks::{must, observed, should};
use crate::client::Client;
use crate::clock::PATIENCE;
use crate::profile::{ToolCall, told};
use crate::revision::{MODERN, SUBSCRIPTION_ID};
use crate::transport::Transport;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-130", MODERN, "A listen stream begins with its acknowledgement.", acknowledges_first),
    observed(Level::Must, "S-130", MODERN, "Nothing precedes an acknowledgement."),
    must("S-132", MODERN, "Only what was asked for is sent.", sends_only_what_was_asked),
    observed(Level::Must, "S-132", MODERN, "No stream carries what it did not ask for."),
    must("S-133", MODERN, "Each stream's messages carry its id, in value and type.", tags_messages),
    observed(Level::Must, "S-133", MODERN, "Every change carries the id of an open stream."),
    observed(Level::Must, "S-134", MODERN, "Progress and logs stay off listen streams."),
    should("S-135", MODERN, "A change reaches those who listen.", reaches_listeners),
    should("S-136", MODERN, "A stream the server ends is ended with a tagged result.", ends_tagged)
        .over(Transport::Stdio),
    must("S-072", MODERN, "A cancelled listen stream falls silent.", stops_listening),
];

fn acknowledges_first(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let everything = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
    });
    for filter in [json!({}), everything] {
        let id = listen(&mut client, filter)?;
        client.barrier()?;
        let tagged = client.take_inbox().into_iter().find(|message| *tag(message) == id);
        ensure(tagged.is_none(), || format!("{tagged:?} follows at once"))?;
    }
    Ok(())
}

fn sends_only_what_was_asked(ctx: &mut Ctx<'_>) -> Verdict {
    let (_, change) = watched(ctx)?;
    let mut client = ctx.fresh()?;
    listen(&mut client, json!({"toolsListChanged": true}))?;
    listen(&mut client, json!({"resourceSubscriptions": ["other:resource"]}))?;
    client.result("tools/call", change.params())?;
    client.barrier()?;
    let unasked = client.take(|message| {
        let method = message["method"].as_str().unwrap_or_default();
        method.ends_with("changed") || method.ends_with("updated") || !tag(message).is_null()
    });
    ensure(unasked.is_none(), || format!("nobody asked for {}", unasked.unwrap_or_default()))
}

fn tags_messages(ctx: &mut Ctx<'_>) -> Verdict {
    let (uri, change) = watched(ctx)?;
    let mut client = ctx.fresh()?;
    let filter = json!({ "resourceSubscriptions": [uri] });
    let ids = [json!("listen-1"), json!(77)];
    for id in &ids {
        client.request_as(id.clone(), "subscriptions/listen", json!({ "notifications": filter }));
        acknowledged(&mut client, id)?;
    }
    client.result("tools/call", change.params())?;
    for id in &ids {
        updated(&mut client, id)?;
    }
    Ok(())
}

fn reaches_listeners(ctx: &mut Ctx<'_>) -> Verdict {
    let (uri, change) = watched(ctx)?;
    let mut client = ctx.fresh()?;
    let id = listen(&mut client, json!({ "resourceSubscriptions": [uri] }))?;
    client.result("tools/call", change.params())?;
    let update = updated(&mut client, &id)?;
    ensure(update["params"]["uri"] == uri, || format!("{update} is about another resource"))
}

fn ends_tagged(ctx: &mut Ctx<'_>) -> Verdict {
    let mut client = ctx.fresh()?;
    let id = listen(&mut client, json!({"toolsListChanged": true}))?;
    let ending = client.finish(PATIENCE);
    let result = ending.messages.into_iter().find(|message| message["id"] == id);
    let Some(result) = result else {
        return Err(skip("the server sends no result when its client goes, and may not"));
    };
    let tagged = result["result"]["_meta"][SUBSCRIPTION_ID] == id;
    ensure(tagged, || format!("the stream ended with {result}"))
}

fn stops_listening(ctx: &mut Ctx<'_>) -> Verdict {
    let (uri, change) = watched(ctx)?;
    let mut client = ctx.fresh()?;
    let id = listen(&mut client, json!({ "resourceSubscriptions": [uri] }))?;
    client.cancel(&id);
    client.barrier()?;
    client.take_inbox();
    client.result("tools/call", change.params())?;
    client.barrier()?;
    let late = client.take_inbox().into_iter().find(|message| {
        *tag(message) == id || message.get("method").is_none() && message["id"] == id
    });
    ensure(late.is_none(), || format!("{} came after the cancellation", late.unwrap_or_default()))
}

/// The resource the profile names, and the call that changes it.
fn watched(ctx: &mut Ctx<'_>) -> Result<(String, ToolCall), Outcome> {
    ctx.need("resources.subscribe")?;
    let profile = ctx.profile()?;
    let uri = told(&profile.watched, "watched")?;
    let change = told(&profile.slow_call, "slow_call")?;
    Ok((uri.clone(), change.clone()))
}

/// Opens a stream and gives its id once it is acknowledged.
fn listen(client: &mut Client, filter: Value) -> Result<Value, Outcome> {
    let id = client.request("subscriptions/listen", json!({ "notifications": filter }));
    acknowledged(client, &id)?;
    Ok(id)
}

fn acknowledged(client: &mut Client, id: &Value) -> Verdict {
    let about = |message: &Value| *tag(message) == *id || message["id"] == *id;
    let first = client.wait_for("an acknowledgement", about)?;
    if first["error"]["code"] == -32601 {
        return Err(skip("the server has no listen streams"));
    }
    let acknowledgement = first["method"] == "notifications/subscriptions/acknowledged";
    ensure(acknowledgement && *tag(&first) == *id, || format!("the stream began with {first}"))
}

fn updated(client: &mut Client, id: &Value) -> Result<Value, Outcome> {
    let update = |message: &Value| {
        message["method"] == "notifications/resources/updated" && *tag(message) == *id
    };
    client.gather(|inbox| inbox.iter().any(update));
    client.take(update).ok_or_else(|| fail(format!("no update came on the stream {id}")))
}

fn tag(message: &Value) -> &Value {
    &message["params"]["_meta"][SUBSCRIPTION_ID]
}
