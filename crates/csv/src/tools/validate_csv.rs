//! `validate_csv`: which rows are not as they should be.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, Input, Reading, RowSchema, Validated};

/// Check every row of a CSV file against a schema; broken rules come with their count and first lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValidateCsv {
    /// Path of the file, relative to a served directory.
    filepath: String,
    schema: RowSchema,
    #[serde(default)]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn validate_csv(
    cx: Context<Backend>,
    input: ValidateCsv,
) -> ToolResult<Validated> {
    let file = Input { filepath: input.filepath, reading: input.read.unwrap_or_default() };
    let schema = input.schema;
    super::reading(&cx, None, move |backend, watch| backend.validate(&file, &schema, watch)).await
}
