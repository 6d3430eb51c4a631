//! A resource whose contents come along with the answer, and one the client may read later.

use mcp::{Content, Context, Reply, Resource, ResourceContents, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Show a resource with its contents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddedResource {}

pub(crate) async fn embedded_resource(
    _: Context<Backend>,
    _: EmbeddedResource,
) -> ToolResult<Reply> {
    let text = "This is an embedded resource content.";
    let contents = ResourceContents::text("test://embedded-resource", "text/plain", text);
    Ok(Reply::default().with(Content::resource(contents)))
}

/// Name a resource the client may read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceLink {}

pub(crate) async fn resource_link(_: Context<Backend>, _: ResourceLink) -> ToolResult<Reply> {
    Ok(Reply::text("The text is here:").with(Content::ResourceLink(Resource {
        uri: "test://static-text".to_owned(),
        name: "static-text".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        ..Resource::default()
    })))
}
