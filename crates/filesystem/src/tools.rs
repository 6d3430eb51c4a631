//! What the model can call. A tool is an input struct, an output and a function; the doc comments
//! are all the description there is. What can be long is sent as text, once.

use std::fmt::Write;

use mcp::{Content, Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Error, FileInfo, Kind, Lines};

/// An answer of this size is read by a model in one go.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// List the directories this server may read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAllowedDirectories {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Directories {
    directories: Vec<String>,
}

pub(crate) async fn list_allowed_directories(
    cx: Context<Backend>,
    _: ListAllowedDirectories,
) -> ToolResult<Directories> {
    let directories = cx.state.directories();
    Ok(Directories { directories })
}

/// Read a UTF-8 text file, or some lines of it. A long answer is cut at 256 KiB, and says so.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReadTextFile {
    /// Path of the file, relative to a served directory, or absolute inside one.
    path: String,
    /// Only this many lines from the start, or from `startLine`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    head: Option<u64>,
    /// Only this many lines from the end; not together with the others.
    #[serde(default)]
    #[schemars(range(min = 1))]
    tail: Option<u64>,
    /// First line wanted, counted from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
}

pub(crate) async fn read_text_file(cx: Context<Backend>, input: ReadTextFile) -> ToolResult<Reply> {
    let lines = match (input.tail, input.head, input.start_line) {
        (Some(tail), None, None) => Lines::Last(tail),
        (Some(_), ..) => {
            return Err(ToolError::new("Give `tail`, or `head` and `startLine`, not both."));
        }
        (None, head, first) => {
            Lines::From { first: first.unwrap_or(1), count: head.unwrap_or(u64::MAX) }
        }
    };
    let state = cx.state.clone();
    let read = cx.blocking(move || state.read(&input.path, lines, MAX_ANSWER_BYTES)).await?;
    let reply = Reply::text(read.text);
    Ok(if read.is_cut {
        reply.with(Content::text(format!(
            "[cut: the lines asked for are longer than {MAX_ANSWER_BYTES} bytes; ask for fewer]"
        )))
    } else {
        reply
    })
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
        // Debug escapes line breaks, which would otherwise forge entries.
        let name = entry.name.escape_debug();
        let _infallible = writeln!(text, "[{mark}] {name}");
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

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Read { cause, .. } => Self::new(text).caused_by(&cause),
            // Nothing is behind these but arguments, which have no place in a log.
            _ => Self::new(text),
        }
    }
}
