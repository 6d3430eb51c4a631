//! Progress of long work. Nothing is sent to a client that did not ask for it.

use std::time::Duration;

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Work for a tenth of a second and tell how far it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {}

pub(crate) async fn progress(cx: Context<Backend>, _: Progress) -> ToolResult<Reply> {
    for done in [0, 50, 100] {
        cx.progress(done, Some(100), &format!("{done} of 100"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(Reply::text("The work is done."))
}
