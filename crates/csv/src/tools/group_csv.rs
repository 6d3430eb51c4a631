//! `group_csv`: numbers for each group of rows.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Aggregate, Backend, Filter, Grouped, Grouping, Input, Page, Reading};

/// Count rows and compute aggregates for each combination of some columns' texts, the largest
/// groups first. Columns whose numbers are not exact say so.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupCsv {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    /// Columns to group by: names, or `#3` for the third.
    #[schemars(length(min = 1))]
    keys: Vec<String>,
    /// Besides the number of rows, such as {"operation": "sum", "column": "price"}.
    #[serde(default)]
    aggregates: Vec<Aggregate>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    filter: Option<Filter>,
    /// A column of the answer, such as `sum(price)`; `rows` if left out.
    #[serde(default)]
    order_by: Option<String>,
    #[serde(default)]
    ascending: bool,
    /// Groups to leave out from the start.
    #[serde(default)]
    offset: usize,
    /// 50 or 8 KiB of groups if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn group_csv(cx: Context<Backend>, input: GroupCsv) -> ToolResult<Grouped> {
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    let request = Grouping {
        keys: input.keys,
        aggregates: input.aggregates,
        filter: input.filter,
        order_by: input.order_by,
        ascending: input.ascending,
        page: Page { offset: input.offset, limit: input.limit },
    };
    super::asking(&cx, file, request, None, |backend, file, request, watch| {
        backend.group(file, request, watch)
    })
    .await
}
