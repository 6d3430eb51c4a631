//! `analyze_csv`: numbers over whole columns.

use mcp::{Context, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Analysis, Analyze, Backend, Filter, Input, Operation, Reading};

/// Compute exact sums, averages, counts and more over the columns of a CSV file, reading all of it
/// once. Every number says whether it is exact; `assumptions` lists what the file does not prove.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeCsv {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    /// What to compute for each column.
    #[schemars(length(min = 1))]
    operations: Vec<Operation>,
    /// Only these columns: names from the header, or `#3` for the third. All if left out.
    #[serde(default)]
    columns: Option<Vec<String>>,
    /// Only rows that meet this, such as {"column": "price", "op": "gt", "value": 9.5}.
    #[serde(default)]
    filter: Option<Filter>,
    /// One answer for each combination of these columns' texts.
    #[serde(default)]
    group_by: Vec<String>,
    /// Columns to leave out from the start.
    #[serde(default)]
    offset: usize,
    /// Answer after this time from the part of the file read by then.
    #[serde(default)]
    deadline_ms: Option<u64>,
    #[serde(default)]
    read: Option<Reading>,
}

pub(crate) async fn analyze_csv(cx: Context<Backend>, input: AnalyzeCsv) -> ToolResult<Analysis> {
    let AnalyzeCsv { filepath, operations, columns, filter, group_by, .. } = input;
    if operations.is_empty() {
        return Err(ToolError::new(
            "`operations` is empty. Name at least one, for example \"sum\".",
        ));
    }
    let file = Input { filepath, reading: input.read.unwrap_or_default() };
    let request = Analyze { operations, columns, filter, group_by };
    let mut analysis =
        super::asking(&cx, file, request, input.deadline_ms, |backend, file, request, watch| {
            backend.analyze(file, request, watch)
        })
        .await?;
    analysis.cut(input.offset);
    Ok(analysis)
}
