//! One bus for "this resource changed" and "this list changed".
//!
//! A server publishes once. Each subscriber (a stateful session, or one `subscriptions/listen`
//! stream of 2026-07-28) keeps a set of what has changed since it was last told, so a slow reader
//! costs a bounded set and gets each change once, not a queue without end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;
use crate::outbox::Outbox;

/// A handle to publish changes. Clone it into whatever watches the world.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    bus: Arc<Bus>,
}

#[derive(Debug, Default)]
struct Bus {
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
    /// Spares publishers the lock while nobody listens.
    has_subscribers: AtomicBool,
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

    pub(crate) fn subscribe(&self, interest: Interest, outbox: &Arc<Outbox>) -> Arc<Subscriber> {
        let subscriber = Arc::new(Subscriber {
            interest: Mutex::new(interest),
            pending: Mutex::default(),
            outbox: Arc::clone(outbox),
        });
        let mut subscribers = lock(&self.bus.subscribers);
        subscribers.retain(|other| other.strong_count() > 0);
        subscribers.push(Arc::downgrade(&subscriber));
        self.bus.has_subscribers.store(true, Ordering::Release);
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
}

impl Interest {
    pub(crate) fn is_empty(&self) -> bool {
        !self.tool_list && !self.prompt_list && !self.resource_list && self.resources.is_empty()
    }
}

/// One listener; dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct Subscriber {
    interest: Mutex<Interest>,
    pending: Mutex<Interest>,
    outbox: Arc<Outbox>,
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
        answer
    }
}
