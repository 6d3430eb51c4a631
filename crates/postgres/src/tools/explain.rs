//! `explain_query`.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::{Backend, Guard, Plan};

/// Show how PostgreSQL would run a query: its cost, the hottest step, sequential scans. With
/// `analyze` the query runs, read-only, and the step guessed worst is shown too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainQuery {
    /// One statement without EXPLAIN; parameters are `$1`, `$2`, …
    sql: String,
    /// Values for the parameters, in order.
    #[serde(default)]
    params: Vec<Value>,
    /// Run it and measure.
    #[serde(default)]
    analyze: bool,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) async fn explain_query(cx: Context<Backend>, input: ExplainQuery) -> ToolResult<Plan> {
    let ExplainQuery { sql, params, analyze, database } = input;
    let run = |guard| {
        let plan = cx.state.explain(database.as_deref(), sql.clone(), &params, analyze, guard);
        super::while_reporting(&cx, plan)
    };
    match super::unless_costly(&cx, run(Guard::On).await).await? {
        Some(plan) => Ok(plan),
        None => Ok(run(Guard::Overruled).await?),
    }
}
