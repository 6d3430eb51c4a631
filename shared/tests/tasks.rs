//! Calls that become tasks, in both eras, by handlers that know nothing of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp::client::{Answering, Client, ClientError};
use mcp::{
    ADDITIVE, Context, Error, Field, Form, Limits, READ_ONLY, Revision, Server, Tasks, ToolError,
    ToolResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixture::{Dropped, State};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

type Shared = Arc<State>;

fn server(state: &Shared, limits: Limits) -> Server<Shared> {
    Server::new("tasks", "0", Arc::clone(state))
        .tool("work", ADDITIVE.tasks(Tasks::Also), work)
        .tool("only", ADDITIVE.tasks(Tasks::Only), now)
        .tool("never", READ_ONLY, now)
        .tool("fails", ADDITIVE.tasks(Tasks::Also), fails)
        .tool("breaks", ADDITIVE.tasks(Tasks::Also), breaks)
        .tool("asks", ADDITIVE.tasks(Tasks::Also), asks)
        .limits(limits)
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn work(cx: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    let guard = Dropped(Arc::clone(&cx.state));
    tokio::task::yield_now().await;
    cx.progress(1, None, "half-way");
    cx.state.on_start.notify_one();
    cx.state.go_on.acquire().await.map_err(|_| ToolError::new("closed"))?.forget();
    std::mem::forget(guard);
    Ok(7)
}

async fn now(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    Ok(7)
}

async fn fails(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    tokio::task::yield_now().await;
    Err(ToolError::new("It fails."))
}

async fn breaks(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    tokio::task::yield_now().await;
    Err(ToolError::request(Error::internal("on purpose")))
}

/// Asks once before it works and once after.
async fn asks(cx: Context<Shared>, _: Nothing) -> ToolResult<String> {
    let form = || Form::new("Your name?").field("name", Field::text());
    let first = cx.elicit("first", form()).await?.accepted();
    tokio::task::yield_now().await;
    let second = cx.elicit("second", form()).await?.accepted();
    let name = |answers: Option<mcp::Answers>| answers.map_or("-".to_owned(), |a| a.to_string());
    Ok(format!("{} {}", name(first), name(second)))
}

async fn connect(state: &Shared, revision: Revision, limits: Limits) -> Client {
    let capabilities = json!({"elicitation": {}, "extensions": {EXTENSION: {}}});
    let answering = Answering::new(capabilities, |_, params| {
        // A question of a task says so.
        let task = params.pointer("/_meta/io.modelcontextprotocol~1related-task/taskId").is_some();
        let name = if task { "in the task" } else { "before" };
        Ok(json!({"action": "accept", "content": {"name": name}}))
    });
    Client::in_memory(server(state, limits), revision, answering).await.expect("connect")
}

async fn modern(state: &Shared) -> Client {
    connect(state, Revision::V2026_07_28, Limits::default()).await
}

async fn legacy(state: &Shared) -> Client {
    connect(state, Revision::V2025_11_25, Limits::default()).await
}

async fn call(client: &Client, name: &str) -> Value {
    client.request("tools/call", json!({"name": name, "arguments": {}})).await.expect(name)
}

async fn call_as_task(client: &Client, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}, "task": {"ttl": 60_000}});
    client.request("tools/call", params).await.expect(name)["task"].clone()
}

async fn about(client: &Client, method: &str, task: &Value) -> Result<Value, ClientError> {
    client.request(method, json!({"taskId": task["taskId"]})).await
}

/// Asks until the task has this status; it gets there without waiting for a clock.
async fn until(client: &Client, task: &Value, status: &str) -> Value {
    for _ in 0..1_000 {
        let now = about(client, "tasks/get", task).await.expect("tasks/get");
        if now["status"] == status {
            return now;
        }
        tokio::task::yield_now().await;
    }
    panic!("never {status}")
}

