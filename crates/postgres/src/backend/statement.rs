//! The only way for a model's SQL to reach PostgreSQL.
//!
//! The simple protocol runs as many statements as a text holds, so `COMMIT; DROP TABLE t` leaves a
//! read-only transaction and writes. The extended protocol takes exactly one statement; PostgreSQL
//! refuses the rest. In sqlx the two look alike: a bare string and `raw_sql` use the first,
//! `sqlx::query` the second. So a model's SQL is a type of its own, and the functions here, which
//! put something of ours before it and send it by the second, are all that can be done with it; by
//! the first it goes only where the second has taken it before.

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{Arguments, AssertSqlSafe, Executor, Postgres};

use super::error::Error;
use super::rows::text;

/// SQL that somebody else wrote. It has no `Display` and cannot become a query of sqlx by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserSql(String);

/// What PostgreSQL has taken for one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'a> {
    pub(crate) sql: &'a UserSql,
    has_arguments: bool,
}

impl Declared<'_> {
    /// Its plan as JSON text. Without arguments the simple protocol is enough, which is quicker: the
    /// same text is one statement there, too.
    pub(crate) async fn explain(
        self,
        connection: &mut PgConnection,
        arguments: PgArguments,
    ) -> Result<String, Error> {
        const OPTIONS: &str = "FORMAT JSON";
        if self.has_arguments {
            return self.sql.explain(connection, OPTIONS, arguments).await;
        }
        let prefix = format!("EXPLAIN ({OPTIONS}) ");
        let sql = AssertSqlSafe(format!("{prefix}{}", self.sql.0));
        let row = connection.fetch_one(sqlx::raw_sql(sql)).await;
        plan_text(row.map_err(|error| Error::of_query(error, prefix.chars().count()))?)
    }
}

/// Longer texts are no query a model writes by hand.
const MAX_SQL_BYTES: usize = 1024 * 1024;

impl UserSql {
    /// Refuses what cannot be sent as one string of the protocol.
    pub(crate) fn new(sql: String) -> Result<Self, Error> {
        if sql.contains('\0') {
            return Err(Error::Input("`sql` holds a NUL character. Remove it".to_owned()));
        }
        if sql.len() > MAX_SQL_BYTES {
            return Err(Error::Input(format!("`sql` is longer than {MAX_SQL_BYTES} bytes")));
        }
        if sql.trim().is_empty() {
            return Err(Error::Input("`sql` is empty. Write one SELECT".to_owned()));
        }
        Ok(Self(sql))
    }

    /// To be looked at, not to be sent.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Opens a cursor over it, which PostgreSQL does for SELECT, VALUES, TABLE and WITH only, and
    /// not if they write.
    pub(crate) async fn declare(
        &self,
        connection: &mut PgConnection,
        arguments: PgArguments,
    ) -> Result<Declared<'_>, Error> {
        const PREFIX: &str = "DECLARE mcp_cursor NO SCROLL CURSOR FOR ";
        let has_arguments = arguments.len() > 0;
        self.send(connection, PREFIX, "", arguments).await?;
        Ok(Declared { sql: self, has_arguments })
    }

    /// Opens a cursor with one row of NULLs and the columns of this query, which is not run.
    /// Works for anything that can stand in parentheses.
    pub(crate) async fn declare_shape(
        &self,
        connection: &mut PgConnection,
        arguments: PgArguments,
    ) -> Result<(), Error> {
        const PREFIX: &str = "DECLARE mcp_shape NO SCROLL CURSOR FOR SELECT query.* \
            FROM (SELECT) AS one LEFT JOIN LATERAL (";
        let whole = Self(self.0.trim_end_matches([';', ' ', '\t', '\n', '\r']).to_owned());
        whole.send(connection, PREFIX, "\n) AS query ON false", arguments).await
    }

    /// Prepares it under the name `mcp_prepared`, so that PostgreSQL tells the types of its
    /// parameters. Does not run it.
    pub(crate) async fn prepare(&self, connection: &mut PgConnection) -> Result<(), Error> {
        self.send(connection, "PREPARE mcp_prepared AS ", "", PgArguments::default()).await
    }

    /// Runs it, whatever it is, and gives the number of rows it has changed. Only for a transaction
    /// in which somebody has allowed to write.
    pub(crate) async fn execute(
        &self,
        connection: &mut PgConnection,
        arguments: PgArguments,
    ) -> Result<u64, Error> {
        let sql = AssertSqlSafe(self.0.clone());
        let done = connection.execute(with(sql, arguments)).await;
        done.map(|done| done.rows_affected()).map_err(|error| Error::of_statement(error, 0))
    }

    /// The plan as JSON text. `options` are ours, for example `FORMAT JSON`. With ANALYZE the
    /// statement runs, so it must have passed [`UserSql::declare`] before.
    pub(crate) async fn explain(
        &self,
        connection: &mut PgConnection,
        options: &str,
        arguments: PgArguments,
    ) -> Result<String, Error> {
        let prefix = format!("EXPLAIN ({options}) ");
        let sql = AssertSqlSafe(format!("{prefix}{}", self.0));
        let row = connection.fetch_one(with(sql, arguments)).await;
        plan_text(row.map_err(|error| Error::of_query(error, prefix.chars().count()))?)
    }

    async fn send(
        &self,
        connection: &mut PgConnection,
        prefix: &str,
        suffix: &str,
        arguments: PgArguments,
    ) -> Result<(), Error> {
        let sql = AssertSqlSafe(format!("{prefix}{}{suffix}", self.0));
        let query = with(sql, arguments);
        let sent = connection.execute(query).await;
        sent.map(drop).map_err(|error| Error::of_query(error, prefix.chars().count()))
    }
}

fn plan_text(row: PgRow) -> Result<String, Error> {
    text(&row, 0).ok_or_else(|| Error::Unexpected("no plan".to_owned()))
}

/// Without arguments the statement has no name on the server. With some it has one, because sqlx
/// would overwrite a nameless statement while it looks up their types; the end of the lease
/// removes it.
fn with(
    sql: AssertSqlSafe<String>,
    arguments: PgArguments,
) -> Query<'static, Postgres, PgArguments> {
    let has_arguments = arguments.len() > 0;
    sqlx::query_with(sql, arguments).persistent(has_arguments)
}
