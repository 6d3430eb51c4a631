//! Makes a profile of a server nobody has told us anything about, by asking it.
//!
//! Only what is safe is called: tools that say of themselves that they only read, unless the user
//! allows the others too. Arguments are made up from the schema; a call becomes part of the profile
//! only if it succeeds now, so that a later failure is the server's and not that of a bad guess.

use crate::check::Ctx;
use crate::client::Client;
use crate::clock::{Instant, PATIENCE};
use crate::profile::{Profile, PromptCall, RefusedCall, TaskCalls, ToolCall};
use crate::revision::{self, Revision};
use crate::run::Target;
use serde_json::{Map, Value, json};
use std::thread;
use std::time::Duration;

/// Tools, resources and prompts tried before giving up on one that works.
const TRIES: usize = 8;

/// A task that takes longer is no brief one.
const POLL: Duration = Duration::from_millis(100);

/// What can be called on `target`. Empty fields are things it does not have, or does not let be
/// found out safely.
pub fn profile(target: &Target, allow_calls: bool) -> Profile {
    let Some(mut client) = connect(target) else {
        return Profile::default();
    };
    let mut profile = Profile { quick_calls_overtake: true, ..Profile::default() };
    if let Some((call, required)) = quick_call(&mut client, allow_calls) {
        profile.refused_calls = refused_calls(&call, &required);
        profile.quick_call = Some(call);
    }
    profile.tasks = tasks(target, allow_calls);
    profile.readable = readable(&mut client);
    profile.missing = profile.readable.as_deref().and_then(missing_beside);
    profile.prompt = prompt(&mut client);
    profile
}

/// A connection in the newest revision the server serves.
fn connect(target: &Target) -> Option<Client> {
    revision::ALL.iter().rev().find_map(|&revision| connect_in(target, revision))
}

fn connect_in(target: &Target, revision: Revision) -> Option<Client> {
    let ctx = Ctx::new(target, revision, None);
    let mut client = ctx.unopened().ok()?;
    client.open().is_ok().then_some(client)
}

fn list(client: &mut Client, method: &str, member: &str) -> Vec<Value> {
    let mut result = client.result(method, json!({})).unwrap_or_default();
    match result.get_mut(member).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// A call that works, and the names of the arguments it cannot do without.
fn quick_call(client: &mut Client, allow_calls: bool) -> Option<(ToolCall, Vec<String>)> {
    let tools = list(client, "tools/list", "tools");
    let mut tools: Vec<_> = tools.iter().filter(|tool| allow_calls || only_reads(tool)).collect();
    // Even if all may be called: first what does no harm and leaves little to guess.
    tools.sort_by_key(|tool| (!only_reads(tool), strings(&tool["inputSchema"]["required"]).len()));
    tools.into_iter().take(TRIES).find_map(|tool| {
        let (call, required) = guess(tool)?;
        let result = client.result("tools/call", call.params()).ok()?;
        let works = result["content"].is_array() && result["isError"] != true;
        works.then_some((call, required))
    })
}

fn only_reads(tool: &Value) -> bool {
    tool["annotations"]["readOnlyHint"] == true
}

/// A call with made-up arguments, and the names of those it cannot do without.
fn guess(tool: &Value) -> Option<(ToolCall, Vec<String>)> {
    let schema = &tool["inputSchema"];
    let required: Vec<String> = strings(&schema["required"]);
    let arguments = required
        .iter()
        .map(|name| Some((name.clone(), example(&schema["properties"][name])?)))
        .collect::<Option<Map<String, Value>>>()?;
    let name = tool["name"].as_str()?.to_owned();
    Some((ToolCall { name, arguments: Value::Object(arguments), structured: None }, required))
}

/// A call that works as a task of 2025-11-25, the one revision whose tools say that they can.
fn tasks(target: &Target, allow_calls: bool) -> Option<TaskCalls> {
    let mut client = connect_in(target, Revision::V2025_11_25)?;
    client.watch.capabilities()?["tasks"]["requests"]["tools"].get("call")?;
    let tools = list(&mut client, "tools/list", "tools");
    let tools = tools.iter().filter(|tool| allow_calls || only_reads(tool));
    tools.take(TRIES).find_map(|tool| {
        let support = tool["execution"]["taskSupport"].as_str()?;
        let (call, _) = guess(tool).filter(|_| ["optional", "required"].contains(&support))?;
        let mut params = call.params();
        params["task"] = json!({});
        let created = client.result("tools/call", params).ok()?;
        let about = json!({"taskId": created["task"]["taskId"].as_str()?});
        completes_soon(&mut client, &about).then_some(())?;
        let required = (support == "required").then(|| call.clone());
        Some(TaskCalls { brief: Some(call), required, ..TaskCalls::default() })
    })
}

fn completes_soon(client: &mut Client, about: &Value) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match client.result("tasks/get", about.clone()) {
            Ok(now) if now["status"] == "completed" => return true,
            Ok(now) if now["status"] == "working" => thread::sleep(POLL),
            _ => return false,
        }
    }
    // Nobody wants its result any more.
    let _ = client.call("tasks/cancel", about.clone());
    false
}

/// The call without one of the arguments it needs.
fn refused_calls(call: &ToolCall, required: &[String]) -> Vec<RefusedCall> {
    let without = |name: &String| {
        let mut arguments = call.arguments.clone();
        arguments.as_object_mut()?.remove(name)?;
        Some(RefusedCall { name: call.name.clone(), arguments, names: name.clone() })
    };
    required.iter().take(1).filter_map(without).collect()
}

/// Some value of a schema's type; `None` if it cannot be guessed.
fn example(schema: &Value) -> Option<Value> {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return Some(first.clone());
    }
    if let Some(default) = schema.get("default") {
        return Some(default.clone());
    }
    match schema["type"].as_str()? {
        "string" => Some(json!("1")),
        "integer" | "number" => Some(schema.get("minimum").cloned().unwrap_or(json!(1))),
        "boolean" => Some(json!(false)),
        "array" => Some(json!([])),
        _ => None,
    }
}

fn readable(client: &mut Client) -> Option<String> {
    let resources = list(client, "resources/list", "resources");
    resources.iter().take(TRIES).find_map(|resource| {
        let uri = resource["uri"].as_str()?;
        let result = client.result("resources/read", json!({"uri": uri})).ok()?;
        let has_contents = result["contents"].as_array().is_some_and(|all| !all.is_empty());
        has_contents.then(|| uri.to_owned())
    })
}

/// A uri of the same scheme that surely leads to nothing.
fn missing_beside(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    Some(format!("{scheme}:///conformance/nothing-here-c0ffee"))
}

fn prompt(client: &mut Client) -> Option<PromptCall> {
    let prompts = list(client, "prompts/list", "prompts");
    prompts.iter().take(TRIES).find_map(|prompt| {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let required = arguments.filter(|argument| argument["required"] == true);
        let named: Map<String, Value> = required
            .filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), json!("1"))))
            .collect();
        let name = prompt["name"].as_str()?.to_owned();
        let call = PromptCall { name, arguments: Value::Object(named) };
        client.result("prompts/get", call.params()).ok()?;
        Some(call)
    })
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
