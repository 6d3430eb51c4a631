//! `join_csv`: two files side by side.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Input, Join, JoinKind, Joined, Page, Pair, Reading};

/// Join the rows of two CSV files whose keys have the same texts, and count what has no partner. The
/// right file must fit into memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JoinCsv {
    /// Paths, relative to a served directory. The smaller file goes right.
    left: String,
    right: String,
    #[schemars(length(min = 1))]
    on: Vec<Pair>,
    #[serde(default)]
    kind: JoinKind,
    /// Of the left file. All if left out.
    #[serde(default)]
    columns: Option<Vec<String>>,
    /// All but the keys if left out.
    #[serde(default)]
    right_columns: Option<Vec<String>>,
    /// Joined rows to leave out from the start.
    #[serde(default)]
    offset: usize,
    /// 50 or 8 KiB of rows if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read_right: Option<Reading>,
}

pub(crate) async fn join_csv(cx: Context<Backend>, input: JoinCsv) -> ToolResult<Joined> {
    let files = [
        Input { filepath: input.left, reading: input.read.unwrap_or_default() },
        Input { filepath: input.right, reading: input.read_right.unwrap_or_default() },
    ];
    let request = Join {
        on: input.on,
        kind: input.kind,
        columns: input.columns,
        right_columns: input.right_columns,
        page: Page { offset: input.offset, limit: input.limit },
    };
    super::reading(&cx, None, move |backend, watch| backend.join(&files, &request, watch)).await
}
