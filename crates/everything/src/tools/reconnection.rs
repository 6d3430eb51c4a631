//! Letting the client's connection go while the work goes on (2025-11-25 over HTTP): the client
//! comes back for the answer by itself.

use std::time::Duration;

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Answer on another connection than the one that asked.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reconnection {}

pub(crate) async fn reconnection(cx: Context<Backend>, _: Reconnection) -> ToolResult<Reply> {
    cx.release_connection();
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(Reply::text("Reconnection test completed successfully."))
}
