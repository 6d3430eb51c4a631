//! Which indexes would help some queries: candidates from their plans, and what PostgreSQL would do
//! with them. Where the extension HypoPG is installed, its planner says; otherwise an estimate from
//! its statistics, made as PostgreSQL costs an index scan.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, Executor, Row};

use super::candidate::{Candidate, candidates};
use super::catalog::ask_within;
use super::database::Database;
use super::denied;
use super::error::Error;
use super::guard::root;
use super::lease::{Access, Lease};
use super::plan::number;
use super::statement::UserSql;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Advice {
    /// `hypopg`: PostgreSQL's planner was asked; `statistics`: a rough estimate of ours.
    estimated_by: &'static str,
    /// The most helpful first.
    indexes: Vec<IndexAdvice>,
    /// PostgreSQL's cost of each query as it is.
    costs: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct IndexAdvice {
    /// To be run by somebody who may.
    sql: String,
    /// The queries it helps, counted from 0.
    queries: Vec<usize>,
    /// Of these queries together.
    cost_before: f64,
    /// An estimate.
    cost_after: f64,
    /// An estimate.
    size_bytes: u64,
    /// Rows written to the table since the statistics were reset; each costs an entry more.
    writes: u64,
}

/// An index is worth naming if it saves at least this part of a query's cost.
const MIN_SAVING: f64 = 0.2;

/// What the statistics know about the table and the columns of a candidate.
#[derive(Debug, Deserialize)]
struct Facts {
    name: String,
    columns: String,
    pages: f64,
    rows: f64,
    width: f64,
    correlation: f64,
    writes: u64,
    random_page_cost: f64,
    exists: bool,
}

const FACTS: &str = include_str!("sql/facts.sql");

pub(crate) async fn advise(
    database: &Arc<Database>,
    queries: Vec<String>,
) -> Result<Advice, Error> {
    let queries: Vec<UserSql> = queries.into_iter().map(UserSql::new).collect::<Result<_, _>>()?;
    queries.iter().try_for_each(|sql| denied::check(sql.text()))?;
    let mut lease = Lease::begin(database, Access::Read).await?;
    let advice = advise_within(&mut lease, &queries).await;
    lease.rollback().await;
    advice
}

async fn advise_within(lease: &mut Lease, queries: &[UserSql]) -> Result<Advice, Error> {
    let has_hypopg = hypopg(lease).await?;
    let mut advice = Advice {
        estimated_by: if has_hypopg.is_some() { "hypopg" } else { "statistics" },
        indexes: Vec::new(),
        costs: Vec::new(),
    };
    for (place, sql) in queries.iter().enumerate() {
        let plan = plan(lease, sql).await?;
        let before = number(&plan, "Total Cost");
        advice.costs.push(before);
        for candidate in candidates(&plan) {
            let facts = facts(lease, &candidate).await?;
            let Some(facts) = facts.filter(|facts| !facts.exists) else { continue };
            let (after, size_bytes) = match &has_hypopg {
                Some(schema) => what_if(lease, schema, sql, &facts).await?,
                None => estimate(&candidate, &facts, before),
            };
            if before - after >= before * MIN_SAVING {
                let index = IndexAdvice {
                    sql: format!("CREATE INDEX CONCURRENTLY ON {} ({})", facts.name, facts.columns),
                    queries: vec![place],
                    cost_before: before,
                    cost_after: after,
                    size_bytes,
                    writes: facts.writes,
                };
                advice.add(index);
            }
        }
    }
    let saving = |index: &IndexAdvice| index.cost_before - index.cost_after;
    advice.indexes.sort_by(|a, b| saving(b).total_cmp(&saving(a)));
    Ok(advice)
}

impl Advice {
    fn add(&mut self, index: IndexAdvice) {
        match self.indexes.iter_mut().find(|known| known.sql == index.sql) {
            Some(known) if known.queries.last() == index.queries.last() => {}
            Some(known) => {
                known.queries.extend(index.queries);
                known.cost_before += index.cost_before;
                known.cost_after += index.cost_after;
            }
            None => self.indexes.push(index),
        }
    }
}

async fn plan(lease: &mut Lease, sql: &UserSql) -> Result<Value, Error> {
    let arguments = PgArguments::default();
    root(&sql.explain(lease.connection()?, "FORMAT JSON, VERBOSE", arguments).await?)
}

async fn facts(lease: &mut Lease, candidate: &Candidate) -> Result<Option<Facts>, Error> {
    let columns = serde_json::to_string(&candidate.columns())
        .map_err(|error| Error::Unexpected(error.to_string()))?;
    let parameters = [Some(candidate.schema.clone()), Some(candidate.table.clone()), Some(columns)];
    ask_within(lease, FACTS, &parameters).await
}

/// The schema of the extension, if it is installed.
async fn hypopg(lease: &mut Lease) -> Result<Option<String>, Error> {
    let query = sqlx::query(
        "SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_extension
        JOIN pg_catalog.pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'hypopg' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')",
    );
    let row = lease.connection()?.fetch_optional(query.persistent(false)).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Asks the planner with an index that is not there. The extension keeps it for the session, so the
/// connection is not used again.
async fn what_if(
    lease: &mut Lease,
    schema: &str,
    sql: &UserSql,
    facts: &Facts,
) -> Result<(f64, u64), Error> {
    lease.do_not_reuse();
    let statement = format!("CREATE INDEX ON {} ({})", facts.name, facts.columns);
    let mut arguments = PgArguments::default();
    arguments.add(statement).map_err(|error| Error::Unexpected(error.to_string()))?;
    let create = format!(
        "SELECT {schema}.hypopg_relation_size(indexrelid)::pg_catalog.int8
        FROM {schema}.hypopg_create_index($1)"
    );
    let create = sqlx::query_with(sqlx::AssertSqlSafe(create), arguments).persistent(false);
    let size: i64 = lease.connection()?.fetch_one(create).await?.try_get(0)?;
    let after = number(&plan(lease, sql).await?, "Total Cost");
    let reset = sqlx::AssertSqlSafe(format!("SELECT {schema}.hypopg_reset()"));
    lease.connection()?.execute(sqlx::raw_sql(reset)).await?;
    Ok((after, u64::try_from(size).unwrap_or_default()))
}

/// As `cost_index` of PostgreSQL does it, without the fine print.
fn estimate(candidate: &Candidate, facts: &Facts, before: f64) -> (f64, u64) {
    const PAGE_BYTES: f64 = 8192.0;
    // An entry has a header and a pointer, and pages are filled to nine tenths.
    let size = facts.rows * (12.0 + (facts.width / 8.0).ceil() * 8.0) / 0.9;
    let rows = candidate.rows.min(facts.rows).max(1.0);
    let selectivity = if facts.rows > 0.0 { rows / facts.rows } else { 1.0 };
    let scattered = (2.0 * facts.pages * rows / (2.0 * facts.pages + rows)).min(facts.pages);
    let scattered = scattered.ceil() * facts.random_page_cost;
    let in_order = facts.random_page_cost + (selectivity * facts.pages).ceil() - 1.0;
    let share = facts.correlation.powi(2);
    let heap = scattered + share * (in_order - scattered);
    let index = (size / PAGE_BYTES * selectivity).ceil() * facts.random_page_cost;
    let after = before - candidate.cost + heap + index + rows * 0.0175;
    ((after * 100.0).round() / 100.0, size as u64)
}
