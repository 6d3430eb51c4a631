//! Writing whole files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp::{Context, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend;
use crate::backend::{self as files, Backend, Content};

/// Write a whole file. Mode, owner and byte order mark of an old one stay. For small changes use
/// edit_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WriteFile {
    path: String,
    #[serde(default)]
    content: Option<String>,
    /// Bytes instead of `content`.
    #[serde(default)]
    content_base64: Option<String>,
    /// Fail if the file exists.
    #[serde(default)]
    create_only: bool,
    /// Fail unless this is still its etag.
    #[serde(default)]
    if_match: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Written {
    // Of the file as it is now.
    etag: String,
    bytes: u64,
    // There was no such file before.
    created: bool,
}

pub(crate) async fn write_file(cx: Context<Backend>, input: WriteFile) -> ToolResult<Written> {
    let content = match (input.content, input.content_base64) {
        (Some(text), None) => Content::Text(text),
        (None, Some(base64)) => Content::Bytes(
            STANDARD
                .decode(base64)
                .map_err(|error| ToolError::new(format!("`contentBase64` is wrong: {error}")))?,
        ),
        _ => return Err(ToolError::new("Give `content` or `contentBase64`, one of them.")),
    };
    let request = files::WriteFile {
        path: input.path,
        content,
        create_only: input.create_only,
        if_match: input.if_match,
    };
    let backend = backend(&cx).await?;
    let written = cx.blocking(move || backend.write(&request)).await?;
    Ok(Written { etag: written.etag, bytes: written.bytes, created: written.is_new })
}
