//! Reading text.

use std::fmt::Write;

use mcp::{Content, Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_ANSWER_BYTES, backend};
use crate::backend::{Backend, Cut, Lines, ReadText, Text};

/// Read a text file, or some lines of it. A note after the text has its etag and encoding, and says
/// how to go on where it was cut, at 256 KiB.
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
    /// Go on after a cut, with the number its note gave.
    #[serde(default)]
    start_byte: Option<u64>,
    /// Put its number before each line; not with `tail` or `startByte`.
    #[serde(default)]
    line_numbers: bool,
    /// Encoding of a file that is not UTF-8 and has no byte order mark, such as `latin1`.
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
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        let _infallible = write!(numbered, "{number}\t{line}");
    }
    numbered
}

/// Read several text files at once. They share 256 KiB; one that cannot be read does not stop the
/// others.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReadMultipleFiles {
    /// Paths of the files, relative to a served directory, or absolute inside one.
    #[schemars(length(min = 1, max = 200))]
    paths: Vec<String>,
    /// Only this many lines from the start of each.
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
