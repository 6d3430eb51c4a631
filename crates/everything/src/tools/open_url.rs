//! Sending the person to a page in their browser, for what no form may ask: secrets.

use mcp::{Context, OpenUrl, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Ask the person to open a page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPage {}

pub(crate) async fn show_page(cx: Context<Backend>, _: ShowPage) -> ToolResult<Reply> {
    let page = OpenUrl::new("Please log in on this page.", "https://example.com/login");
    let agreed = cx.elicit("login", page).await?.accepted().is_some();
    Ok(Reply::text(if agreed { "The page was opened." } else { "The page was not opened." }))
}
