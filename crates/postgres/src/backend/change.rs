//! Writing, where the operator has allowed it: a change is tried in a transaction that is rolled
//! back, shown, and made only when somebody has said yes to exactly this change with exactly this
//! effect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Executor, Row};

use super::copy::{self, Copy};
use super::database::{Database, lock};
use super::error::Error;
use super::lease::{Access, Lease};
use super::query::random_name;
use super::rows::text;
use super::sample::Sample;
use super::statement::UserSql;
use super::{denied, lexer, params};

/// Statements that belong together: all of them or none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    database: String,
    statements: Vec<UserSql>,
    /// Of the only statement, if there is one only.
    parameters: Vec<Value>,
    proof: Option<Proof>,
}

/// A query that must give exactly one row, this one, after the statements; if not, nothing is done.
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Proof {
    sql: String,
    expected: Vec<Value>,
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Effect {
    /// For each statement.
    pub(crate) rows_affected: Vec<u64>,
    /// What others have to wait for meanwhile, for example `RowExclusiveLock on customer`.
    pub(crate) locks: Vec<String>,
    /// Of small tables.
    pub(crate) samples: Vec<Sample>,
}

/// Tried changes that wait for a yes.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiting: Mutex<HashMap<String, (Change, Effect, Instant)>>,
}

/// What a statement may begin with. What ends a transaction is not here: a COMMIT among the
/// statements would write before anybody has agreed. Procedures and DO blocks cannot end one that
/// is open around them; PostgreSQL sees to that. COPY reads and writes files of the server, runs
/// programs, and has a protocol of its own.
const FIRST_WORDS: &[&str] = &[
    "alter", "analyze", "call", "comment", "create", "delete", "do", "drop", "grant", "insert",
    "lock", "merge", "refresh", "reindex", "revoke", "select", "table", "truncate", "update",
    "values", "with",
];

/// How long a yes may take.
const MAX_WAIT: Duration = Duration::from_secs(600);
const MAX_WAITING: usize = 100;

impl Change {
    pub(crate) fn new(
        database: &Database,
        statements: Vec<String>,
        parameters: Vec<Value>,
        proof: Option<Proof>,
    ) -> Result<Self, Error> {
        if statements.len() != 1 && !parameters.is_empty() {
            return Err(Error::Input("`params` go with one statement only".to_owned()));
        }
        let statements: Vec<_> =
            statements.into_iter().map(UserSql::new).collect::<Result<_, _>>()?;
        statements.iter().try_for_each(check)?;
        if let Some(proof) = &proof {
            denied::check(&proof.sql)?;
        }
        Ok(Self { database: database.name.clone(), statements, parameters, proof })
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }
}

fn check(statement: &UserSql) -> Result<(), Error> {
    if copy::is_copy(statement.text()) {
        return Copy::parse(statement.text()).map(drop);
    }
    denied::check(statement.text())?;
    let first = lexer::names(statement.text()).into_iter().next().unwrap_or_default();
    if FIRST_WORDS.contains(&first.as_str()) {
        return Ok(());
    }
    Err(Error::Input(format!(
        "A statement cannot begin with `{first}` here; what it may begin with: {}",
        FIRST_WORDS.join(", ")
    )))
}

/// What the change would do. Nothing is kept.
pub(crate) async fn try_out(database: &Arc<Database>, change: &Change) -> Result<Effect, Error> {
    let mut lease = Lease::begin(database, Access::Write).await?;
    let mut effect = perform(&mut lease, change).await;
    if let Ok(effect) = &mut effect {
        // They are a help to whoever decides; it is no reason to refuse if there are none.
        effect.samples = match Sample::of(database, lease.connection()?).await {
            Ok(samples) => samples,
            Err(error) => {
                tracing::debug!("no samples of a change: {error:?}");
                Vec::new()
            }
        };
    }
    lease.rollback().await;
    effect
}

/// Makes the change, if it still does what was shown.
pub(crate) async fn make(
    database: &Arc<Database>,
    change: &Change,
    shown: &Effect,
) -> Result<(), Error> {
    let mut lease = Lease::begin(database, Access::Write).await?;
    match perform(&mut lease, change).await {
        Ok(effect) if effect.rows_affected == shown.rows_affected => lease.commit().await,
        Ok(effect) => {
            lease.rollback().await;
            Err(Error::Input(format!(
                "The data has changed meanwhile: {:?} rows would be affected now, {:?} were shown. \
                 Nothing was written; try again",
                effect.rows_affected, shown.rows_affected
            )))
        }
        Err(error) => {
            lease.rollback().await;
            Err(error)
        }
    }
}

