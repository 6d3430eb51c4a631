//! Through the protocol, in memory, against a real PostgreSQL that each run starts for itself.
//!
//! `query` is the read path, `types` every type's rule, `bypass` what must not get through,
//! `lexer` the names in SQL, `guard` what a query may cost, `health` what could be better, `look` what there is, `write` what
//! `--allow-write` adds, `reports` what was reported of others, `pages` results and tables as resources, `connections` how databases are reached, `cancel` and `faults` what happens when nobody waits or something breaks.

#[expect(unreachable_pub, reason = "the workspace's own tests publish the same file")]
mod cluster;
mod query;
mod types;
mod bypass;
mod lexer;
mod guard;
mod health;
mod look;
mod write;
mod pages;
mod reports;
mod connections;
mod cancel;
mod faults;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Parser;
use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::config::Config;
use crate::server;
use cluster::Cluster;

/// What every test's database begins with.
const FIXTURE: &str = include_str!("../fixtures/shop.sql");

/// A database of its own for one test, in a server that all tests of this process share.
struct TestDatabase {
    name: String,
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start("shop", FIXTURE).unwrap())
}

impl TestDatabase {
    async fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let mut admin = PgConnection::connect(&cluster().url("postgres")).await.unwrap();
        run(&mut admin, &format!("CREATE DATABASE {name} TEMPLATE shop")).await;
        Self { name }
    }

    fn url(&self) -> String {
        cluster().url(&self.name)
    }

    fn url_as(&self, role: &str) -> String {
        cluster().url_as(role, &self.name)
    }

    /// A superuser's connection beside the server under test.
    async fn admin(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.unwrap()
    }

    async fn connect(&self) -> Client {
        connect(&[&self.url()], Revision::V2025_11_25).await
    }
}

/// Any statements, as a superuser.
async fn run(connection: &mut PgConnection, sql: &str) {
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap_or_else(|error| {
        panic!("{sql}: {error}");
    });
}

/// One value as text.
async fn value(connection: &mut PgConnection, sql: &str) -> Option<String> {
    let query = sqlx::query_scalar::<_, Option<String>>(AssertSqlSafe(sql));
    query.persistent(false).fetch_one(connection).await.unwrap()
}

fn config(arguments: &[&str]) -> Config {
    let program = [env!("CARGO_PKG_NAME")];
    Config::parse_from(program.iter().chain(arguments))
}

async fn connect(arguments: &[&str], revision: Revision) -> Client {
    connect_answering(arguments, revision, Answering::nothing()).await
}

async fn connect_answering(arguments: &[&str], revision: Revision, answering: Answering) -> Client {
    let server = server(config(arguments)).unwrap();
    Client::in_memory(server, revision, answering).await.unwrap()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> ToolAnswer {
    client.call_tool(tool, arguments).await.unwrap()
}

/// The structured result of a call that must succeed.
async fn result(client: &Client, tool: &str, arguments: Value) -> Value {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.structured
}

/// The text of a call that must fail.
async fn refusal(client: &Client, tool: &str, arguments: Value) -> String {
    let answer = call(client, tool, arguments.clone()).await;
    assert!(answer.is_error, "{tool} {arguments}: {}", answer.text());
    answer.text()
}