fn code(answer: Result<Value, ClientError>) -> i64 {
    match answer {
        Err(ClientError::Rpc { code, .. }) => code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_that_waits_becomes_a_task() {
    let state = State::new();
    let client = modern(&state).await;
    assert!(client.greeting()["capabilities"]["extensions"][EXTENSION].is_object());
    let task = call(&client, "work").await;
    assert_eq!(task["resultType"], "task");
    for member in ["taskId", "createdAt", "lastUpdatedAt"] {
        assert!(task[member].is_string(), "{member}");
    }
    assert!(task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64());
    state.on_start.notified().await;
    let working = about(&client, "tasks/get", &task).await.expect("get");
    assert_eq!(
        (&working["status"], &working["resultType"]),
        (&json!("working"), &json!("complete"))
    );
    assert_eq!(working["statusMessage"], "half-way");
    assert!(working.get("result").is_none());
    state.go_on.add_permits(1);
    let done = until(&client, &task, "completed").await;
    assert_eq!(done["result"]["structuredContent"], 7);
    assert!(done["result"].get("taskId").is_none());
}

#[tokio::test]
async fn a_call_that_is_done_is_a_task_only_where_it_must_be() {
    let state = State::new();
    let client = modern(&state).await;
    let task = call(&client, "only").await;
    assert_eq!(task["resultType"], "task");
    assert_eq!(until(&client, &task, "completed").await["result"]["structuredContent"], 7);
    assert_eq!(call(&client, "never").await["resultType"], "complete");
}

#[tokio::test]
async fn failures_of_tools_and_of_requests_are_told_apart() {
    let client = modern(&State::new()).await;
    let task = call(&client, "fails").await;
    assert_eq!(until(&client, &task, "completed").await["result"]["isError"], true);
    let task = call(&client, "breaks").await;
    let failed = until(&client, &task, "failed").await;
    assert_eq!(failed["error"], json!({"code": -32603, "message": "Internal error"}));
    assert!(failed.get("result").is_none());

    let client = legacy(&State::new()).await;
    let task = call_as_task(&client, "fails").await;
    until(&client, &task, "failed").await;
    assert_eq!(about(&client, "tasks/result", &task).await.expect("result")["isError"], true);
    let task = call_as_task(&client, "breaks").await;
    assert_eq!(code(about(&client, "tasks/result", &task).await), -32603);
}

#[tokio::test]
async fn a_cancelled_task_stops_and_stays_cancelled() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let state = State::new();
        let client = connect(&state, revision, Limits::default()).await;
        let is_modern = revision.is_stateless();
        let task = if is_modern {
            call(&client, "work").await
        } else {
            call_as_task(&client, "work").await
        };
        state.on_start.notified().await;
        let cancelled = about(&client, "tasks/cancel", &task).await.expect("cancel");
        assert_eq!(cancelled.get("status"), (!is_modern).then_some(&json!("cancelled")));
        state.on_drop.notified().await;
        assert_eq!(state.dropped.load(Ordering::SeqCst), 1);
        state.go_on.add_permits(1);
        until(&client, &task, "cancelled").await;
        let again = about(&client, "tasks/cancel", &task).await;
        if is_modern {
            assert_eq!(again.expect("cancel")["resultType"], "complete");
        } else {
            assert_eq!(code(again), -32602);
        }
    }
}

#[tokio::test]
async fn questions_before_the_work_come_first_and_later_ones_wait_in_the_task() {
    let client = modern(&State::new()).await;
    // The client answers the first question on the way, without a task.
    let task = call(&client, "asks").await;
    let waiting = until(&client, &task, "input_required").await;
    let requests = waiting["inputRequests"].as_object().expect("requests");
    let (key, request) = requests.iter().next().expect("one");
    assert_eq!((requests.len(), &request["method"]), (1, &json!("elicitation/create")));
    let answer = json!({"action": "accept", "content": {"name": "late"}});
    for responses in [json!({"nobody": answer}), json!({key: answer})] {
        let params = json!({"taskId": task["taskId"], "inputResponses": responses});
        let updated = client.request("tasks/update", params).await.expect("update");
        assert_eq!(updated["resultType"], "complete");
    }
    let done = until(&client, &task, "completed").await;
    let text = r#"{"name":"before"} {"name":"late"}"#;
    assert_eq!(done["result"]["structuredContent"], text);

    let client = legacy(&State::new()).await;
    let task = call_as_task(&client, "asks").await;
    let result = about(&client, "tasks/result", &task).await.expect("result");
    let text = r#"{"name":"in the task"} {"name":"in the task"}"#;
    assert_eq!(result["structuredContent"]["result"], text);
}

