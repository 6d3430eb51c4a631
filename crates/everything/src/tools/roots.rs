//! Asking which directories the client works in.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Tell which directories the client works in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRoots {}

pub(crate) async fn list_roots(cx: Context<Backend>, _: ListRoots) -> ToolResult<Reply> {
    let roots = cx.roots("client_roots").await?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(Reply::text(format!("{} roots: {}", uris.len(), uris.join(", "))))
}
