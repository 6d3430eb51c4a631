//! Notices that the structure of tables has changed: by asking now and then, and at once where an
//! event trigger of the database tells.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{pending, select_all};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::catalog;
use super::database::Database;
use super::error::Error;

/// Makes the event trigger.
pub(crate) const WATCH_SQL: &str = include_str!("sql/watch.sql");

const FINGERPRINT: &str = include_str!("sql/fingerprint.sql");
const CHANNEL: &str = "mcp_schema";

/// Keeps no database alive by itself.
pub(crate) struct Watcher {
    databases: Vec<Weak<Database>>,
    poll: Duration,
    listeners: HashMap<String, PgListener>,
}

impl Watcher {
    pub(super) fn new(databases: &[Arc<Database>], poll: Duration) -> Self {
        let databases = databases.iter().map(Arc::downgrade).collect();
        Self { databases, poll, listeners: HashMap::new() }
    }

    /// Another text whenever the table is another; `None` if there is none.
    pub(crate) async fn fingerprint(
        &self,
        database: &str,
        schema: Option<&str>,
        table: &str,
    ) -> Result<Option<String>, Error> {
        let Some(database) = self.database(database) else { return Ok(None) };
        let parameters = [schema.map(str::to_owned), Some(table.to_owned())];
        catalog::ask(&database, FINGERPRINT, &parameters).await
    }

    /// Whether the databases are still there.
    pub(crate) fn is_over(&self) -> bool {
        self.databases.iter().all(|database| database.strong_count() == 0)
    }

    /// Waits until it is time to look again, or one of the databases says so.
    pub(crate) async fn pause(&mut self, databases: &BTreeSet<String>) {
        self.listeners.retain(|name, _| databases.contains(name));
        for name in databases {
            if !self.listeners.contains_key(name)
                && let Some(database) = self.database(name)
                && let Some(listener) = listen(&database).await
            {
                self.listeners.insert(name.clone(), listener);
            }
        }
        let told = async {
            if self.listeners.is_empty() {
                return pending().await;
            }
            let each = self.listeners.iter_mut();
            let each = each.map(|(name, listener)| {
                async move { listener.recv().await.err().map(|_| name.clone()) }.boxed()
            });
            select_all(each).await.0
        };
        // A listener that failed is made anew the next time.
        let failed = timeout(self.poll, pin!(told)).await.ok().flatten();
        if let Some(failed) = failed {
            self.listeners.remove(&failed);
        }
    }

    fn database(&self, name: &str) -> Option<Arc<Database>> {
        self.databases.iter().filter_map(Weak::upgrade).find(|database| database.name == name)
    }
}

/// On a connection of its own. Behind a pooler nothing may ever be heard.
async fn listen(database: &Database) -> Option<PgListener> {
    let pool = PgPoolOptions::new().max_connections(1);
    let pool = pool.connect_lazy_with(database.options().clone());
    let listening = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    timeout(database.limits.connect_timeout, listening).await.ok()?.ok()
}
