//! What a person can pick from a menu to begin a conversation.

use mcp::{Content, Context, PromptMessage, PromptResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Ask for a sum to be explained step by step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExplainSum {
    /// First number.
    a: f64,
    /// Second number.
    b: f64,
}

pub(crate) async fn explain_sum(_: Context<Backend>, input: ExplainSum) -> PromptResult {
    let question = format!(
        "Calculate {} + {} with the tool `calculate_sum`, then explain the sum step by step as to a child.",
        input.a, input.b
    );
    Ok(vec![PromptMessage::user(Content::text(question))])
}
