//! Says at which step reaching a database fails, and what mends it. The words are for the model too,
//! so they give no address away.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Row};
use tokio::time::timeout;

use super::database::Database;
use super::error::sqlstate;

/// What is known of one database after it has been tried.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Diagnosis {
    name: String,
    reachable: bool,
    /// The step that failed, or `done`: `name`, `socket`, `tcp`, `tls`, `login`, `query`.
    stage: &'static str,
    /// For each step that was done.
    elapsed_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    /// What would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<bool>,
    /// A pooler (PgBouncer or the like) stands between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pooler: Option<bool>,
}

/// What went wrong, in which step, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: &'static str,
    pub(crate) problem: &'static str,
    pub(crate) fix: &'static str,
}

const fn failure(stage: &'static str, problem: &'static str, fix: &'static str) -> Failure {
    Failure { stage, problem, fix }
}

pub(crate) async fn diagnose(database: &Arc<Database>) -> Diagnosis {
    let started = Instant::now();
    let limit = database.limits.connect_timeout;
    let options = database.options();
    let found = match reach(options, limit).await {
        Err(failure) => Err(failure),
        Ok(()) => ask(options, limit).await,
    };
    let elapsed_ms = (started.elapsed().as_secs_f64() * 10_000.0).round() / 10.0;
    let name = database.name.clone();
    match found {
        Ok((version, encrypted, pooler)) => Diagnosis {
            name,
            reachable: true,
            stage: "done",
            elapsed_ms,
            problem: None,
            fix: None,
            version: Some(version),
            encrypted,
            pooler: Some(pooler),
        },
        Err(Failure { stage, problem, fix }) => Diagnosis {
            name,
            reachable: false,
            stage,
            elapsed_ms,
            problem: Some(problem),
            fix: Some(fix),
            version: None,
            encrypted: None,
            pooler: None,
        },
    }
}

/// To the host, without a word of PostgreSQL's.
async fn reach(options: &PgConnectOptions, limit: Duration) -> Result<(), Failure> {
    let (host, port) = (options.get_host().to_owned(), options.get_port());
    let folder = options.get_socket().cloned();
    let folder = folder.or_else(|| host.starts_with('/').then(|| PathBuf::from(&host)));
    if let Some(folder) = folder {
        let socket = folder.join(format!(".s.PGSQL.{port}"));
        return if socket.exists() { Ok(()) } else { Err(NO_SOCKET) };
    }
    let looking = tokio::net::lookup_host((host.as_str(), port));
    let Ok(Ok(addresses)) = timeout(limit, looking).await else { return Err(NO_HOST) };
    let addresses: Vec<_> = addresses.collect();
    match timeout(limit, tokio::net::TcpStream::connect(&*addresses)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Err(REFUSED),
        Ok(Err(_)) | Err(_) => Err(UNREACHED),
    }
}

async fn ask(
    options: &PgConnectOptions,
    limit: Duration,
) -> Result<(String, Option<bool>, bool), Failure> {
    let asking = async {
        let mut connection = PgConnection::connect_with(options).await?;
        let query = sqlx::query(
            "SELECT pg_catalog.current_setting('server_version'),
                (SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid())",
        );
        let row = sqlx::Executor::fetch_one(&mut connection, query.persistent(false)).await?;
        let told = (row.try_get(0)?, row.try_get(1)?);
        connection.close().await?;
        Ok::<(String, Option<bool>), sqlx::Error>(told)
    };
    let told = timeout(limit, asking).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    let (version, encrypted) = told.map_err(|error| diagnosis(&error))?;
    let pooler = timeout(limit, has_pooler(options)).await.unwrap_or(false);
    // What is encrypted is the pooler's connection, not this one.
    Ok((version, encrypted.filter(|_| !pooler), pooler))
}

/// A setting nobody knows: PostgreSQL keeps it, a pooler refuses it or forgets it.
async fn has_pooler(options: &PgConnectOptions) -> bool {
    let options = options.clone().options([("mcp.probe", "1")]);
    match options.connect().await {
        Ok(mut connection) => {
            let query = sqlx::query("SELECT pg_catalog.current_setting('mcp.probe', true)");
            let row = sqlx::Executor::fetch_one(&mut connection, query.persistent(false)).await;
            let _ = connection.close().await;
            row.is_ok_and(|row| row.try_get::<Option<String>, _>(0).is_ok_and(|set| set.is_none()))
        }
        Err(error) => error.to_string().contains("unsupported startup parameter"),
    }
}

const NO_HOST: Failure =
    failure("name", "the host was not found", "correct the host in the URL, or the name service");
const NO_SOCKET: Failure =
    failure("socket", "its socket is not there", "start the server, or correct `host` in the URL");
const REFUSED: Failure = failure(
    "tcp",
    "nothing listens there",
    "start the server, correct the port, or have it listen there: listen_addresses",
);
const UNREACHED: Failure =
    failure("tcp", "no answer in time", "look at the network and its firewalls");

const NO_TLS: Failure = failure(
    "tls",
    "the encrypted connection could not be set up",
    "correct sslmode or sslrootcert in the URL, or the server's certificate",
);

/// By the error of the driver.
pub(crate) fn diagnosis(error: &sqlx::Error) -> Failure {
    match error {
        sqlx::Error::Tls(_) => NO_TLS,
        sqlx::Error::PoolTimedOut => UNREACHED,
        sqlx::Error::Io(cause) => match cause.kind() {
            std::io::ErrorKind::ConnectionRefused => REFUSED,
            std::io::ErrorKind::NotFound => NO_SOCKET,
            std::io::ErrorKind::PermissionDenied => failure(
                "socket",
                "this program may not open it",
                "run it as a user who may use the server's socket",
            ),
            std::io::ErrorKind::TimedOut => UNREACHED,
            // What the other side sent is not what encryption needs, its certificate for one.
            std::io::ErrorKind::InvalidData => NO_TLS,
            _ => failure(
                "tcp",
                "the connection broke or the host was not found",
                "correct the host in the URL, or look at the network",
            ),
        },
        _ => of_state(error, sqlstate(error).as_deref()),
    }
}

fn of_state(error: &sqlx::Error, state: Option<&str>) -> Failure {
    let text = error.to_string();
    let (problem, fix) = match state {
        Some("28P01") => (
            "the password was refused",
            "correct it in the URL, --password-file, PGPASSWORD or the file of PGPASSFILE",
        ),
        Some("28000") if text.contains("no encryption") || text.contains("SSL off") => (
            "the server takes encrypted connections only",
            "add sslmode=require to the URL, or a line to its pg_hba.conf",
        ),
        Some("28000") => (
            "the server does not let this role in",
            "correct the role in the URL, make it (LOGIN), or add a line to its pg_hba.conf",
        ),
        Some("3D000") => ("the server has no such database", "correct its name in the URL"),
        Some("42501") => {
            ("the role may not connect to this database", "GRANT CONNECT ON DATABASE to the role")
        }
        Some("53300") => (
            "the server has no connection to spare",
            "raise max_connections or the role's CONNECTION LIMIT, or lower --max-connections",
        ),
        Some("57P03") => ("the server is starting or stopping", "wait a moment"),
        Some("08P01") => (
            "the pooler refused the connection",
            "correct the database or the role in the pooler's configuration",
        ),
        // Without a password in hand the driver itself gives up.
        None if text.contains("password") => (
            "the server wants a password",
            "give it in the URL, --password-file, PGPASSWORD or the file of PGPASSFILE",
        ),
        _ => ("the server refused the connection", "look at the log of this program"),
    };
    failure("login", problem, fix)
}
