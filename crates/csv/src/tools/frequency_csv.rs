//! `frequency_csv`: which values a column has, and how often.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Filter, Grouped, Grouping, Input, Page, Reading};

/// Count how often each text occurs in a column, the most frequent first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrequencyCsv {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    /// A name, or `#3` for the third.
    column: String,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    filter: Option<Filter>,
    /// The rarest first.
    #[serde(default)]
    ascending: bool,
    /// Values to leave out from the start.
    #[serde(default)]
    offset: usize,
    /// 50 or 8 KiB of values if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn frequency_csv(
    cx: Context<Backend>,
    input: FrequencyCsv,
) -> ToolResult<Grouped> {
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    let request = Grouping {
        keys: vec![input.column],
        filter: input.filter,
        ascending: input.ascending,
        page: Page { offset: input.offset, limit: input.limit },
        ..Grouping::default()
    };
    super::asking(&cx, file, request, None, |backend, file, request, watch| {
        backend.group(file, request, watch)
    })
    .await
}
