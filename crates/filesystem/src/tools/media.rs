//! Reading what is not text.

use mcp::{Content, Context, Reply, Resource, ResourceContents, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend;
use crate::backend::{Backend, Media, Whole};

/// What is longer is not worth its place in a conversation.
const MAX_INLINE_BYTES: u64 = 4 * 1024 * 1024;

/// Read an image, a sound or any other file; over 4 MiB, a link to it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadMediaFile {
    path: String,
}

pub(crate) async fn read_media_file(
    cx: Context<Backend>,
    input: ReadMediaFile,
) -> ToolResult<Reply> {
    let backend = backend(&cx).await?;
    let name = input.path.clone();
    let (whole, uri) = cx
        .blocking(move || {
            let whole = backend.read_whole(&input.path, MAX_INLINE_BYTES)?;
            Ok::<_, crate::backend::Error>((whole, backend.uri(&input.path)))
        })
        .await?;
    let uri = uri.unwrap_or_default();
    Ok(match whole {
        Whole::Read(media) => Reply::from(vec![inlined(&media, uri)])
            .with(Content::text(format!("[etag {}; {}]", media.etag, media.mime_type))),
        Whole::TooLong { size_bytes, mime_type } => {
            Reply::from(vec![Content::ResourceLink(Resource {
                uri,
                name,
                mime_type: Some(mime_type.to_owned()),
                size: Some(size_bytes),
                ..Resource::default()
            })])
        }
    })
}

fn inlined(media: &Media, uri: String) -> Content {
    let Media { bytes, mime_type, .. } = media;
    match mime_type.split('/').next() {
        Some("image") => Content::image(bytes, mime_type),
        Some("audio") => Content::audio(bytes, mime_type),
        _ => Content::resource(ResourceContents::blob(uri, mime_type, bytes)),
    }
}
