//! A tool that fails: the model reads why, the client sees a result with `isError`.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Fail on purpose.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorHandling {}

pub(crate) async fn error_handling(_: Context<Backend>, _: ErrorHandling) -> ToolResult<Reply> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}
