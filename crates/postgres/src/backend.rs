//! PostgreSQL databases, read in a way that cannot write. Knows nothing of MCP.
//!
//! Reading order: `statement` (how a model's SQL reaches the server, and the only way it does),
//! `lease` (a connection that comes back clean or not at all), `query` (what reading is),
//! `database` (connections and cancelling), then `rows`, `types`, `cell` and `literal` (from text to
//! JSON), `params` (from JSON to parameters), `denied` and `lexer` (the second fence), `catalog` and
//! `table` (what there is), `plan` (how a query would run), `guard` (what it may cost), `health`, `advice` and `candidate`
//! (what could be better), `change` and `copy` (writing, where it
//! is allowed), `doctor` (why a database
//! cannot be reached), `watch` (what has changed), `error`.

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
mod doctor;
mod watch;
mod copy;
mod guard;
mod health;
mod advice;
mod candidate;
mod change;
mod sample;
mod error;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub(crate) use advice::Advice;
pub(crate) use catalog::{Kind, Objects, Schema, Search};
pub(crate) use change::{Change, Effect, Proof};
pub(crate) use database::Limits;
pub(crate) use doctor::Diagnosis;
pub(crate) use error::Error;
pub(crate) use guard::{Concern, CostLimits, Guard};
pub(crate) use health::{Area, Health, Order, Posture, ROLE_SQL, TopQuery};
pub(crate) use plan::Plan;
pub(crate) use query::Page;
pub(crate) use rows::{Budget, Column, JsonRow, RowCount};
pub(crate) use sample::Sample;
pub(crate) use table::Table;
pub(crate) use watch::{WATCH_SQL, Watcher};

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
    pub(crate) fn new(
        urls: &[String],
        password: Option<&str>,
        limits: Limits,
        budget: Budget,
    ) -> anyhow::Result<Self> {
        let mut databases: Vec<Arc<Database>> = Vec::new();
        for url in urls {
            let (name, options) = named(url, password)?;
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

    pub(crate) fn watcher(&self, poll: Duration) -> Watcher {
        Watcher::new(&self.databases, poll)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.databases.iter().map(|database| database.name.clone()).collect()
    }

    /// Tries all of them at once.
    pub(crate) async fn diagnose(&self) -> Vec<Diagnosis> {
        futures_util::future::join_all(self.databases.iter().map(doctor::diagnose)).await
    }

    pub(crate) async fn query(
        &self,
        database: Option<&str>,
        sql: String,
        parameters: &[Value],
        max_rows: usize,
        guard: Guard,
        read: RowCount,
    ) -> Result<Page, Error> {
        let sql = UserSql::new(sql)?;
        let budget = Budget { max_rows, ..self.budget };
        let database = self.database(database)?;
        query::run(database, &self.cursors, sql, parameters, budget, guard, read).await
    }

    pub(crate) async fn fetch(
        &self,
        cursor: &str,
        max_rows: usize,
        read: RowCount,
    ) -> Result<Page, Error> {
        query::go_on(&self.cursors, cursor, Budget { max_rows, ..self.budget }, read).await
    }

    pub(crate) async fn explain(
        &self,
        database: Option<&str>,
        sql: String,
        parameters: &[Value],
        analyze: bool,
        guard: Guard,
    ) -> Result<Plan, Error> {
        let sql = UserSql::new(sql)?;
        plan::explain(self.database(database)?, sql, parameters, analyze, guard).await
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

    pub(crate) async fn health(
        &self,
        database: Option<&str>,
        areas: &[Area],
        limit: u32,
    ) -> Result<Health, Error> {
        health::health(self.database(database)?, areas, limit).await
    }

    pub(crate) async fn posture(&self, database: Option<&str>) -> Result<Posture, Error> {
        health::posture(self.database(database)?).await
    }

    pub(crate) async fn top_queries(
        &self,
        database: Option<&str>,
        order: Order,
        limit: u32,
    ) -> Result<Vec<TopQuery>, Error> {
        health::top_queries(self.database(database)?, order, limit).await
    }

    pub(crate) async fn advise(
        &self,
        database: Option<&str>,
        queries: Vec<String>,
    ) -> Result<Advice, Error> {
        advice::advise(self.database(database)?, queries).await
    }

    pub(crate) fn change(
        &self,
        database: Option<&str>,
        statements: Vec<String>,
        parameters: Vec<Value>,
        proof: Option<Proof>,
    ) -> Result<Change, Error> {
        Change::new(self.database(database)?, statements, parameters, proof)
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
fn named(
    argument: &str,
    password: Option<&str>,
) -> anyhow::Result<(String, sqlx::postgres::PgConnectOptions)> {
    let (name, url) = match argument.split_once('=') {
        Some((name, url)) if !name.contains(':') => (Some(name), url),
        _ => (None, argument),
    };
    // The text of the error would hold the URL, and the URL a password.
    let options = database::options(url, password).map_err(|_| {
        anyhow::anyhow!("a database is given as postgres://USER:PASSWORD@HOST:PORT/NAME")
    })?;
    let name = name.or(options.get_database()).unwrap_or("postgres");
    Ok((name.to_owned(), options))
}
