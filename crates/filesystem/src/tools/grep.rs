//! Searching the contents of files.

use std::fmt::Write;

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_ANSWER_BYTES, backend};
use crate::backend::{Backend, Collect, Grep, Hits, Matches, Position};

/// Search the lines of text files, sorted by path. Skips `.git` and what `.gitignore` or `.ignore`
/// name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SearchContent {
    /// Directory or file.
    path: String,
    /// Regular expression (Rust syntax).
    query: String,
    /// `query` is plain text.
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    whole_words: bool,
    /// Glob of files to search.
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default)]
    #[schemars(range(max = 20))]
    context_lines: usize,
    #[serde(default)]
    output: Output,
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 5000))]
    max_results: usize,
    /// From a cut answer, to go on.
    #[serde(default)]
    cursor: Option<String>,
}

fn default_results() -> usize {
    200
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Output {
    #[default]
    Lines,
    Files,
    Counts,
}

pub(crate) async fn search_content(
    cx: Context<Backend>,
    input: SearchContent,
) -> ToolResult<Reply> {
    let output = input.output;
    let max_results = input.max_results;
    let request = Grep {
        path: input.path,
        query: input.query,
        is_literal: input.literal,
        ignore_case: input.ignore_case,
        whole_words: input.whole_words,
        pattern: input.pattern,
        exclude: input.exclude_patterns,
        include_ignored: input.include_ignored,
        context_lines: if output == Output::Lines { input.context_lines } else { 0 },
        collect: match output {
            Output::Lines => Collect::Lines,
            Output::Files => Collect::Files,
            Output::Counts => Collect::Counts,
        },
        max_bytes: MAX_ANSWER_BYTES,
        cursor: input.cursor.as_deref().map(position).transpose()?,
    };
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let matches = cx.blocking(move || backend.grep(&request, &observer)).await?;
    let mut answer = Answer { text: String::new(), results: 0, max_results };
    let cut = answer.write(&matches, output);
    Ok(Reply::text(answer.text + &note(&matches, output, cut.as_ref())))
}

/// `path:line`.
fn position(cursor: &str) -> ToolResult<Position> {
    let parsed = cursor.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    let (path, line) =
        parsed.ok_or_else(|| ToolError::new("`cursor` is not one that an answer gave."))?;
    Ok(Position { path: path.to_owned(), line })
}

struct Answer {
    text: String,
    results: usize,
    max_results: usize,
}

impl Answer {
    /// The last line written, if there are more.
    fn write(&mut self, matches: &Matches, output: Output) -> Option<Position> {
        let mut last = None;
        for (path, hits) in &matches.files {
            if self.is_full() {
                return last;
            }
            if output == Output::Lines {
                if !self.write_lines(path, hits, &mut last) || hits.is_cut {
                    return last;
                }
                continue;
            }
            self.results += 1;
            let _infallible = match output {
                Output::Counts => writeln!(self.text, "{path}: {}", hits.matches),
                _ => writeln!(self.text, "{path}"),
            };
            last = Some(Position { path: path.clone(), line: 0 });
        }
        last.filter(|_| matches.is_cut)
    }

    /// `false` if there was no room for all.
    fn write_lines(&mut self, path: &str, hits: &Hits, last: &mut Option<Position>) -> bool {
        if hits.lines.is_empty() {
            return true;
        }
        let _infallible = writeln!(self.text, "{path}");
        for line in &hits.lines {
            if self.is_full() {
                return false;
            }
            let (gap, mark) =
                (if line.follows_gap { "--\n" } else { "" }, if line.is_match { ':' } else { '-' });
            let _infallible = writeln!(self.text, "{gap}{}{mark}{}", line.number, line.text);
            self.results += usize::from(line.is_match);
            *last = Some(Position { path: path.to_owned(), line: line.number });
        }
        true
    }

    fn is_full(&self) -> bool {
        self.results >= self.max_results || self.text.len() >= MAX_ANSWER_BYTES
    }
}

fn note(matches: &Matches, output: Output, cut: Option<&Position>) -> String {
    let mut note = match output {
        Output::Files => format!("[{} files", matches.total_files),
        _ => format!("[{} lines in {} files", matches.total_matches, matches.total_files),
    };
    if let Some(Position { path, line }) = cut {
        note += &format!("; cut, go on with cursor: {path}:{line}");
    }
    if matches.left_out > 0 {
        note += &format!("; {} left out", matches.left_out);
    }
    if matches.binary > 0 {
        note += &format!("; {} not text", matches.binary);
    }
    if matches.unreadable > 0 {
        note += &format!("; {} could not be searched", matches.unreadable);
    }
    note + "]"
}
