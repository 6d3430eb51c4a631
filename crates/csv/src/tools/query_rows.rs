//! `query_rows`: the rows themselves.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Filter, Input, Order, Queried, Query, Reading};

/// Show rows of a CSV file as they stand in it, each with its row number, line and byte offset: those
/// that meet a condition, the first of an order, or a random sample.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryRows {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    filter: Option<Filter>,
    /// Names, or `#3` for the third, in the order to show them. All if left out.
    #[serde(default)]
    columns: Option<Vec<String>>,
    /// Rows without a value come last.
    #[serde(default)]
    sort: Option<Order>,
    /// Rows of a random sample, the same for the same `seed`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    sample: Option<usize>,
    #[serde(default)]
    seed: u64,
    /// Start at this line, such as one that another tool has named.
    #[serde(default)]
    from_line: u64,
    /// 50 or 8 KiB of rows if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// From an earlier answer to the same question, for the rows that follow.
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn query_rows(cx: Context<Backend>, input: QueryRows) -> ToolResult<Queried> {
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    let request = Query {
        filter: input.filter,
        columns: input.columns,
        sort: input.sort,
        sample: input.sample,
        seed: input.seed,
        from_line: input.from_line,
        limit: input.limit.or(input.sample),
        cursor: input.cursor,
    };
    super::asking(&cx, file, request, None, |backend, file, request, watch| {
        backend.query(file, request, watch)
    })
    .await
}
