//! What there is: served directories, directories, single files.

use std::fmt::Write;

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ANSWER_BYTES, backend};
use crate::backend::{Backend, Details, Entry, FileInfo, Kind, List, Order};

/// List the served directories and which may be written. Paths are absolute or relative to one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAllowedDirectories {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Directories {
    directories: Vec<Directory>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Directory {
    path: String,
    writable: bool,
}

pub(crate) async fn served(
    cx: Context<Backend>,
    _: ListAllowedDirectories,
) -> ToolResult<Directories> {
    let served = backend(&cx).await?.served().into_iter();
    let directory = |served: crate::backend::Served| Directory {
        path: served.path,
        writable: served.is_writable,
    };
    Ok(Directories { directories: served.map(directory).collect() })
}

/// List a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ListDirectory {
    path: String,
    #[serde(default)]
    sort_by: SortBy,
    /// With bytes and Unix time of change.
    #[serde(default)]
    details: bool,
    /// To go on where an answer ended.
    #[serde(default)]
    skip: usize,
    #[serde(default = "default_entries")]
    #[schemars(range(min = 1, max = 20000))]
    max_entries: usize,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SortBy {
    #[default]
    Name,
    Size,
    Modified,
}

fn default_entries() -> usize {
    1000
}

pub(crate) async fn list_directory(
    cx: Context<Backend>,
    input: ListDirectory,
) -> ToolResult<Reply> {
    let request = List {
        path: input.path,
        order: match input.sort_by {
            SortBy::Name => Order::Name,
            SortBy::Size => Order::Size,
            SortBy::Modified => Order::Modified,
        },
        with_details: input.details,
        skip: input.skip,
        max_entries: input.max_entries,
    };
    let backend = backend(&cx).await?;
    let listing = cx.blocking(move || backend.list(&request)).await?;
    let mut text = String::new();
    let mut end = input.skip;
    for entry in &listing.entries {
        if text.len() > MAX_ANSWER_BYTES {
            break;
        }
        write_entry(entry, input.details, &mut text);
        end += 1;
    }
    if end < listing.total {
        let _infallible =
            writeln!(text, "[{} entries in all; go on with skip: {end}]", listing.total);
    } else if text.is_empty() {
        let _infallible = write!(text, "[{} entries in all]", listing.total);
    }
    Ok(Reply::text(text))
}

/// As list_directory with `details`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ListDirectoryWithSizes {
    path: String,
    #[serde(default)]
    sort_by: SortBy,
}

pub(crate) async fn list_with_sizes(
    cx: Context<Backend>,
    input: ListDirectoryWithSizes,
) -> ToolResult<Reply> {
    let ListDirectoryWithSizes { path, sort_by } = input;
    let max_entries = default_entries();
    list_directory(cx, ListDirectory { path, sort_by, details: true, skip: 0, max_entries }).await
}

fn write_entry(entry: &Entry, with_details: bool, text: &mut String) {
    let mark = match entry.kind {
        Kind::File => "FILE",
        Kind::Directory => "DIR",
        Kind::Link => "LINK",
        Kind::Other => "OTHER",
    };
    let _infallible = match entry.details.filter(|_| with_details) {
        None => writeln!(text, "[{mark}] {}", entry.name),
        Some(Details { size_bytes, modified_unix_secs }) => {
            writeln!(text, "[{mark}] {}\t{size_bytes}\t{modified_unix_secs}", entry.name)
        }
    };
}

/// Describe a file or directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetFileInfo {
    path: String,
}

pub(crate) async fn get_file_info(
    cx: Context<Backend>,
    input: GetFileInfo,
) -> ToolResult<FileInfo> {
    let backend = backend(&cx).await?;
    Ok(cx.blocking(move || backend.info(&input.path)).await?)
}
