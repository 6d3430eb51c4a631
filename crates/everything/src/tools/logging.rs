//! Log messages to the client, as loud as it wants them: by `logging/setLevel` before 2026-07-28, by
//! each request from then on.

use std::time::Duration;

use mcp::{Context, Level, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Tell what is going on while it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Logging {}

pub(crate) async fn logging(cx: Context<Backend>, _: Logging) -> ToolResult<Reply> {
    for event in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        cx.log(Level::Info, event);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(Reply::text("Everything has been logged."))
}
