//! Shows some of the rows a tried change touches, as they are and as they would be.
//!
//! PostgreSQL marks each version of a row with the transaction that made it and the one that ended
//! it. So the new rows are found inside the trial, and the old ones from a second connection, which
//! the trial is invisible to, whatever made the change: the statement itself, a trigger, a function.
//! Both look through the whole table, so only small ones are looked through.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor};

use super::database::Database;
use super::error::Error;
use super::lease::{Access, Lease};
use super::rows::text;

/// Some rows of one table that a change touches, in the order of its primary key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct Sample {
    table: String,
    /// Rows that would be changed or deleted, as they are.
    before: Vec<Shown>,
    /// Rows that would be changed or added, as they would be.
    after: Vec<Shown>,
}

/// A row: each column as text; a long one is cut.
type Shown = BTreeMap<String, Option<String>>;

const MAX_TABLES: usize = 3;
const ROWS: usize = 3;
/// Of one value, in characters.
const MAX_VALUE_CHARS: usize = 200;
/// A table's length in bytes, up to which it is looked through.
const MAX_TABLE_BYTES: u64 = 64 << 20;

struct Touched {
    table: String,
    order: String,
}

impl Sample {
    /// Of the tables that the transaction open on `trial` has written to. Takes a second connection
    /// only if one is free; else there is nothing to show.
    pub(crate) async fn of(
        database: &Arc<Database>,
        trial: &mut PgConnection,
    ) -> Result<Vec<Self>, Error> {
        let Some(transaction) = transaction(trial).await? else { return Ok(Vec::new()) };
        let touched = touched(trial).await?;
        if touched.is_empty() || !database.has_free_connection() {
            return Ok(Vec::new());
        }
        let mut outside = Lease::begin(database, Access::Inspect).await?;
        let mut samples = Vec::new();
        for Touched { table, order } in touched {
            let before = format!("xmax = '{transaction}' ORDER BY {order}");
            let after = format!("xmin = '{transaction}' ORDER BY {order}");
            let before = rows(outside.connection()?, &table, &before).await?;
            let after = rows(trial, &table, &after).await?;
            samples.push(Self { table, before, after });
        }
        outside.rollback().await;
        samples.retain(|sample| !sample.before.is_empty() || !sample.after.is_empty());
        Ok(samples)
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "For example in {}:", self.table)?;
        for (mark, rows) in [("-", &self.before), ("+", &self.after)] {
            for row in rows {
                let text = serde_json::to_string(row).unwrap_or_default();
                write!(f, "\n{mark} {text}")?;
            }
        }
        Ok(())
    }
}

/// As rows are marked with it; `None` if nothing was written.
async fn transaction(trial: &mut PgConnection) -> Result<Option<String>, Error> {
    let sql = "SELECT (pg_catalog.txid_current_if_assigned() & 4294967295)::text";
    Ok(text(&trial.fetch_one(sqlx::raw_sql(sql)).await?, 0))
}

/// Tables that were written to, that others can still read, and that are soon looked through.
async fn touched(trial: &mut PgConnection) -> Result<Vec<Touched>, Error> {
    let sql = format!(
        "SELECT pg_catalog.format('%I.%I', pg_catalog.min(nspname::text), pg_catalog.min(relname::text)), coalesce((SELECT
                pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', ' ORDER BY place)
            FROM pg_catalog.pg_index,
                pg_catalog.unnest(indkey) WITH ORDINALITY AS key(number, place)
                JOIN pg_catalog.pg_attribute ON attrelid = c.oid AND attnum = number
            WHERE indrelid = c.oid AND indisprimary), 'ctid')
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_locks ON relation = c.oid
            JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
        WHERE pid = pg_catalog.pg_backend_pid() AND relkind = 'r'
            AND nspname <> 'pg_catalog'
            AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
            AND pg_catalog.pg_relation_size(c.oid) <= {MAX_TABLE_BYTES}
        GROUP BY c.oid
        HAVING pg_catalog.bool_or(mode = 'RowExclusiveLock')
            AND NOT pg_catalog.bool_or(mode IN ('ShareLock', 'ShareRowExclusiveLock',
                'ExclusiveLock', 'AccessExclusiveLock'))
        ORDER BY 1 LIMIT {MAX_TABLES}"
    );
    let rows = trial.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    let touched = |row: &PgRow| Some(Touched { table: text(row, 0)?, order: text(row, 1)? });
    Ok(rows.iter().filter_map(touched).collect())
}

/// `table` and `condition` are PostgreSQL's own words for what it knows.
async fn rows(
    connection: &mut PgConnection,
    table: &str,
    condition: &str,
) -> Result<Vec<Shown>, Error> {
    let sql = format!(
        "SELECT (SELECT pg_catalog.jsonb_object_agg(key, pg_catalog.left(value, {MAX_VALUE_CHARS}))
            FROM pg_catalog.jsonb_each_text(pg_catalog.to_jsonb(row)))::text
        FROM (SELECT * FROM ONLY {table} WHERE {condition} LIMIT {ROWS}) AS row"
    );
    let rows = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    let shown = |row: &PgRow| serde_json::from_str(&text(row, 0)?).ok();
    Ok(rows.iter().filter_map(shown).collect())
}
