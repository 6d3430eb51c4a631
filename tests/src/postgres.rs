//! The database that `mcp-postgres` is shown and checked on: a throw-away server, started when it
//! is first asked for and gone with this process.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::cluster::Cluster;

/// What stands for its URL in a server's arguments.
pub const PLACEHOLDER: &str = "{postgres}";

/// The URL of the database `shop`, filled from the server's fixtures.
pub fn url() -> Result<String> {
    static CLUSTER: Mutex<Option<Cluster>> = Mutex::new(None);
    let mut cluster = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    if cluster.is_none() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fixture = tests.join("../crates/postgres/fixtures/shop.sql");
        let sql = std::fs::read_to_string(&fixture)
            .with_context(|| format!("reading {}", fixture.display()))?;
        *cluster = Some(Cluster::start("shop", &sql)?);
    }
    cluster.as_ref().map(|cluster| cluster.url("shop")).context("no database")
}