#[tokio::test]
async fn who_asks_for_a_task_in_2025_gets_one_at_once() {
    let state = State::new();
    let client = legacy(&state).await;
    let declared = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    assert_eq!(client.greeting()["capabilities"]["tasks"], declared);
    let tools = client.list("tools/list", "tools").await.expect("tools");
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("tool");
        tool.pointer("/execution/taskSupport").cloned()
    };
    assert_eq!(support("work"), Some(json!("optional")));
    assert_eq!(support("only"), Some(json!("required")));
    assert_eq!(support("never"), None);

    let task = call_as_task(&client, "work").await;
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)));
    let listed = client.request("tasks/list", json!({})).await.expect("list");
    assert_eq!(listed["tasks"][0]["taskId"], task["taskId"]);
    let result = client.start("tasks/result", json!({"taskId": task["taskId"]}));
    until(&client, &task, "working").await;
    state.go_on.add_permits(1);
    let result = result.answer().await.expect("result");
    assert_eq!(result["structuredContent"]["result"], 7);
    let related = &result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
    assert_eq!(related, &task["taskId"]);
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let with = |name: &str| json!({"name": name, "arguments": {}, "task": {}});
    let without = |name: &str| json!({"name": name, "arguments": {}});
    let unknown = json!({"taskId": "nobody's"});
    let no_tasks = Answering::nothing;
    for (revision, method, params, right) in [
        (Revision::V2025_11_25, "tools/call", with("never"), -32601),
        (Revision::V2025_11_25, "tools/call", without("only"), -32601),
        (Revision::V2025_11_25, "tasks/get", unknown.clone(), -32602),
        (Revision::V2025_11_25, "tasks/cancel", unknown.clone(), -32602),
        (Revision::V2025_11_25, "tasks/update", unknown.clone(), -32601),
        (Revision::V2025_06_18, "tasks/get", unknown.clone(), -32601),
        (Revision::V2026_07_28, "tools/call", without("only"), -32021),
        (Revision::V2026_07_28, "tasks/get", unknown.clone(), -32021),
        (Revision::V2026_07_28, "tasks/result", unknown.clone(), -32601),
        (Revision::V2026_07_28, "tasks/list", json!({}), -32601),
    ] {
        let server = server(&State::new(), Limits::default());
        let client = Client::in_memory(server, revision, no_tasks()).await.expect("connect");
        assert_eq!(code(client.request(method, params).await), right, "{revision} {method}");
    }
    let client = modern(&State::new()).await;
    assert_eq!(code(client.request("tasks/get", unknown).await), -32602);
}

#[tokio::test]
async fn clients_without_tasks_wait_for_the_answer() {
    for revision in Revision::ALL {
        let state = State::new();
        let server = server(&state, Limits::default());
        let client = Client::in_memory(server, revision, Answering::nothing()).await;
        state.go_on.add_permits(1);
        let answer = client.expect("connect").call_tool("work", json!({})).await.expect("call");
        assert_eq!(answer.text(), "7", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_are_limited_in_number_and_time() {
    let limits = Limits { max_tasks: 1, task_ttl: Duration::from_millis(500), ..Limits::default() };
    let state = State::new();
    let client = connect(&state, Revision::V2026_07_28, limits).await;
    let first = call(&client, "work").await;
    let only = json!({"name": "only", "arguments": {}});
    assert_eq!(code(client.request("tools/call", only).await), -32603);
    // One that need not be a task is none then: the client waits.
    let other = client.start("tools/call", json!({"name": "work", "arguments": {}}));
    other.cancel();
    state.on_drop.notified().await;
    // Its time runs out by the clock of tokio, which has nothing else to do.
    state.on_drop.notified().await;
    let late = until(&client, &first, "completed").await;
    assert_eq!(late["result"]["isError"], true);
    let second = call(&client, "work").await;
    assert_eq!(second["resultType"], "task");
    assert_eq!(code(about(&client, "tasks/get", &first).await), -32602);
}

/// A listen stream says each change of the tasks it was asked for and may see.
#[tokio::test]
async fn a_listen_stream_hears_of_its_tasks() {
    let state = State::new();
    let mut peer = crate::raw::raw_with(server(&state, Limits::default()));
    let declared = |id: i64, method: &str, params: Value| {
        crate::raw::modern_with(json!({"extensions": {EXTENSION: {}}}), json!(id), method, params)
    };
    let call = json!({"name": "work", "arguments": {}});
    let task = peer.ask(&declared(1, "tools/call", call)).await["result"].clone();
    state.on_start.notified().await;
    let filter = json!({"notifications": {"taskIds": [task["taskId"], "no such task"]}});
    let refused = crate::raw::modern(json!(2), "subscriptions/listen", filter.clone());
    assert_eq!(peer.ask(&refused).await["error"]["code"], -32021);
    let acknowledged = peer.ask(&declared(3, "subscriptions/listen", filter)).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [task["taskId"]]}));
    state.go_on.add_permits(1);
    let told = peer.receive().await;
    assert_eq!(told["method"], "notifications/tasks");
    let params = &told["params"];
    assert_eq!(params["taskId"], task["taskId"]);
    assert_eq!(params["status"], "completed");
    assert_eq!(params["result"]["structuredContent"], 7);
    assert_eq!(params["_meta"], json!({"io.modelcontextprotocol/subscriptionId": 3}));
}

/// What a task says after its request was answered names the task (2025-11-25).
#[tokio::test]
async fn progress_of_a_task_names_the_task() {
    let state = State::new();
    let mut peer = crate::raw::raw_with(server(&state, Limits::default()));
    peer.initialize(Revision::V2025_11_25).await;
    let params = json!({
        "name": "work", "arguments": {}, "task": {}, "_meta": {"progressToken": "p"},
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let task = peer.ask(&call.to_string()).await["result"]["task"].clone();
    let progress = peer.receive().await;
    assert_eq!(progress["params"]["progressToken"], "p");
    let related = &progress["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task["taskId"]);
}
