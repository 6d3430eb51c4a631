//! A connection on loan, with a transaction open on it that cannot write, unless it is told to.
//!
//! Whatever happens to the call that has it, it comes back clean or not at all. A call that is
//! cancelled is dropped half-way: then the server is told to stop the query, through another
//! connection, and this one is used again when it has answered. Dropping sqlx's future alone would
//! leave the query running and the next user of the connection waiting for it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor, Row};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::database::Database;
use super::error::Error;

/// Leaves nothing of a call behind: open cursors, notifications, settings, roles, locks that
/// outlive a transaction. `DISCARD ALL` would cost as much and also close the pooler's statements.
const RESET: &str = "ROLLBACK; CLOSE ALL; UNLISTEN *; RESET ALL; RESET SESSION AUTHORIZATION; \
    DEALLOCATE ALL; SELECT pg_catalog.pg_advisory_unlock_all()";

/// How long after a cancellation the connection may take to answer, and how often it is told.
const CANCEL_ATTEMPTS: u32 = 8;
const FIRST_CANCEL_WAIT: Duration = Duration::from_millis(20);

pub(crate) struct Lease {
    loan: Option<Loan>,
}

struct Loan {
    connection: PgConnection,
    pid: i32,
    database: Arc<Database>,
    is_reusable: bool,
    /// Given back last, so that nobody finds the pool empty with a permit in hand.
    _permit: OwnedSemaphorePermit,
}

/// What the transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// The same, for questions of this program's own: as the login role itself.
    Inspect,
    Write,
}

impl Lease {
    /// Takes a connection and opens a transaction on it.
    pub(crate) async fn begin(database: &Arc<Database>, access: Access) -> Result<Self, Error> {
        let permit = database.permit().await?;
        // Idle connections may be dead after a restart of the server; they are no reason to fail.
        while let Some(mut connection) = database.take_idle() {
            match within(database, open_transaction(&mut connection, database, access)).await {
                Ok(Ok(pid)) => return Ok(Self::of(connection, pid, database, permit)),
                Ok(Err(_)) => {}
                // The network has stalled, and so have the others.
                Err(_) => database.forget_idle(),
            }
        }
        let mut connection = database.connect().await?;
        let opened = within(database, open_transaction(&mut connection, database, access)).await;
        let pid = opened.unwrap_or_else(|_| Err(database.silent()))?;
        let warm = Arc::clone(database);
        tokio::spawn(async move { warm.open_control().await });
        Ok(Self::of(connection, pid, database, permit))
    }

    fn of(
        connection: PgConnection,
        pid: i32,
        database: &Arc<Database>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        database.started(pid);
        let database = Arc::clone(database);
        Self { loan: Some(Loan { connection, pid, database, is_reusable: true, _permit: permit }) }
    }

    pub(crate) fn database(&self) -> Option<&Arc<Database>> {
        self.loan.as_ref().map(|loan| &loan.database)
    }

    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, Error> {
        let loan = self.loan.as_mut();
        loan.map(|loan| &mut loan.connection)
            .ok_or_else(|| Error::Unexpected("a lease was used after its end".to_owned()))
    }

    /// Closes the connection at the end: something is on it that no reset takes away.
    pub(crate) fn do_not_reuse(&mut self) {
        if let Some(loan) = &mut self.loan {
            loan.is_reusable = false;
        }
    }

    /// Undoes everything and gives the connection back.
    pub(crate) async fn rollback(mut self) {
        // The loan stays where it is while this waits, for the case that this is dropped too.
        let Some(loan) = &mut self.loan else { return };
        let clean = within(&loan.database, reset(&mut loan.connection)).await;
        let clean = matches!(clean, Ok(Ok(())));
        if let Some(loan) = self.loan.take() {
            if clean { loan.give_back() } else { loan.close() }
        }
    }

    /// The same, after whoever waits for the answer has it. Nobody else gets the connection before.
    pub(crate) fn rollback_later(self) {
        tokio::spawn(self.rollback());
    }

    /// Keeps what was written. A failure leaves nothing written.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.connection()?.execute("COMMIT").await?;
        // Temporary tables and the last values of sequences outlive it, and are nobody else's.
        let forget = sqlx::raw_sql("DISCARD TEMP; DISCARD SEQUENCES");
        if self.connection()?.execute(forget).await.is_err() {
            self.do_not_reuse();
        }
        self.rollback().await;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(loan) = self.loan.take() else { return };
        // Without a runtime the process is ending, and `Database` stops what runs.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(loan.cancel());
        }
    }
}

