//! A server with one of everything that is hard to get right.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::client::{Answering, Client};
use mcp::{
    ADDITIVE, Annotations, CacheHint, Completing, Content, Context, Error, Level, PromptMessage,
    PromptResult, READ_ONLY, Reply, Resource, ResourceContents, ResourceOptions, ResourceResult,
    Revision, Role, Server, ToolError, ToolResult, WithText,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, RwLock, Semaphore};

/// What a test can look at and set off.
pub(crate) struct State {
    /// Calls of `wait` that were dropped before they were done.
    pub(crate) dropped: AtomicUsize,
    /// Woken whenever such a drop happens.
    pub(crate) on_drop: Notify,
    /// Woken when a call of `wait` has begun.
    pub(crate) on_start: Notify,
    /// Lets calls of `wait` finish, one each.
    pub(crate) go_on: Semaphore,
    /// Blocking work of `crowd` that has begun, and how much of it runs at this moment.
    pub(crate) begun: AtomicUsize,
    pub(crate) running: AtomicUsize,
    /// Keeps the blocking work of `crowd` from ending while somebody writes.
    pub(crate) gate: RwLock<()>,
}

impl State {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            dropped: AtomicUsize::new(0),
            on_drop: Notify::new(),
            on_start: Notify::new(),
            go_on: Semaphore::new(0),
            begun: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            gate: RwLock::new(()),
        })
    }
}

type Shared = Arc<State>;

pub(crate) async fn connect(state: &Shared, revision: Revision) -> Client {
    Client::in_memory(server(Arc::clone(state)), revision, Answering::nothing())
        .await
        .expect("connect")
}

pub(crate) fn server(state: Shared) -> Server<Shared> {
    Server::new("fixture", "1.2.3", state)
        .title("Fixture")
        .instructions("Test with it.")
        .page_size(3)
        .list_cache(CacheHint { ttl_ms: 5000, public: true })
        .tool("contents", READ_ONLY.title("All contents"), contents)
        .tool("number", READ_ONLY, number)
        .tool("with_text", READ_ONLY, with_text)
        .tool("strict", READ_ONLY, strict)
        .tool("shape", READ_ONLY, shape)
        .tool("tree", READ_ONLY, tree)
        .tool("wait", ADDITIVE, wait)
        .tool("panic", READ_ONLY, panic_now)
        .tool("panic_later", READ_ONLY, panic_later)
        .tool("fail", READ_ONLY, fail)
        .tool("log", READ_ONLY, log)
        .tool("progress", READ_ONLY, progress)
        .tool("blocking", READ_ONLY, blocking)
        .tool("crowd", READ_ONLY, crowd)
        .tool("touch", ADDITIVE, touch)
        .tool("show_secret", ADDITIVE, show_secret)
        .tool("secret", READ_ONLY, number)
        .hide_tool("secret")
        .resource("fixture://watched", ResourceOptions::new("watched"), watched)
        .resource("fixture://panic", ResourceOptions::new("panic"), panicking)
        .resource("fixture://empty", ResourceOptions::new("empty"), empty)
        .resource_template("fixture://item/{id}", ResourceOptions::new("item"), item)
        .resource_template("fixture://files/{+path}", ResourceOptions::new("file"), file)
        .resource_list(list_files)
        .complete_template("fixture://item/{id}", "id", complete_id)
        .prompt("greet", greet)
        .prompt("hidden", greet)
        .hide_prompt("hidden")
        .complete_prompt("greet", "name", complete_name)
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn contents(_: Context<Shared>, _: Nothing) -> ToolResult<Reply> {
    let notes = Annotations {
        audience: vec![Role::User],
        priority: Some(0.5),
        last_modified: Some("2026-01-01T00:00:00Z".to_owned()),
    };
    let link = Resource {
        uri: "fixture://item/7".to_owned(),
        name: "seven".to_owned(),
        title: Some("Seven".to_owned()),
        ..Resource::default()
    };
    Ok(Reply::from(vec![
        Content::text("hello").annotated(notes),
        Content::image(b"\x89PNG", "image/png"),
        Content::audio(b"RIFF", "audio/wav"),
        Content::resource(ResourceContents::text("fixture://item/1", "text/plain", "one")),
        Content::ResourceLink(link),
    ]))
}

async fn number(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    Ok(42)
}

/// A point.
#[derive(Serialize, JsonSchema)]
struct Point {
    x: i64,
}

async fn with_text(_: Context<Shared>, _: Nothing) -> ToolResult<WithText<Point>> {
    Ok(WithText { data: Point { x: 1 }, text: "x is one".to_owned() })
}

/// Takes a shape
/// and nothing else.
///
/// Never writes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    /// How many.
    count: u32,
    /// Where.
    #[serde(default)]
    corner: Option<Corner>,
}

/// A corner.
#[derive(Deserialize, JsonSchema)]
struct Corner {
    /// From the left.
    x: i64,
}

async fn strict(_: Context<Shared>, input: Strict) -> ToolResult<Point> {
    let corner = input.corner.map_or(0, |corner| corner.x);
    Ok(Point { x: corner + i64::from(input.count) })
}

/// A shape.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Circle { r: f64 },
}

async fn shape(_: Context<Shared>, _: Nothing) -> ToolResult<Shape> {
    Ok(Shape::Circle { r: 1.0 })
}

/// An expression.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "op")]
enum Expression {
    Number { v: f64 },
    Negative { of: Box<Expression> },
    Absolute { of: Box<Expression> },
}

