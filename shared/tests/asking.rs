//! A server whose handlers ask, and clients that answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::client::{Answering, Client};
use mcp::{
    Context, Elicited, Field, Form, OpenUrl, READ_ONLY, Revision, SampleContent, SampleRequest,
    SampleTool, Server, TextFormat, ToolChoice, ToolResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
pub(crate) const OTHER_KEY: &str = "HxwdGhsYGRYXFBUSExAREA8ODQwLCgkIBwYFBAMCAQA=";

/// How often the effect of `charge` happened.
pub(crate) type Effects = Arc<AtomicUsize>;

pub(crate) fn server(effects: &Effects, keys: &str) -> Server<Effects> {
    Server::new("asks", "0", Arc::clone(effects))
        .tool("name", READ_ONLY, name)
        .tool("all_fields", READ_ONLY, all_fields)
        .tool("open", READ_ONLY, open)
        .tool("three", READ_ONLY, three)
        .tool("rounds", READ_ONLY, rounds)
        .tool("charge", READ_ONLY, charge)
        .tool("twice", READ_ONLY, twice)
        .tool("beside", READ_ONLY, beside)
        .tool("within", READ_ONLY, within)
        .tool("busy", READ_ONLY, busy)
        .tool("count_roots", READ_ONLY, count_roots)
        .tool("tools", READ_ONLY, tools)
        .prompt("name_prompt", name_prompt)
        .resource("asks://name", mcp::ResourceOptions::new("name"), name_resource)
        .state_keys(keys)
        .expect("keys")
}

/// Takes a number.
#[derive(Deserialize, JsonSchema)]
struct Input {
    #[serde(default)]
    n: u32,
}

async fn name(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let form = Form::new("What is your name?").field("name", Field::text().minimum(1));
    Ok(match cx.elicit("name", form).await? {
        Elicited::Accepted(answers) => {
            format!("Hello {}", answers.get("name").and_then(Value::as_str).unwrap_or_default())
        }
        Elicited::Declined => "declined".to_owned(),
        Elicited::Cancelled => "cancelled".to_owned(),
    })
}

async fn all_fields(cx: Context<Effects>, _: Input) -> ToolResult<Value> {
    let form = Form::new("Everything")
        .field("mail", Field::formatted(TextFormat::Email).title("Mail").default("a@b.c"))
        .field("age", Field::integer().minimum(1).maximum(150).default(30))
        .field("score", Field::number().default(95.5))
        .field("agree", Field::boolean().default(true))
        .field("color", Field::choice(["red", "green"]).default("red"))
        .field("size", Field::titled_choice([("s", "Small"), ("l", "Large")]))
        .field("old", Field::named_choice([("a", "A"), ("b", "B")]))
        .optional("day", Field::formatted(TextFormat::Date));
    let form = if cx.revision() >= Revision::V2025_11_25 {
        form.field("many", Field::titled_choices([("x", "X"), ("y", "Y")]).minimum(1))
    } else {
        form
    };
    let answers = cx.elicit("all", form).await?.accepted().expect("accepted");
    Ok(answers.parse()?)
}

async fn open(cx: Context<Effects>, _: Input) -> ToolResult<bool> {
    let page = OpenUrl::new("Sign in there", "https://example.com/sign-in");
    Ok(cx.elicit("page", page).await?.accepted().is_some())
}

async fn three(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let (answers, sampled, roots) = tokio::join!(
        cx.elicit("user", Form::new("Who?").field("name", Field::text())),
        cx.sample("capital", SampleRequest::new(100).user("Capital of France?").temperature(0.5)),
        cx.roots("roots"),
    );
    let name =
        answers?.accepted().and_then(|answers| answers.get("name").cloned()).unwrap_or_default();
    Ok(format!("{name} {} {}", sampled?.text(), roots?.len()))
}

async fn rounds(cx: Context<Effects>, input: Input) -> ToolResult<u64> {
    let mut sum = 0;
    for round in 0..input.n {
        let form = Form::new(format!("Number {round}?")).field("n", Field::integer());
        let answers = cx.elicit(&format!("turn-{round}"), form).await?.accepted();
        sum += answers
            .and_then(|answers| answers.get("n").and_then(Value::as_u64))
            .unwrap_or_default();
    }
    Ok(sum)
}

async fn charge(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let effects = Arc::clone(&cx.state);
    let happen = || async { ToolResult::Ok(effects.fetch_add(1, Ordering::SeqCst)) };
    let first = cx.once("first", happen()).await?;
    let sure = Form::new("Sure?").field("yes", Field::boolean());
    cx.elicit("sure", sure.clone()).await?;
    let second = cx.once("second", happen()).await?;
    cx.elicit("really", sure).await?;
    Ok(format!("{first} {second}"))
}

async fn twice(cx: Context<Effects>, _: Input) -> ToolResult<u64> {
    cx.elicit("same", Form::new("Once")).await?;
    cx.elicit("same", Form::new("Again")).await?;
    Ok(0)
}

/// A step that is half-way, once before the question beside it is asked and once after.
async fn beside(cx: Context<Effects>, input: Input) -> ToolResult<String> {
    let slow = async {
        let before = cx.state.fetch_add(1, Ordering::SeqCst);
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        ToolResult::Ok(before)
    };
    let step = async {
        for _ in 0..input.n {
            tokio::task::yield_now().await;
        }
        cx.once("slow", slow).await
    };
    let form = Form::new("Sure?").field("yes", Field::boolean());
    let (before, sure) = tokio::join!(step, cx.elicit("sure", form));
    Ok(format!("{} {}", before?, sure?.accepted().is_some()))
}

/// Work on a thread beside a question; it counts when it has been told to stop.
async fn busy(cx: Context<Effects>, _: Input) -> ToolResult<bool> {
    let (begin, begun) = tokio::sync::oneshot::channel();
    let work = {
        let cx = cx.clone();
        move || {
            let _ = begin.send(());
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
            cx.state.fetch_add(1, Ordering::SeqCst)
        }
    };
    let question = async {
        let _ = begun.await;
        cx.elicit("sure", Form::new("Sure?")).await
    };
    let (_, sure) = tokio::join!(cx.blocking(work), question);
    Ok(sure?.accepted().is_some())
}

async fn count_roots(cx: Context<Effects>, _: Input) -> ToolResult<usize> {
    Ok(cx.roots("roots").await?.len())
}

async fn within(cx: Context<Effects>, _: Input) -> ToolResult<u64> {
    let asks = async {
        cx.elicit("sure", Form::new("Sure?")).await?;
        ToolResult::Ok(1)
    };
    cx.once("asks", asks).await
}

async fn tools(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let tool = SampleTool {
        name: "weather".to_owned(),
        description: "Weather".to_owned(),
        input_schema: json!({"type": "object"}),
    };
    let request = SampleRequest::new(10).user("Weather?").tools(vec![tool], ToolChoice::Auto);
    let sampled = cx.sample("weather", request).await?;
    Ok(match sampled.content.first() {
        Some(SampleContent::ToolUse { name, .. }) => format!("uses {name}"),
        other => format!("{other:?}"),
    })
}

/// Greets.
#[derive(Deserialize, JsonSchema)]
struct Empty {}

async fn name_prompt(cx: Context<Effects>, _: Empty) -> mcp::PromptResult {
    let answers =
        cx.elicit("name", Form::new("Name?").field("name", Field::text())).await?.accepted();
    let name =
        answers.and_then(|answers| answers.get("name").map(Value::to_string)).unwrap_or_default();
    Ok(vec![mcp::PromptMessage::user(mcp::Content::text(name))])
}

async fn name_resource(cx: Context<Effects>) -> mcp::ResourceResult<mcp::ResourceContents> {
    let answers =
        cx.elicit("name", Form::new("Name?").field("name", Field::text())).await?.accepted();
    mcp::ResourceContents::json(cx.subject(), &answers.map(|answers| answers.get("name").cloned()))
}

pub(crate) fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": true}})
}

/// Opens a session of 2025-11-25 whose client can be asked everything.
pub(crate) fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": everything(),
        "clientInfo": {"name": "raw", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

pub(crate) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

pub(crate) async fn client(
    revision: Revision,
    capabilities: Value,
    answer: impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static,
) -> Client {
    let server = server(&Effects::default(), KEY);
    Client::in_memory(server, revision, Answering::new(capabilities, answer))
        .await
        .expect("connect")
}
