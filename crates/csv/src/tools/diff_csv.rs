//! `diff_csv`: what changed from one file to another.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Diff, Differences, Input, Page, Reading};

/// Compare two CSV files by key columns: rows added, removed and changed, cell by cell. The order of
/// rows and columns does not matter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffCsv {
    /// Paths, relative to a served directory.
    old: String,
    new: String,
    /// Columns that name a row in both files.
    #[schemars(length(min = 1))]
    keys: Vec<String>,
    /// Differences to leave out from the start.
    #[serde(default)]
    offset: usize,
    /// 50 or 8 KiB of differences if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read_new: Option<Reading>,
}

pub(crate) async fn diff_csv(cx: Context<Backend>, input: DiffCsv) -> ToolResult<Differences> {
    let files = [
        Input { filepath: input.old, reading: input.read.unwrap_or_default() },
        Input { filepath: input.new, reading: input.read_new.unwrap_or_default() },
    ];
    let request =
        Diff { keys: input.keys, page: Page { offset: input.offset, limit: input.limit } };
    super::reading(&cx, None, move |backend, watch| backend.diff(&files, &request, watch)).await
}
