//! One database: how it is reached, how many connections there may be, and what runs on them.
//!
//! The pool is our own, because what must happen to a connection whose query nobody waits for any
//! more is this server's business: see [`super::lease`].

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::doctor::diagnosis;
use super::error::Error;
use super::guard::CostLimits;
use super::types::Types;

/// Limits of one database.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Connections for queries; one more is kept for cancelling.
    pub(crate) connections: usize,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    /// How long a query waits for a connection.
    pub(crate) acquire_timeout: Duration,
    /// The role queries run as; `None`: see [`super::lease`].
    pub(crate) role: Option<String>,
    pub(crate) cost: CostLimits,
    /// Whose files may be loaded.
    pub(crate) load_dir: Option<PathBuf>,
}

pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) limits: Limits,
    pub(crate) types: Types,
    options: PgConnectOptions,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<PgConnection>>,
    /// Process ids of backends that may be running something.
    running: Mutex<HashSet<i32>>,
    /// Cancels what runs on the others, so it is never used for anything that could be slow.
    control: tokio::sync::Mutex<Option<PgConnection>>,
}

/// A server that is there answers at once, and others wait for their turn.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(2);

impl Database {
    pub(crate) fn new(name: String, options: PgConnectOptions, limits: Limits) -> Self {
        let permits = Arc::new(Semaphore::new(limits.connections));
        Self {
            name,
            limits,
            types: Types::default(),
            options,
            permits,
            idle: Mutex::default(),
            running: Mutex::default(),
            control: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Waits for the right to use one connection.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let waited = self.limits.acquire_timeout;
        match timeout(waited, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Busy {
                database: self.name.clone(),
                connections: self.limits.connections,
                waited,
            }),
        }
    }

    /// Whether a call would have a connection without waiting for one.
    pub(super) fn has_free_connection(&self) -> bool {
        self.permits.available_permits() > 0
    }

    pub(super) fn take_idle(&self) -> Option<PgConnection> {
        lock(&self.idle).pop()
    }

    pub(super) fn put_idle(&self, connection: PgConnection) {
        lock(&self.idle).push(connection);
    }

    pub(super) fn forget_idle(&self) {
        lock(&self.idle).clear();
    }

    pub(super) async fn connect(&self) -> Result<PgConnection, Error> {
        let connecting = PgConnection::connect_with(&self.options);
        let connected = timeout(self.limits.connect_timeout, connecting).await;
        let connected = connected.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut));
        connected.map_err(|cause| self.unreachable(cause))
    }

    fn unreachable(&self, cause: sqlx::Error) -> Error {
        let failure = diagnosis(&cause);
        Error::Unreachable { database: self.name.clone(), failure, cause }
    }

    /// It was reached, and then said nothing.
    pub(super) fn silent(&self) -> Error {
        self.unreachable(sqlx::Error::PoolTimedOut)
    }

    pub(super) fn started(&self, pid: i32) {
        lock(&self.running).insert(pid);
    }

    pub(super) fn ended(&self, pid: i32) {
        lock(&self.running).remove(&pid);
    }

    /// Has the server stop what the backend `pid` is doing. `false` if it could not be told.
    pub(super) async fn cancel(&self, pid: i32) -> bool {
        let mut control = self.control.lock().await;
        // A connection that has gone stale shows it here; the second try has a new one.
        for _ in 0..2 {
            let connection = match control.take() {
                Some(connection) => connection,
                None => match self.connect().await {
                    Ok(connection) => connection,
                    Err(error) => {
                        tracing::warn!(database = self.name, "cannot cancel a query: {error:?}");
                        return false;
                    }
                },
            };
            let mut connection = connection;
            let told = timeout(CONTROL_TIMEOUT, cancel(&mut connection, pid)).await;
            if matches!(told, Ok(Ok(()))) {
                *control = Some(connection);
                return true;
            }
        }
        false
    }

    /// Opens the connection for cancelling ahead of the first time it is needed.
    pub(super) async fn open_control(&self) {
        let mut control = self.control.lock().await;
        if control.is_none() {
            *control = self.connect().await.ok();
        }
    }
}

/// The process ends, or the server is dropped by a test: whatever still runs is stopped, and this
/// waits for it, because nobody can any more.
impl Drop for Database {
    fn drop(&mut self) {
        let pids: Vec<i32> = lock(&self.running).drain().collect();
        if pids.is_empty() {
            return;
        }
        let options = self.options.clone();
        // A runtime of its own: this one may be shutting down.
        let stopper = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let cancelling = async {
                let mut connection = PgConnection::connect_with(&options).await?;
                for pid in pids {
                    cancel(&mut connection, pid).await?;
                }
                Ok::<_, sqlx::Error>(())
            };
            runtime.block_on(async { timeout(Duration::from_secs(1), cancelling).await })??;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
        if let Ok(Err(error)) = stopper.join() {
            tracing::warn!(database = self.name, "cannot cancel at the end: {error:?}");
        }
    }
}

async fn cancel(connection: &mut PgConnection, pid: i32) -> Result<(), sqlx::Error> {
    // One that has gone by itself is nothing to warn of.
    let query = sqlx::query(
        "SELECT pg_catalog.pg_cancel_backend(pid) FROM pg_catalog.pg_stat_activity WHERE pid = $1",
    )
    .bind(pid);
    connection.execute(query.persistent(false)).await.map(drop)
}

/// `password@host` and the like in URLs are for sqlx; here only what it made of them.
/// `password` is for one that has none.
pub(crate) fn options(url: &str, password: Option<&str>) -> Result<PgConnectOptions, sqlx::Error> {
    use sqlx::ConnectOptions;
    let options: PgConnectOptions = url.parse()?;
    let options = match password {
        Some(password) if !has_password(url) => options.password(password),
        _ => options,
    };
    // Each transaction sets it; poolers refuse it here.
    let options = options.extra_float_digits(None);
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(env!("CARGO_PKG_NAME")),
    };
    // Nothing is prepared under a name, so there is nothing to keep, and statements are not logged.
    Ok(options.statement_cache_capacity(0).disable_statement_logging())
}

fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
        || url.contains("?password=")
        || url.contains("&password=")
}

/// What these hold is changed in one step each, so it is right even after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
