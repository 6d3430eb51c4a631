//! Looks again and again at what somebody has subscribed to, and at nothing else. What has not
//! changed GitHub answers with 304, which costs no rate limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::Changes;
use tokio::time::{Instant, sleep_until};

use super::{parse, text};
use crate::backend::{Backend, Error, text::fingerprint};

/// Never ends. What is not known to have changed, because GitHub did not answer, is looked at again
/// the next time.
pub(crate) async fn watch(backend: Arc<Backend>, changes: Changes) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let wanted = changes.subscribed();
        known.retain(|uri, _| wanted.contains(uri));
        for uri in &wanted {
            if let Some(now) = look(&backend, uri).await {
                let before = known.insert(uri.clone(), now.clone());
                if before.is_some_and(|before| before != now) {
                    changes.resource_updated(uri);
                }
            }
        }
        let next = Instant::now() + backend.poll_interval();
        // A new subscription is looked at once, so that there is something to compare with.
        while Instant::now() < next {
            tokio::select! {
                () = sleep_until(next) => {}
                () = changes.subscriptions_changed() => {
                    for uri in changes.subscribed() {
                        if !known.contains_key(&uri)
                            && let Some(now) = look(&backend, &uri).await
                        {
                            known.insert(uri, now);
                        }
                    }
                }
            }
        }
    }
}

/// What the resource says now, in short; `None` if that cannot be told.
async fn look(backend: &Backend, uri: &str) -> Option<String> {
    let (kind, place) = parse(uri)?;
    match text(&backend.api(&()).impatient(), kind, &place).await {
        Ok(text) => Some(fingerprint(&text)),
        Err(Error::NotFound { .. } | Error::Gone { .. }) => Some("gone".to_owned()),
        Err(_) => None,
    }
}
