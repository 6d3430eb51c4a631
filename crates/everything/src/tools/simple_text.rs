//! The smallest tool: no arguments, one text back.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Say one sentence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimpleText {}

pub(crate) async fn simple_text(_: Context<Backend>, _: SimpleText) -> ToolResult<Reply> {
    Ok(Reply::text("This is a simple text response for testing."))
}