impl Loan {
    async fn cancel(mut self) {
        let database = Arc::clone(&self.database);
        let pid = self.pid;
        let clean = {
            let resetting = reset(&mut self.connection);
            tokio::pin!(resetting);
            let mut clean = false;
            for attempt in 0..CANCEL_ATTEMPTS {
                // Told again, in case it was between two statements the first time.
                if !database.cancel(pid).await {
                    break;
                }
                let wait = FIRST_CANCEL_WAIT * 2_u32.pow(attempt);
                if let Ok(done) = timeout(wait, &mut resetting).await {
                    clean = done.is_ok();
                    break;
                }
            }
            clean
        };
        if clean { self.give_back() } else { self.close() }
    }

    fn give_back(self) {
        if !self.is_reusable {
            return self.close();
        }
        self.database.ended(self.pid);
        self.database.put_idle(self.connection);
    }

    /// The server notices when the socket closes, or has gone itself.
    fn close(self) {
        self.database.ended(self.pid);
    }
}

/// An answer to one of our own statements takes no longer than a connection does.
async fn within<T>(database: &Database, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    timeout(database.limits.connect_timeout, work).await
}

/// An error that still comes from what was cancelled is not one of the reset.
async fn reset(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    const ERRORS_LEFT_OVER: usize = 3;
    let mut outcome = Ok(());
    for _ in 0..=ERRORS_LEFT_OVER {
        outcome = connection.execute(sqlx::raw_sql(RESET)).await.map(drop);
        match &outcome {
            Err(sqlx::Error::Database(_)) => {}
            _ => break,
        }
    }
    outcome
}

/// Opens the transaction and sets what every answer depends on, so that it does not depend on how
/// the server or the role is configured. Returns the backend's process id, which a pooler may
/// change from one transaction to the next.
async fn open_transaction(
    connection: &mut PgConnection,
    database: &Database,
    access: Access,
) -> Result<i32, Error> {
    let version = connection.server_version_num().unwrap_or_default();
    let opening = opening(database, access, version);
    let row = connection.fetch_one(sqlx::raw_sql(AssertSqlSafe(opening))).await?;
    let pid = row.try_get_raw(0).ok().and_then(|value| value.as_str().ok()?.parse().ok());
    pid.ok_or_else(|| Error::Unexpected("no process id".to_owned()))
}

fn opening(database: &Database, access: Access, version: u32) -> String {
    let limits = &database.limits;
    let millis = |time: Duration| time.as_millis().to_string();
    let idle = limits.statement_timeout + Duration::from_secs(300);
    let mut settings = vec![
        ("statement_timeout", millis(limits.statement_timeout)),
        ("lock_timeout", millis(limits.lock_timeout)),
        ("idle_in_transaction_session_timeout", millis(idle)),
        ("client_min_messages", "error".to_owned()),
        ("standard_conforming_strings", "on".to_owned()),
        ("TimeZone", "UTC".to_owned()),
        ("DateStyle", "ISO, MDY".to_owned()),
        ("IntervalStyle", "iso_8601".to_owned()),
        ("bytea_output", "hex".to_owned()),
        ("extra_float_digits", "1".to_owned()),
        ("lc_monetary", "C".to_owned()),
        ("xmlbinary", "base64".to_owned()),
        ("cursor_tuple_fraction", "1".to_owned()),
        // A cursor cannot have any; so the plans that are looked at are those that run.
        ("max_parallel_workers_per_gather", "0".to_owned()),
    ];
    if version >= 140_000 {
        // Should this program be killed, the server notices within a second.
        settings.push(("client_connection_check_interval", "1000".to_owned()));
    }
    let mode = if access == Access::Write { "READ WRITE" } else { "READ ONLY" };
    let mut sql = format!("BEGIN {mode}");
    for (name, value) in settings {
        sql += &format!("; SET LOCAL {name} = '{value}'");
    }
    let role = role(limits.role.as_deref(), access, version);
    sql += &format!("; SELECT pg_catalog.pg_backend_pid(), {role}");
    sql
}

/// A superuser reads any file of the server and runs programs there, in a read-only transaction
/// too. So a query of a superuser runs as a role that can read all tables and nothing else.
fn role(chosen: Option<&str>, access: Access, version: u32) -> String {
    let set = |value: &str| format!("pg_catalog.set_config('role', {value}, true)");
    match chosen {
        Some(role) => set(&quoted_literal(role)),
        None if access == Access::Read && version >= 140_000 => set(
            "CASE pg_catalog.current_setting('is_superuser') WHEN 'on' THEN 'pg_read_all_data' \
             ELSE pg_catalog.current_setting('role') END",
        ),
        None => "NULL".to_owned(),
    }
}

/// Only for the operator's own words; what a model sends is bound.
fn quoted_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
