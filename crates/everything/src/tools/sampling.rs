//! Asking the client's model.

use mcp::{Context, Reply, SampleRequest, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Ask the client's model something.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// What the model is asked.
    prompt: String,
}

pub(crate) async fn sampling(cx: Context<Backend>, input: Sampling) -> ToolResult<Reply> {
    let said = cx.sample("prompt", SampleRequest::new(100).user(input.prompt)).await?;
    Ok(Reply::text(format!("LLM response: {}", said.text())))
}

/// Ask the client's model what the capital of France is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapitalQuestion {}

pub(crate) async fn capital_question(
    cx: Context<Backend>,
    _: CapitalQuestion,
) -> ToolResult<Reply> {
    let request = SampleRequest::new(100).user("What is the capital of France?");
    Ok(Reply::text(cx.sample("capital_question", request).await?.text()))
}
