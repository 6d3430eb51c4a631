//! `handoff_csv`: how to load the file into a database, and how to know that it worked.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, HandedOff, Handoff, Input, Reading, Target};

/// Write the SQL that loads a CSV file into DuckDB, PostgreSQL (for psql) or ClickHouse with the exact
/// types its cells prove, and a query whose result proves the load. Nothing is executed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandoffCsv {
    /// Path of the file, relative to a served directory.
    filepath: String,
    target: Target,
    /// Name of the table to create.
    table: String,
    /// Where the database finds the file; `filepath` if left out.
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn handoff_csv(cx: Context<Backend>, input: HandoffCsv) -> ToolResult<HandedOff> {
    let path = input.path.unwrap_or_else(|| input.filepath.clone());
    let request = Handoff { target: input.target, table: input.table, path };
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    super::reading(&cx, None, move |backend, watch| backend.hand_off(&file, &request, watch)).await
}
