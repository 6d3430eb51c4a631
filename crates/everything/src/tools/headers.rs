//! An argument that HTTP requests of 2026-07-28 repeat in a header, so that proxies can route by it.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Say a value that is also in the header `Mcp-Param-Value`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CustomHeader {
    /// What is said.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub(crate) async fn custom_header(_: Context<Backend>, input: CustomHeader) -> ToolResult<Reply> {
    Ok(Reply::text(input.value))
}
