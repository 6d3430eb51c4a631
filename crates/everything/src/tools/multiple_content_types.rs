//! Several blocks of different kinds in one answer.

use mcp::{Content, Context, Reply, ResourceContents, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, PNG};

/// Show a text, a picture and a resource at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultipleContentTypes {}

pub(crate) async fn multiple_content_types(
    _: Context<Backend>,
    _: MultipleContentTypes,
) -> ToolResult<Reply> {
    let json = r#"{"test":"data","value":123}"#;
    let resource =
        ResourceContents::text("test://mixed-content-resource", "application/json", json);
    Ok(Reply::text("Multiple content types test:")
        .with(Content::image(PNG, "image/png"))
        .with(Content::resource(resource)))
}