async fn perform(lease: &mut Lease, change: &Change) -> Result<Effect, Error> {
    let folder = lease.database().and_then(|database| database.limits.load_dir.clone());
    let connection = lease.connection()?;
    let mut rows_affected = Vec::new();
    for statement in &change.statements {
        if copy::is_copy(statement.text()) {
            let copy = Copy::parse(statement.text())?;
            rows_affected.push(copy.run(connection, folder.as_deref()).await?);
            continue;
        }
        let arguments = params::bind(connection, statement, &change.parameters).await?;
        rows_affected.push(statement.execute(connection, arguments).await?);
    }
    if let Some(proof) = &change.proof {
        proof.hold(connection).await?;
    }
    let rows = connection
        .fetch_all(sqlx::raw_sql(
            "SELECT DISTINCT mode || ' on ' || relation::pg_catalog.regclass
            FROM pg_catalog.pg_locks JOIN pg_catalog.pg_class c ON c.oid = relation
            WHERE pid = pg_catalog.pg_backend_pid() AND mode <> 'AccessShareLock'
                AND relkind IN ('r', 'p', 'm', 'S', 'v', 'f')
            ORDER BY 1",
        ))
        .await?;
    let locks = rows.iter().filter_map(|row| text(row, 0)).collect();
    Ok(Effect { rows_affected, locks, samples: Vec::new() })
}

impl Proof {
    async fn hold(&self, connection: &mut PgConnection) -> Result<(), Error> {
        let sql = UserSql::new(self.sql.clone())?;
        sql.declare(connection, PgArguments::default()).await?;
        let rows = connection.fetch_all(sqlx::raw_sql("FETCH FORWARD 2 FROM mcp_cursor")).await?;
        connection.execute(sqlx::raw_sql("CLOSE mcp_cursor")).await?;
        let [row] = rows.as_slice() else {
            return Err(Error::Input("Nothing was written: `verify` must give one row".to_owned()));
        };
        let found: Vec<Option<String>> = (0..row.len()).map(|column| text(row, column)).collect();
        let same = found.len() == self.expected.len()
            && found.iter().zip(&self.expected).all(|(found, expected)| is_same(found, expected));
        if same {
            return Ok(());
        }
        Err(Error::Input(format!(
            "Nothing was written: `verify` gave {}, not {}",
            serde_json::to_string(&found).unwrap_or_default(),
            serde_json::to_string(&self.expected).unwrap_or_default(),
        )))
    }
}

/// Numbers are the same whether written `2.50`, `2.5` or `"2.5"`.
fn is_same(found: &Option<String>, expected: &Value) -> bool {
    let plain = |text: &str| match text.split_once('.') {
        Some((whole, part)) => {
            format!("{whole}.{}", part.trim_end_matches('0')).trim_end_matches('.').to_owned()
        }
        None => text.to_owned(),
    };
    match (found, expected) {
        (None, Value::Null) => true,
        (Some(found), Value::String(expected)) => plain(found) == plain(expected),
        (Some(found), Value::Bool(expected)) => found == if *expected { "t" } else { "f" },
        (Some(found), Value::Number(expected)) => plain(found) == plain(&expected.to_string()),
        _ => false,
    }
}

impl Pending {
    /// Keeps a change that was tried; the text is needed to make it.
    pub(crate) fn keep(&self, change: Change, effect: Effect) -> String {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, (_, _, since)| since.elapsed() < MAX_WAIT);
        if waiting.len() >= MAX_WAITING {
            let oldest = waiting.iter().min_by_key(|(_, (_, _, since))| *since);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                waiting.remove(&oldest);
            }
        }
        let name = random_name();
        waiting.insert(name.clone(), (change, effect, Instant::now()));
        name
    }

    /// What was shown for this very change, once.
    pub(crate) fn take(&self, name: &str, change: &Change) -> Result<Effect, Error> {
        let gone = || {
            Error::Input(
                "`confirm` is not that of this change, or has expired. Call again without it"
                    .to_owned(),
            )
        };
        let mut waiting = lock(&self.waiting);
        let fits = waiting
            .get(name)
            .is_some_and(|(kept, _, since)| kept == change && since.elapsed() < MAX_WAIT);
        if !fits {
            return Err(gone());
        }
        waiting.remove(name).map(|(_, effect, _)| effect).ok_or_else(gone)
    }
}
