//! Several questions: side by side in one round, and one after the other.

use mcp::{Context, Field, Form, Reply, SampleRequest, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Ask whether all is well.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confirm {}

pub(crate) async fn confirm(cx: Context<Backend>, _: Confirm) -> ToolResult<Reply> {
    let form = Form::new("Please confirm").field("ok", Field::boolean());
    cx.elicit("confirm", form).await?;
    // What the client sent back has been opened, or this would never be reached.
    Ok(Reply::text("state-ok: the answer belongs to the question"))
}

/// Ask the person, the model and for the roots at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultipleInputs {}

pub(crate) async fn multiple_inputs(cx: Context<Backend>, _: MultipleInputs) -> ToolResult<Reply> {
    let form = Form::new("What is your name?").field("name", Field::text());
    let greeting = SampleRequest::new(50).user("Generate a greeting");
    let (name, greeting, roots) = tokio::join!(
        cx.elicit("user_name", form),
        cx.sample("greeting", greeting),
        cx.roots("client_roots"),
    );
    let name = name?.accepted().and_then(|answers| answers.get("name").cloned());
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("nobody").to_owned();
    Ok(Reply::text(format!("{name}: {} ({} roots)", greeting?.text(), roots?.len())))
}

/// Ask for a name, then for a color.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultiRound {}

pub(crate) async fn multi_round(cx: Context<Backend>, _: MultiRound) -> ToolResult<Reply> {
    let name = ask(&cx, "step1", "Step 1: What is your name?", "name").await?;
    let color = ask(&cx, "step2", "Step 2: What is your favorite color?", "color").await?;
    Ok(Reply::text(format!("{name} likes {color}.")))
}

async fn ask(cx: &Context<Backend>, key: &str, question: &str, field: &str) -> ToolResult<String> {
    let form = Form::new(question).field(field, Field::text());
    let answers = cx.elicit(key, form).await?.accepted();
    let answer = answers.and_then(|answers| answers.get(field)?.as_str().map(str::to_owned));
    Ok(answer.unwrap_or_else(|| "somebody".to_owned()))
}
