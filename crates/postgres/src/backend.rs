//! PostgreSQL databases, read in a way that cannot write. Knows nothing of MCP.
//!
//! Reading order: `statement` (how a model's SQL reaches the server, and the only way it does),
//! `lease` (a connection that comes back clean or not at all), `query` (what reading is),
//! `database` (connections and cancelling), then `rows`, `types`, `cell` and `literal` (from text to
//! JSON), `params` (from JSON to parameters), `denied` and `lexer` (the second fence), `catalog` and
//! `table` (what there is), `plan` (how a query would run), `change` (writing, where it
//! is allowed), `error`.

mod statement;
mod lease;
mod query;
mod database;
mod rows;
mod types;
mod cell;
mod literal;
mod params;
mod denied;
mod lexer;
mod catalog;
mod table;
mod plan;
mod change;
mod error;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub(crate) use catalog::{Kind, Objects, Schema, Search};
pub(crate) use change::{Change, Effect};
pub(crate) use database::Limits;
pub(crate) use error::Error;
pub(crate) use plan::Plan;
pub(crate) use query::Page;
pub(crate) use rows::{Budget, Column, JsonRow};
pub(crate) use table::Table;

use change::Pending;
use database::Database;
#[cfg(test)]
pub(crate) use lexer::names;
use query::Cursors;
use statement::UserSql;

/// The databases this server was given.
pub(crate) struct Backend {
    databases: Vec<Arc<Database>>,
    cursors: Arc<Cursors>,
    pending: Pending,
    pub(crate) budget: Budget,
}

/// How much is kept for those who ask for more.
const CURSOR_TTL: Duration = Duration::from_secs(120);

impl Backend {
    /// Does not connect: a database that is down now may be up when it is needed. The first
    /// database is the one that is meant when none is named.
    pub(crate) fn new(urls: &[String], limits: Limits, budget: Budget) -> anyhow::Result<Self> {
        let mut databases: Vec<Arc<Database>> = Vec::new();
        for url in urls {
            let (name, options) = named(url)?;
            anyhow::ensure!(
                databases.iter().all(|other| other.name != name),
                "two databases are called `{name}`; name one of them: NAME=URL"
            );
            databases.push(Arc::new(Database::new(name, options, limits.clone())));
        }
        anyhow::ensure!(!databases.is_empty(), "no database: give a URL, or set DATABASE_URL");
        // Cursors must not use up what queries need.
        let cursors = Cursors::new(limits.connections / 2, CURSOR_TTL);
        Ok(Self { databases, cursors, pending: Pending::default(), budget })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.databases.iter().map(|database| database.name.clone()).collect()
    }

    pub(crate) async fn query(
        &self,
        database: Option<&str>,
        sql: String,
        parameters: &[Value],
        max_rows: usize,
    ) -> Result<Page, Error> {
        let sql = UserSql::new(sql)?;
        let budget = Budget { max_rows, ..self.budget };
        query::run(self.database(database)?, &self.cursors, sql, parameters, budget).await
    }

    pub(crate) async fn fetch(&self, cursor: &str, max_rows: usize) -> Result<Page, Error> {
        query::go_on(&self.cursors, cursor, Budget { max_rows, ..self.budget }).await
    }

    pub(crate) async fn explain(
        &self,
        database: Option<&str>,
        sql: String,
        parameters: &[Value],
        analyze: bool,
    ) -> Result<Plan, Error> {
        plan::explain(self.database(database)?, UserSql::new(sql)?, parameters, analyze).await
    }

    pub(crate) async fn schemas(
        &self,
        database: Option<&str>,
        system: bool,
    ) -> Result<Vec<Schema>, Error> {
        catalog::schemas(self.database(database)?, system).await
    }

    pub(crate) async fn objects(
        &self,
        database: Option<&str>,
        search: Search,
    ) -> Result<Objects, Error> {
        catalog::objects(self.database(database)?, search).await
    }

    pub(crate) async fn table(
        &self,
        database: Option<&str>,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Table, Error> {
        catalog::table(self.database(database)?, schema, name).await
    }

    pub(crate) fn change(
        &self,
        database: Option<&str>,
        statements: Vec<String>,
        parameters: Vec<Value>,
    ) -> Result<Change, Error> {
        Change::new(self.database(database)?, statements, parameters)
    }

    pub(crate) async fn try_out(&self, change: &Change) -> Result<Effect, Error> {
        change::try_out(self.database(Some(change.database()))?, change).await
    }

    pub(crate) async fn make(&self, change: &Change, shown: &Effect) -> Result<(), Error> {
        change::make(self.database(Some(change.database()))?, change, shown).await
    }

    /// Keeps a change for somebody's yes; the text stands for it.
    pub(crate) fn keep(&self, change: Change, effect: Effect) -> String {
        self.pending.keep(change, effect)
    }

    pub(crate) fn confirmed(&self, name: &str, change: &Change) -> Result<Effect, Error> {
        self.pending.take(name, change)
    }

    fn database(&self, name: Option<&str>) -> Result<&Arc<Database>, Error> {
        let mut databases = self.databases.iter();
        let found = match name {
            None => databases.next(),
            Some(name) => databases.find(|database| database.name == name),
        };
        found.ok_or_else(|| Error::UnknownDatabase {
            name: name.unwrap_or_default().to_owned(),
            known: self.names().join(", "),
        })
    }
}

/// `NAME=URL`, or a URL whose database is the name.
fn named(argument: &str) -> anyhow::Result<(String, sqlx::postgres::PgConnectOptions)> {
    let (name, url) = match argument.split_once('=') {
        Some((name, url)) if !name.contains(':') => (Some(name), url),
        _ => (None, argument),
    };
    // The text of the error would hold the URL, and the URL a password.
    let options = database::options(url).map_err(|_| {
        anyhow::anyhow!("a database is given as postgres://USER:PASSWORD@HOST:PORT/NAME")
    })?;
    let name = name.or(options.get_database()).unwrap_or("postgres");
    Ok((name.to_owned(), options))
}
