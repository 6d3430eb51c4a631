//! Tells subscribers that a table's structure has changed. Looks only at what somebody is
//! subscribed to.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;

use futures_util::future::select;
use mcp::Changes;
use percent_encoding::percent_decode_str;

use crate::backend::Watcher;

/// Goes on until the server is gone.
pub(crate) async fn watch(changes: Changes, mut watcher: Watcher) {
    // What was seen last of each, where it could be seen.
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    while !watcher.is_over() {
        let wanted = changes.subscribed();
        known.retain(|uri, _| wanted.contains(uri));
        let mut databases = BTreeSet::new();
        for uri in &wanted {
            let Some([database, middle, last]) = segments(uri) else { continue };
            let Some(now) = look(&watcher, &database, &middle, &last).await else { continue };
            databases.insert(database);
            if known.insert(uri.clone(), now.clone()).is_some_and(|before| before != now) {
                changes.resource_updated(uri);
            }
        }
        if databases.is_empty() && wanted.is_empty() {
            changes.subscriptions_changed().await;
            continue;
        }
        let edited = pin!(changes.subscriptions_changed());
        select(edited, pin!(watcher.pause(&databases))).await;
    }
}

/// `None`: it could not be seen; it may be as it was.
async fn look(
    watcher: &Watcher,
    database: &str,
    middle: &str,
    last: &str,
) -> Option<Option<String>> {
    if last == "schema"
        && let Some(found) = watcher.fingerprint(database, None, middle).await.ok()?
    {
        return Some(Some(found));
    }
    watcher.fingerprint(database, Some(middle), last).await.ok()
}

/// Of `postgres://{database}/{schema}/{table}`, and of a column below it.
fn segments(uri: &str) -> Option<[String; 3]> {
    let mut segments = uri.strip_prefix("postgres://")?.split('/');
    let mut next = || Some(percent_decode_str(segments.next()?).decode_utf8().ok()?.into_owned());
    Some([next()?, next()?, next()?])
}
