//! Finding files by name.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_ANSWER_BYTES, backend};
use crate::backend::{Backend, Find, Kind};

/// Find files and directories at any depth, sorted by path. Skips `.git` and what `.gitignore` or
/// `.ignore` name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SearchFiles {
    path: String,
    /// Glob: `*.rs` at any depth, `src/**/*.{c,h}` from `path` on.
    pattern: String,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    min_bytes: Option<u64>,
    #[serde(default)]
    max_bytes: Option<u64>,
    #[serde(default)]
    modified_since_unix_secs: Option<i64>,
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20000))]
    max_results: usize,
    /// From a cut answer, to go on.
    #[serde(default)]
    cursor: Option<String>,
}

fn default_results() -> usize {
    1000
}

pub(crate) async fn search_files(cx: Context<Backend>, input: SearchFiles) -> ToolResult<Reply> {
    let request = Find {
        path: input.path,
        pattern: input.pattern,
        exclude: input.exclude_patterns,
        ignore_case: input.ignore_case,
        include_ignored: input.include_ignored,
        kind: input.kind,
        min_bytes: input.min_bytes,
        max_bytes: input.max_bytes,
        modified_since_unix_secs: input.modified_since_unix_secs,
        max_results: input.max_results,
        max_bytes_shown: MAX_ANSWER_BYTES,
        cursor: input.cursor,
    };
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let found = cx.blocking(move || backend.find(&request, &observer)).await?;
    let mut note = format!("[{} found", found.total);
    if let (true, Some(last)) = (found.is_cut, found.paths.last()) {
        note += &format!("; {} shown, go on with cursor: {last}", found.paths.len());
    }
    if found.left_out > 0 {
        note += &format!("; {} left out", found.left_out);
    }
    if found.unreadable > 0 {
        note += &format!("; {} directories could not be opened", found.unreadable);
    }
    let mut text = found.paths.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(Reply::text(text + &note + "]"))
}
