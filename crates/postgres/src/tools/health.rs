//! `database_health`, `top_queries`, `security_posture`.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Area, Backend, Health, Order, Posture, TopQuery};

/// Look for trouble: unused, double, invalid and missing indexes, bloat, vacuum, locks, long
/// transactions, sequences that run out, replication. Says what could be done about each.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatabaseHealth {
    /// Only these; all if left out.
    #[serde(default)]
    areas: Vec<Area>,
    /// Most findings of each area.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

fn default_limit() -> u32 {
    10
}

pub(crate) async fn database_health(
    cx: Context<Backend>,
    input: DatabaseHealth,
) -> ToolResult<Health> {
    let DatabaseHealth { areas, limit, database } = input;
    Ok(cx.state.health(database.as_deref(), &areas, limit).await?)
}

/// List the queries that cost most since the statistics were reset (pg_stat_statements).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopQueries {
    #[serde(default)]
    order_by: Order,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Top {
    queries: Vec<TopQuery>,
}

pub(crate) async fn top_queries(cx: Context<Backend>, input: TopQueries) -> ToolResult<Top> {
    let TopQueries { order_by, limit, database } = input;
    Ok(Top { queries: cx.state.top_queries(database.as_deref(), order_by, limit).await? })
}

/// Show what the database role of this server could do beyond reading, and what stops it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecurityPosture {
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) async fn security_posture(
    cx: Context<Backend>,
    input: SecurityPosture,
) -> ToolResult<Posture> {
    Ok(cx.state.posture(input.database.as_deref()).await?)
}
