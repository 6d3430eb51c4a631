//! Reading: a query runs behind a cursor in a read-only transaction that is always rolled back.
//!
//! `DECLARE … CURSOR FOR` makes PostgreSQL itself refuse what is no query. `FETCH` gives every type
//! as text, and as many rows as are wanted. When there are more, the cursor is kept for a while,
//! so that the rest comes from the same snapshot without running the query again.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::database::{Database, lock};
use super::denied;
use super::error::Error;
use super::guard::{self, Guard};
use super::lease::{Access, Lease};
use super::params;
use super::rows::{Budget, Column, Reader, RowCount, Rows};
use super::statement::UserSql;

/// Some rows of a result.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Rows,
    /// Where the rest is, unless this was all.
    pub(crate) cursor: Option<String>,
    pub(crate) elapsed: Duration,
}

/// Cursors that wait for somebody to ask for more.
#[derive(Debug)]
pub(crate) struct Cursors {
    /// At most this many; each holds a connection.
    capacity: usize,
    /// After this long without use a cursor is closed.
    pub(crate) ttl: Duration,
    open: Mutex<HashMap<String, Held>>,
}

struct Held {
    lease: Lease,
    reader: Reader,
    since: Instant,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Runs a query and gives its first rows.
pub(crate) async fn run(
    database: &Arc<Database>,
    cursors: &Arc<Cursors>,
    sql: UserSql,
    parameters: &[Value],
    budget: Budget,
    guard: Guard,
    read: RowCount,
) -> Result<Page, Error> {
    denied::check(sql.text())?;
    let started = Instant::now();
    let mut lease = Lease::begin(database, Access::Read).await?;
    let mut reader = Reader::new(read);
    match first_rows(&mut lease, database, &mut reader, &sql, parameters, budget, guard).await {
        Ok(rows) => Ok(finish(cursors, lease, reader, rows, started)),
        Err(error) => {
            lease.rollback().await;
            Err(error)
        }
    }
}

/// The next rows behind a cursor. A cursor is good for one use; the answer names the next.
pub(crate) async fn go_on(
    cursors: &Arc<Cursors>,
    cursor: &str,
    budget: Budget,
    read: RowCount,
) -> Result<Page, Error> {
    let started = Instant::now();
    let held = lock(&cursors.open).remove(cursor);
    let Some(Held { mut lease, mut reader, .. }) = held else {
        return Err(Error::CursorGone { ttl: cursors.ttl });
    };
    reader.read = read;
    let Some(database) = lease.database().cloned() else {
        return Err(Error::CursorGone { ttl: cursors.ttl });
    };
    let rows = match lease.connection() {
        Ok(connection) => reader.next(connection, &database.types, budget).await,
        Err(error) => Err(error),
    };
    match rows {
        Ok(rows) => Ok(finish(cursors, lease, reader, rows, started)),
        Err(error) => {
            lease.rollback().await;
            Err(error)
        }
    }
}

async fn first_rows(
    lease: &mut Lease,
    database: &Database,
    reader: &mut Reader,
    sql: &UserSql,
    parameters: &[Value],
    budget: Budget,
    guard: Guard,
) -> Result<Rows, Error> {
    let connection = lease.connection()?;
    let arguments = params::bind(connection, sql, parameters).await?;
    let declared = sql.declare(connection, arguments.clone()).await?;
    if guard == Guard::On {
        let limits = database.limits.cost;
        guard::check(connection, declared, arguments.clone(), limits, budget.max_rows).await?;
    }
    let rows = reader.next(connection, &database.types, budget).await?;
    if rows.rows.is_empty() && reader.columns.is_empty() {
        reader.describe_empty(connection, &database.types, sql, arguments).await?;
    }
    Ok(rows)
}

fn finish(
    cursors: &Arc<Cursors>,
    lease: Lease,
    reader: Reader,
    rows: Rows,
    started: Instant,
) -> Page {
    let columns = reader.columns.clone();
    let elapsed = started.elapsed();
    let cursor = if rows.has_more {
        cursors.keep(Held { lease, reader, since: Instant::now() })
    } else {
        lease.rollback_later();
        None
    };
    Page { columns, rows, cursor, elapsed }
}

impl Cursors {
    pub(crate) fn new(capacity: usize, ttl: Duration) -> Arc<Self> {
        Arc::new(Self { capacity, ttl, open: Mutex::default() })
    }

    /// Keeps a cursor until it is asked for, or too old, or the oldest of too many.
    fn keep(self: &Arc<Self>, held: Held) -> Option<String> {
        if self.capacity == 0 {
            return None;
        }
        let name = random_name();
        let mut open = lock(&self.open);
        if open.len() >= self.capacity {
            let oldest = open.iter().min_by_key(|(_, held)| held.since);
            let oldest = oldest.map(|(name, _)| name.clone());
            // A dropped lease is cancelled and given back.
            drop(oldest.and_then(|name| open.remove(&name)));
        }
        open.insert(name.clone(), held);
        drop(open);
        let cursors = Arc::downgrade(self);
        let (forgotten, ttl) = (name.clone(), self.ttl);
        tokio::spawn(async move {
            tokio::time::sleep(ttl).await;
            if let Some(cursors) = cursors.upgrade() {
                drop(lock(&cursors.open).remove(&forgotten));
            }
        });
        Some(name)
    }
}

/// Nobody guesses it: the standard library's hash keys are random numbers of the system's.
pub(super) fn random_name() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}
