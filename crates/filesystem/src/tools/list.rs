//! What there is: served directories, directories, single files.

use std::fmt::Write;

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, FileInfo, Kind};

/// List the directories this server may use, and whether it may write there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAllowedDirectories {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Directories {
    directories: Vec<Directory>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Directory {
    path: String,
    writable: bool,
}

pub(crate) async fn served(
    cx: Context<Backend>,
    _: ListAllowedDirectories,
) -> ToolResult<Directories> {
    let served = cx.state.served().into_iter();
    let directory = |served: crate::backend::Served| Directory {
        path: served.path,
        writable: served.is_writable,
    };
    Ok(Directories { directories: served.map(directory).collect() })
}

/// List what is in a directory, sorted by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ListDirectory {
    /// Path of the directory, relative to a served directory, or absolute inside one.
    path: String,
    /// Leave out this many entries from the start, to see more of a long directory.
    #[serde(default)]
    skip: usize,
    /// Most entries to list.
    #[serde(default = "default_entries")]
    #[schemars(range(min = 1, max = 20000))]
    max_entries: usize,
}

fn default_entries() -> usize {
    1000
}

pub(crate) async fn list_directory(
    cx: Context<Backend>,
    input: ListDirectory,
) -> ToolResult<Reply> {
    let state = cx.state.clone();
    let skip = input.skip;
    let listing = cx.blocking(move || state.list(&input.path, skip, input.max_entries)).await?;
    let mut text = String::new();
    for entry in &listing.entries {
        let mark = match entry.kind {
            Kind::File => "FILE",
            Kind::Directory => "DIR",
            Kind::Link => "LINK",
            Kind::Other => "OTHER",
        };
        let _infallible = writeln!(text, "[{mark}] {}", entry.name);
    }
    let end = skip.saturating_add(listing.entries.len());
    if end < listing.total {
        let _infallible =
            writeln!(text, "[{} entries in all; go on with skip: {end}]", listing.total);
    }
    Ok(Reply::text(text))
}

/// Tell what a file or directory is, how large, how old and who may read it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetFileInfo {
    /// Path of the file, relative to a served directory, or absolute inside one.
    path: String,
}

pub(crate) async fn get_file_info(
    cx: Context<Backend>,
    input: GetFileInfo,
) -> ToolResult<FileInfo> {
    let state = cx.state.clone();
    Ok(cx.blocking(move || state.info(&input.path)).await?)
}
