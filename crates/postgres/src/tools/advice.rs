//! `index_advice`.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Advice, Backend};

/// Estimate which new indexes would make queries cheaper. Nothing is run or created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IndexAdvice {
    /// Statements with values in place of parameters.
    #[schemars(length(min = 1, max = 10))]
    queries: Vec<String>,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) async fn index_advice(cx: Context<Backend>, input: IndexAdvice) -> ToolResult<Advice> {
    Ok(cx.state.advise(input.database.as_deref(), input.queries).await?)
}
