//! One bus for "this resource changed" and "this list changed".
//!
//! A server publishes once. Each subscriber (a stateful session, or one `subscriptions/listen`
//! stream of 2026-07-28) keeps a set of what has changed since it was last told, so a slow reader
//! costs a bounded set and gets each change once, not a queue without end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::lock::lock;
use crate::outbox::Outbox;

/// A handle to publish changes. Clone it into whatever watches the world.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    bus: Arc<Bus>,
}

/// Asks for another look; see [`Changes::watch`].
pub type Wake = Box<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
struct Bus {
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
    /// Spares publishers the lock while nobody listens.
    has_subscribers: AtomicBool,
    /// Told of each subscription that begins, changes or ends.
    edits: Arc<Notify>,
}

impl Changes {
    /// The contents of the resource at `uri` are different now.
    pub fn resource_updated(&self, uri: &str) {
        self.publish(|filter, pending| {
            if filter.resources.contains(uri) && !pending.resources.contains(uri) {
                pending.resources.insert(uri.to_owned());
            }
        });
    }

    /// `resources/list` answers something else now.
    pub fn resource_list_changed(&self) {
        self.publish(|filter, pending| pending.resource_list |= filter.resource_list);
    }

    /// `tools/list` answers something else now.
    pub fn tool_list_changed(&self) {
        self.publish(|filter, pending| pending.tool_list |= filter.tool_list);
    }

    /// `prompts/list` answers something else now.
    pub fn prompt_list_changed(&self) {
        self.publish(|filter, pending| pending.prompt_list |= filter.prompt_list);
    }

    /// The URIs somebody is subscribed to now, for a server that has to look for changes itself.
    pub fn subscribed(&self) -> BTreeSet<String> {
        let subscribers = lock(&self.bus.subscribers);
        let alive = subscribers.iter().filter_map(Weak::upgrade);
        alive.flat_map(|subscriber| lock(&subscriber.interest).resources.clone()).collect()
    }

    /// Waits until [`Changes::subscribed`] may answer something else than when this was last
    /// called. One task of a server may wait; of two, each would miss what the other is told.
    pub async fn subscriptions_changed(&self) {
        self.bus.edits.notified().await;
    }

    /// Tells subscribers of changes that somebody has to look for, as long as the server runs.
    /// `begin` is called once; it gets what to call when there may be something to see, from any
    /// thread, and gives what looks: called with all URIs that are subscribed to, it names those
    /// whose contents have changed. It may block. It is called whenever it was asked for or the
    /// subscriptions have changed, but not within `pause` of the last time: of a file that is
    /// written all the time nobody wants to hear all the time.
    ///
    /// ```
    /// # use std::{collections::BTreeSet, time::Duration};
    /// # async fn example(changes: mcp::Changes) {
    /// changes.watch(Duration::from_millis(50), |wake| {
    ///     std::thread::spawn(move || wake());
    ///     |uris: &BTreeSet<String>| uris.iter().filter(|uri| uri.starts_with("clock:")).cloned().collect()
    /// });
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime, as [`tokio::spawn`] does.
    pub fn watch<Look>(&self, pause: Duration, begin: impl FnOnce(Wake) -> Look)
    where
        Look: FnMut(&BTreeSet<String>) -> BTreeSet<String> + Send + 'static,
    {
        let wanted = Arc::new(Notify::new());
        let waker = Arc::clone(&wanted);
        let mut look = begin(Box::new(move || waker.notify_one()));
        let changes = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = changes.subscriptions_changed() => {}
                    () = wanted.notified() => {}
                }
                let uris = changes.subscribed();
                let looking = tokio::task::spawn_blocking(move || {
                    let changed = look(&uris);
                    (look, changed)
                });
                let Ok((same, changed)) = looking.await else {
                    return tracing::error!("resources are watched no more");
                };
                look = same;
                changed.iter().for_each(|uri| changes.resource_updated(uri));
                tokio::time::sleep(pause).await;
            }
        });
    }

    /// The task is in another state now.
    pub(crate) fn task_changed(&self, id: &str) {
        self.publish(|filter, pending| {
            if filter.tasks.contains(id) {
                pending.tasks.insert(id.to_owned());
            }
        });
    }

    pub(crate) fn subscribe(&self, interest: Interest, outbox: &Arc<Outbox>) -> Arc<Subscriber> {
        let subscriber = Arc::new(Subscriber {
            interest: Mutex::new(interest),
            pending: Mutex::default(),
            outbox: Arc::clone(outbox),
            edits: Arc::clone(&self.bus.edits),
        });
        let mut subscribers = lock(&self.bus.subscribers);
        subscribers.retain(|other| other.strong_count() > 0);
        subscribers.push(Arc::downgrade(&subscriber));
        self.bus.has_subscribers.store(true, Ordering::Release);
        self.bus.edits.notify_one();
        subscriber
    }

    fn publish(&self, mark: impl Fn(&Interest, &mut Interest)) {
        if !self.bus.has_subscribers.load(Ordering::Acquire) {
            return;
        }
        for subscriber in lock(&self.bus.subscribers).iter().filter_map(Weak::upgrade) {
            let interest = lock(&subscriber.interest);
            let mut pending = lock(&subscriber.pending);
            let nothing_before = pending.is_empty();
            mark(&interest, &mut pending);
            if nothing_before && !pending.is_empty() {
                subscriber.outbox.wake();
            }
        }
    }
}

/// What a subscriber wants to hear of, or has yet to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interest {
    pub(crate) tool_list: bool,
    pub(crate) prompt_list: bool,
    pub(crate) resource_list: bool,
    pub(crate) resources: BTreeSet<String>,
    /// By id (2026-07-28).
    pub(crate) tasks: BTreeSet<String>,
}

impl Interest {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One listener; dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct Subscriber {
    interest: Mutex<Interest>,
    pending: Mutex<Interest>,
    outbox: Arc<Outbox>,
    edits: Arc<Notify>,
}

impl Subscriber {
    /// What changed since the last call.
    pub(crate) fn take_pending(&self) -> Interest {
        std::mem::take(&mut lock(&self.pending))
    }

    /// Changes what this subscriber listens to; forgets what is no longer of interest.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce(&mut Interest) -> T) -> T {
        let mut interest = lock(&self.interest);
        let answer = edit(&mut interest);
        lock(&self.pending).resources.retain(|uri| interest.resources.contains(uri));
        self.edits.notify_one();
        answer
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.edits.notify_one();
    }
}
