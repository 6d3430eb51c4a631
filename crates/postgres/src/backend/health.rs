//! What a database's own statistics say about its health, its slowest queries, and what the role of
//! this server could do. All three are questions of ours, so they run as the login role itself.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Row};

use super::catalog::ask_within;
use super::database::Database;
use super::error::Error;
use super::lease::{Access, Lease};

const HEALTH: &str = include_str!("sql/health.sql");
const POSTURE: &str = include_str!("sql/posture.sql");

/// Makes a role that may read and nothing else.
pub(crate) const ROLE_SQL: &str = include_str!("sql/role.sql");

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Area {
    Indexes,
    Bloat,
    Vacuum,
    Locks,
    Transactions,
    Sequences,
    Replication,
    Connections,
    Cache,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Health {
    /// Of PostgreSQL.
    version: String,
    size_bytes: u64,
    connections: u64,
    max_connections: u64,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_hit_ratio: Option<f64>,
    is_replica: bool,
    /// The most urgent first.
    findings: Vec<Finding>,
    /// Findings left out.
    more: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Finding {
    area: Area,
    /// `critical`, `warning` or `info`.
    severity: String,
    object: String,
    finding: String,
    /// What could be done, by somebody who may.
    fix: String,
}

pub(crate) async fn health(
    database: &Arc<Database>,
    areas: &[Area],
    limit: u32,
) -> Result<Health, Error> {
    let name = |area| serde_json::to_value(area).ok()?.as_str().map(str::to_owned);
    let areas: Vec<String> = areas.iter().filter_map(name).collect();
    let areas = (!areas.is_empty()).then(|| areas.join(","));
    inspect(database, HEALTH, &[areas, Some(limit.to_string())]).await
}

/// What the role of this server could do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Posture {
    /// The one this server logs in as.
    role: String,
    /// The one queries run as.
    runs_as: String,
    /// Whether it may read and little more.
    is_least_privilege: bool,
    findings: Vec<Risk>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Risk {
    /// `critical`, `high`, `medium` or `low`.
    risk: String,
    finding: String,
    /// What keeps a query of this server from it.
    stopped_by: String,
}

pub(crate) async fn posture(database: &Arc<Database>) -> Result<Posture, Error> {
    let mut lease = Lease::begin(database, Access::Read).await?;
    let user = text(&mut lease, "SELECT current_user::text").await;
    lease.rollback().await;
    inspect(database, POSTURE, &[Some(user?)]).await
}

/// What the slowest queries are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Order {
    #[default]
    TotalTime,
    MeanTime,
    Calls,
    Rows,
    /// Pages read from outside PostgreSQL's own memory.
    Reads,
}

impl Order {
    fn column(self) -> &'static str {
        match self {
            Self::TotalTime => "total_exec_time",
            Self::MeanTime => "mean_exec_time",
            Self::Calls => "calls",
            Self::Rows => "rows",
            Self::Reads => "shared_blks_read",
        }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TopQuery {
    /// Constants are `$1`, `$2`, …
    query: String,
    calls: u64,
    total_ms: f64,
    mean_ms: f64,
    max_ms: f64,
    rows: u64,
    /// From 0 to 1; of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_hit_ratio: Option<f64>,
    /// Of the time of all queries, from 0 to 1.
    share: f64,
}

/// Needs the extension `pg_stat_statements`, whose schema may be any.
pub(crate) async fn top_queries(
    database: &Arc<Database>,
    order: Order,
    limit: u32,
) -> Result<Vec<TopQuery>, Error> {
    let mut lease = Lease::begin(database, Access::Inspect).await?;
    let found = top_within(&mut lease, order, limit).await;
    lease.rollback().await;
    serde_json::from_value(found?).map_err(|error| Error::Unexpected(error.to_string()))
}

async fn top_within(lease: &mut Lease, order: Order, limit: u32) -> Result<Value, Error> {
    const PLACE: &str = "SELECT coalesce((SELECT quote_ident(nspname) FROM pg_catalog.pg_extension
        JOIN pg_catalog.pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'pg_stat_statements'), '')";
    let schema = text(lease, PLACE).await?;
    if schema.is_empty() {
        return Err(Error::Input(
            "This needs the extension pg_stat_statements. Whoever runs the database adds it to \
             shared_preload_libraries, restarts, and runs CREATE EXTENSION pg_stat_statements"
                .to_owned(),
        ));
    }
    let column = order.column();
    let json = text(
        lease,
        &format!(
            "SELECT coalesce(json_agg(json_build_object('query', left(query, 2000), 'calls', calls,
                'total_ms', total_exec_time, 'mean_ms', mean_exec_time, 'max_ms', max_exec_time,
                'rows', rows, 'share', round((total_exec_time / nullif(whole, 0))::numeric, 4),
                'cache_hit_ratio', round(shared_blks_hit::numeric
                    / nullif(shared_blks_hit + shared_blks_read, 0), 4))), '[]')::text
            FROM (SELECT *, sum(total_exec_time) OVER () AS whole
                FROM {schema}.pg_stat_statements
                WHERE dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
                ORDER BY {column} DESC, queryid LIMIT {limit}) s"
        ),
    )
    .await?;
    serde_json::from_str(&json).map_err(|error| Error::Unexpected(error.to_string()))
}

async fn text(lease: &mut Lease, sql: &str) -> Result<String, Error> {
    let query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
    let row = sqlx::Executor::fetch_one(lease.connection()?, query).await?;
    Ok(row.try_get(0)?)
}

async fn inspect<T: DeserializeOwned>(
    database: &Arc<Database>,
    sql: &'static str,
    parameters: &[Option<String>],
) -> Result<T, Error> {
    let mut lease = Lease::begin(database, Access::Inspect).await?;
    let answer = ask_within(&mut lease, sql, parameters).await;
    lease.rollback().await;
    answer
}
