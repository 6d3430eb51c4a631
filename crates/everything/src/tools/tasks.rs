//! Long work as a task: the client gets its name at once and asks for the result when it likes. The
//! handlers are written as any other; `tools.rs` says which may become tasks.

use std::time::Duration;

use mcp::{Context, Error, Field, Form, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Greet somebody, at once and never as a task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Greet {
    /// Whom.
    name: String,
}

pub(crate) async fn greet(_: Context<Backend>, input: Greet) -> ToolResult<Reply> {
    Ok(Reply::text(format!("Hello, {}!", input.name)))
}

/// Compute for some seconds.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowCompute {
    /// How many, up to an hour; none is done at once.
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// What the result is called.
    label: Option<String>,
}

pub(crate) async fn slow_compute(cx: Context<Backend>, input: SlowCompute) -> ToolResult<Reply> {
    if input.seconds > 0.0 {
        cx.progress(0, None, "computing");
        tokio::time::sleep(Duration::from_secs_f64(input.seconds)).await;
    }
    let label = input.label.as_deref().unwrap_or("the answer");
    Ok(Reply::text(format!("Computed {label} in {} s.", input.seconds)))
}

/// Work for a second, and fail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailingJob {}

pub(crate) async fn failing_job(_: Context<Backend>, _: FailingJob) -> ToolResult<Reply> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(ToolError::new("The job failed, as it always does."))
}

/// Work for a moment, and fail the request instead of the tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProtocolErrorJob {}

pub(crate) async fn protocol_error_job(
    _: Context<Backend>,
    _: ProtocolErrorJob,
) -> ToolResult<Reply> {
    a_moment().await;
    Err(ToolError::request(Error::internal("the job breaks the request, as it always does")))
}

/// Ask before a file is deleted; nothing is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmDelete {
    /// Which file.
    filename: Option<String>,
}

pub(crate) async fn confirm_delete(
    cx: Context<Backend>,
    input: ConfirmDelete,
) -> ToolResult<Reply> {
    // Whoever has to look first, asks when the task is under way.
    a_moment().await;
    let name = input.filename.as_deref().unwrap_or("the file");
    let form = Form::new(format!("Delete {name}?")).field("confirm", Field::boolean());
    let answers = cx.elicit("confirm", form).await?.accepted();
    let is_agreed = answers.and_then(|answers| answers.get("confirm")?.as_bool()) == Some(true);
    Ok(Reply::text(if is_agreed { format!("Deleted {name}.") } else { format!("Kept {name}.") }))
}

/// Ask two things at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultiInput {}

pub(crate) async fn multi_input(cx: Context<Backend>, _: MultiInput) -> ToolResult<Reply> {
    a_moment().await;
    let name = Form::new("What is your name?").field("name", Field::text());
    let color = Form::new("What is your favorite color?").field("color", Field::text());
    let (name, color) = tokio::join!(cx.elicit("name", name), cx.elicit("color", color));
    let given = |answers: Option<mcp::Answers>, field| {
        answers.and_then(|answers| answers.get(field)?.as_str().map(str::to_owned))
    };
    let name = given(name?.accepted(), "name").unwrap_or_default();
    let color = given(color?.accepted(), "color").unwrap_or_default();
    Ok(Reply::text(format!("{name} likes {color}.")))
}

/// Ask for a name, then work on it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskThenWork {}

pub(crate) async fn ask_then_work(cx: Context<Backend>, _: AskThenWork) -> ToolResult<Reply> {
    let form = Form::new("What is your name?").field("name", Field::text());
    let answers = cx.elicit("user_name", form).await?.accepted();
    let name = answers.and_then(|answers| answers.get("name")?.as_str().map(str::to_owned));
    a_moment().await;
    Ok(Reply::text(format!("Worked for {}.", name.as_deref().unwrap_or("nobody"))))
}

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}
