//! Reading text.

use std::fmt::Write;

use mcp::{Content, Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_ANSWER_BYTES, backend};
use crate::backend::{Backend, Cut, Lines, ReadText, Text};

/// Read a text file or lines of it. A note tells etag, encoding and, if cut at 256 KiB, how to go on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReadTextFile {
    path: String,
    /// Number of lines from the start or `startLine`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    head: Option<u64>,
    /// Number of last lines; not with the others.
    #[serde(default)]
    #[schemars(range(min = 1))]
    tail: Option<u64>,
    /// First line, from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// From a cut answer, to go on.
    #[serde(default)]
    start_byte: Option<u64>,
    /// Not with `tail` or `startByte`.
    #[serde(default)]
    line_numbers: bool,
    /// If neither UTF-8 nor marked, such as `latin1`.
    #[serde(default)]
    encoding: Option<String>,
}

pub(crate) async fn read_text_file(cx: Context<Backend>, input: ReadTextFile) -> ToolResult<Reply> {
    let lines = lines(&input)?;
    let first = input.line_numbers.then_some(input.start_line.unwrap_or(1));
    let ReadTextFile { path, encoding, .. } = input;
    let request = ReadText { path, lines, max_bytes: MAX_ANSWER_BYTES, encoding };
    let backend = backend(&cx).await?;
    let mut read = cx.blocking(move || backend.read(&request)).await?;
    let note = note(&read);
    if let Some(first) = first {
        read.text = numbered(&read.text, first);
    }
    Ok(Reply::text(read.text).with(Content::text(note)))
}

/// Deprecated: use read_text_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    path: String,
    #[serde(default)]
    #[schemars(range(min = 1))]
    head: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    tail: Option<u64>,
}

pub(crate) async fn read_file(cx: Context<Backend>, input: ReadFile) -> ToolResult<Reply> {
    let ReadFile { path, head, tail } = input;
    let input = ReadTextFile {
        path,
        head,
        tail,
        start_line: None,
        start_byte: None,
        line_numbers: false,
        encoding: None,
    };
    read_text_file(cx, input).await
}

fn lines(input: &ReadTextFile) -> ToolResult<Lines> {
    let is_from_start = input.head.is_none() && input.start_line.is_none();
    match input.tail {
        Some(_) if !is_from_start || input.start_byte.is_some() => {
            Err(ToolError::new("Give `tail`, or `head`, `startLine` and `startByte`, not both."))
        }
        _ if input.line_numbers && (input.tail.is_some() || input.start_byte.is_some()) => Err(
            ToolError::new("`lineNumbers` needs the start of the file; use `startLine` instead."),
        ),
        Some(tail) => Ok(Lines::Last(tail)),
        None => Ok(Lines::From {
            start_byte: input.start_byte.unwrap_or(0),
            first: input.start_line.unwrap_or(1),
            count: input.head.unwrap_or(u64::MAX),
        }),
    }
}

/// What is not the text itself.
pub(super) fn note(read: &Text) -> String {
    let mut note =
        format!("[etag {}; {}; {} bytes in all", read.etag, read.encoding, read.size_bytes);
    let _infallible = match read.cut {
        None => Ok(()),
        Some(Cut::End { next_byte }) => write!(note, "; cut, go on with startByte: {next_byte}"),
        Some(Cut::Start) => write!(note, "; cut, more lines before these"),
    };
    note + "]"
}

fn numbered(text: &str, first: u64) -> String {
    let mut numbered = String::with_capacity(text.len() + text.len() / 4);
    for (line, number) in text.split_inclusive('\n').zip(first..) {
        let _infallible = write!(numbered, "{number}\t{line}");
    }
    numbered
}

/// Read several text files, 256 KiB in all. One that fails does not stop the others.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReadMultipleFiles {
    #[schemars(length(min = 1, max = 200))]
    paths: Vec<String>,
    /// Number of lines of each.
    #[serde(default)]
    #[schemars(range(min = 1))]
    head: Option<u64>,
}

pub(crate) async fn read_multiple_files(
    cx: Context<Backend>,
    input: ReadMultipleFiles,
) -> ToolResult<Reply> {
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let blocks = cx.blocking(move || {
        let mut room = MAX_ANSWER_BYTES;
        let total = input.paths.len() as u64;
        let count = input.head.unwrap_or(u64::MAX);
        let mut blocks = Vec::new();
        for (path, done) in input.paths.into_iter().zip(1..) {
            if observer.is_cancelled() {
                break;
            }
            let shown = path.clone();
            let lines = Lines::From { start_byte: 0, first: 1, count };
            let request = ReadText { path, lines, max_bytes: room, encoding: None };
            let block = match backend.read(&request) {
                _ if room == 0 => format!("{shown} [not read: the answer is full]"),
                Ok(read) => format!("{shown} {}\n{}", note(&read), read.text),
                Err(error) => format!("{shown} [error: {error}]"),
            };
            room = room.saturating_sub(block.len());
            blocks.push(Content::text(block));
            observer.progress(done, Some(total), "files");
        }
        blocks
    });
    Ok(Reply::from(blocks.await))
}