/// Takes an expression.
#[derive(Deserialize, JsonSchema)]
struct Tree {
    #[schemars(range(min = 0))]
    depth: i64,
    expression: Expression,
}

async fn tree(_: Context<Shared>, input: Tree) -> ToolResult<Expression> {
    assert!(input.depth >= 0);
    Ok(input.expression)
}

pub(crate) struct Dropped(pub(crate) Shared);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
        self.0.on_drop.notify_one();
    }
}

async fn wait(cx: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    let guard = Dropped(Arc::clone(&cx.state));
    cx.state.on_start.notify_one();
    cx.state.go_on.acquire().await.map_err(|_| ToolError::new("closed"))?.forget();
    std::mem::forget(guard);
    Ok(1)
}

async fn panic_now(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    panic!("on purpose")
}

async fn panic_later(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    tokio::task::yield_now().await;
    panic!("on purpose")
}

async fn fail(_: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    Err(ToolError::new("It is broken. Try another.").caused_by("the secret cause"))
}

async fn log(cx: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    cx.log(Level::Debug, "quiet");
    cx.log(Level::Info, serde_json::json!({"about": "info"}));
    cx.log(Level::Error, "loud");
    Ok(0)
}

async fn progress(cx: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    for done in [0, 5, 5, 3, 10] {
        cx.progress(done, Some(10), "working");
    }
    // What outlives the call must stay silent.
    let late = cx.clone();
    tokio::spawn(async move {
        tokio::task::yield_now().await;
        late.progress(11, None, "too late");
        late.log(Level::Emergency, "too late");
    });
    Ok(0)
}

async fn blocking(cx: Context<Shared>, _: Nothing) -> ToolResult<bool> {
    let here = std::thread::current().id();
    Ok(cx.blocking(move || std::thread::current().id() != here).await)
}

async fn crowd(cx: Context<Shared>, _: Nothing) -> ToolResult<usize> {
    let state = Arc::clone(&cx.state);
    let work = move || {
        state.begun.fetch_add(1, Ordering::SeqCst);
        let at_once = state.running.fetch_add(1, Ordering::SeqCst) + 1;
        state.on_start.notify_one();
        drop(state.gate.blocking_read());
        state.running.fetch_sub(1, Ordering::SeqCst);
        at_once
    };
    Ok(cx.blocking(work).await)
}

async fn touch(cx: Context<Shared>, _: Nothing) -> ToolResult<u64> {
    cx.changes().resource_updated("fixture://watched");
    cx.changes().resource_updated("fixture://item/unwatched");
    cx.changes().resource_list_changed();
    Ok(0)
}

/// Shows or hides the secret tool and prompt.
#[derive(Deserialize, JsonSchema)]
struct ShowSecret {
    visible: bool,
}

async fn show_secret(cx: Context<Shared>, input: ShowSecret) -> ToolResult<u64> {
    assert!(cx.show_tool("secret", input.visible) && cx.show_prompt("hidden", input.visible));
    assert!(!cx.show_tool("none", true) && !cx.show_prompt("none", true));
    Ok(0)
}

async fn watched(cx: Context<Shared>) -> ResourceResult<ResourceContents> {
    Ok(ResourceContents::blob(cx.subject(), "application/octet-stream", b"\0\xff"))
}

async fn panicking(_: Context<Shared>) -> ResourceResult<ResourceContents> {
    panic!("on purpose")
}

async fn empty(_: Context<Shared>) -> ResourceResult<Vec<ResourceContents>> {
    Ok(Vec::new())
}

/// One numbered item.
#[derive(Deserialize, JsonSchema)]
struct Item {
    /// Its number.
    id: u8,
}

async fn item(cx: Context<Shared>, input: Item) -> ResourceResult<ResourceContents> {
    ResourceContents::json(cx.subject(), &input.id)
}

/// One file.
#[derive(Deserialize, JsonSchema)]
struct File {
    /// Its path.
    path: String,
}

async fn file(cx: Context<Shared>, input: File) -> ResourceResult<Vec<ResourceContents>> {
    if input.path == "broken" {
        return Err(Error::internal("/secret/path is unreadable"));
    }
    Ok(vec![ResourceContents::text(cx.subject(), "text/plain", input.path)])
}

async fn list_files(_: Context<Shared>) -> ResourceResult<Vec<Resource>> {
    let file = |name: &str| Resource {
        uri: format!("fixture://files/{name}"),
        name: name.to_owned(),
        ..Resource::default()
    };
    Ok(vec![file("a"), file("b")])
}

async fn complete_id(_: Context<Shared>, typed: Completing) -> Result<Vec<String>, Error> {
    Ok(typed.filter((0..=255).map(|id: u16| id.to_string())))
}

/// Greets somebody.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Greet {
    /// Whom.
    name: String,
    /// How often.
    times: Option<u8>,
}

async fn greet(_: Context<Shared>, input: Greet) -> PromptResult {
    let text = vec![format!("Hello {}", input.name); input.times.unwrap_or(1).into()].join("\n");
    Ok(vec![
        PromptMessage::user(Content::text(text)),
        PromptMessage::assistant(Content::audio(b"RIFF", "audio/wav")),
    ])
}

async fn complete_name(_: Context<Shared>, typed: Completing) -> Result<Vec<String>, Error> {
    let times = typed.arguments.get("times").cloned().unwrap_or_default();
    Ok(vec![format!("{}{times}", typed.value)])
}
