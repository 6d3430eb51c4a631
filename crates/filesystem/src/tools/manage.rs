//! Directories, moving, copying and deleting.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend;
use crate::backend::{Backend, TwoPaths};

/// Make a directory and those it is in. One that exists stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDirectory {
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Created {
    // False if it existed.
    created: bool,
}

pub(crate) async fn create_directory(
    cx: Context<Backend>,
    input: CreateDirectory,
) -> ToolResult<Created> {
    let backend = backend(&cx).await?;
    let created = cx.blocking(move || backend.create_directory(&input.path)).await?;
    Ok(Created { created })
}

/// Move or rename a file, link or directory. Fails if the destination exists.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveFile {
    source: String,
    /// The new path itself.
    destination: String,
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    moved: bool,
}

pub(crate) async fn move_file(cx: Context<Backend>, input: MoveFile) -> ToolResult<Moved> {
    let MoveFile { source, destination, overwrite } = input;
    let request = TwoPaths { source, destination, overwrite };
    let backend = backend(&cx).await?;
    cx.blocking(move || backend.move_file(&request)).await?;
    Ok(Moved { moved: true })
}

/// Copy a file with its permissions. Fails if the destination exists.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyFile {
    source: String,
    destination: String,
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Copied {
    // Of the copy.
    etag: String,
    bytes: u64,
}

pub(crate) async fn copy_file(cx: Context<Backend>, input: CopyFile) -> ToolResult<Copied> {
    let CopyFile { source, destination, overwrite } = input;
    let request = TwoPaths { source, destination, overwrite };
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let copied = cx.blocking(move || backend.copy_file(&request, &observer)).await?;
    Ok(Copied { etag: copied.etag, bytes: copied.bytes })
}

/// Delete a file, a link (not its target) or a directory, for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    path: String,
    /// With all that is in it.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Deleted {
    // Files and directories that are gone.
    deleted: u64,
}

pub(crate) async fn delete(cx: Context<Backend>, input: Delete) -> ToolResult<Deleted> {
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let deleted =
        cx.blocking(move || backend.delete(&input.path, input.recursive, &observer)).await?;
    Ok(Deleted { deleted })
}
