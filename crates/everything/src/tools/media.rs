//! Pictures and sounds. Revisions that know no sounds get a text instead.

use mcp::{Content, Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, PNG, WAV};

/// Show a red pixel.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Image {}

pub(crate) async fn image(_: Context<Backend>, _: Image) -> ToolResult<Reply> {
    Ok(Reply::default().with(Content::image(PNG, "image/png")))
}

/// Play a moment of silence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Audio {}

pub(crate) async fn audio(_: Context<Backend>, _: Audio) -> ToolResult<Reply> {
    Ok(Reply::default().with(Content::audio(WAV, "audio/wav")))
}
