//! `describe_csv`: what there is to ask about.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Describe, Description, Input, Reading};

/// Look at a CSV file before asking about it: its delimiter, encoding and header with the evidence
/// for each, the type of every column decided by all of its cells, irregular rows with their lines,
/// and the first rows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeCsv {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    #[serde(default = "three")]
    #[schemars(range(max = 20))]
    sample_rows: usize,
    /// Show 50 columns from this one on.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    first_column: usize,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

fn one() -> usize {
    1
}

fn three() -> usize {
    3
}

pub(crate) async fn describe_csv(
    cx: Context<Backend>,
    input: DescribeCsv,
) -> ToolResult<Description> {
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    let request = Describe {
        sample_rows: input.sample_rows,
        first_column: input.first_column.saturating_sub(1),
    };
    super::reading(&cx, None, move |backend, watch| backend.describe(&file, &request, watch)).await
}
