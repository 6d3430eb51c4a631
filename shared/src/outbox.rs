//! The queue of bytes on their way to one peer.
//!
//! Everything a connection sends, answers from any task and notifications from any thread, is
//! appended here under one lock, so order and "nothing after the answer" are decided in one place.
//! The owner of the transport takes the bytes out and writes them, many messages at a time.
//!
//! Over stdio one outbox serves a connection to its end. Over HTTP each request has one of its own,
//! which is [`End`]ed by the answer; it may lie there for long after, for a client that comes back.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::lock::lock;

/// While this much waits to be written, no more is read from the peer: a client that sends
/// without reading cannot make us grow. Large enough for thousands of answers, so that a client
/// that writes all its calls before it reads the first answer does not lock itself out.
pub(crate) const HIGH_WATER_BYTES: usize = 8 * 1024 * 1024;

/// While this much waits, progress and log notifications are dropped instead of queued.
const NOTIFICATION_WATER_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    ready: Notify,
    /// Told whenever the queue has been emptied.
    #[cfg(feature = "http")]
    emptied: Notify,
    #[cfg(feature = "http")]
    is_for_one_request: bool,
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    end: Option<End>,
    /// The connection may go; the client comes back for the rest.
    is_released: bool,
    /// Held while the request is in flight, which is until its last word.
    #[cfg(feature = "http")]
    lease: Option<crate::http::Lease>,
}

/// The one request an outbox is for is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer has been queued; HTTP calls it so.
    Answered(u16),
    /// The client wants no answer any more.
    Cancelled,
}

#[cfg(feature = "http")]
impl Outbox {
    /// For one request of HTTP, which holds `lease` until it is answered.
    pub(crate) fn leased(lease: crate::http::Lease) -> Self {
        let queue = Queue { lease: Some(lease), ..Queue::default() };
        Self { queue: Mutex::new(queue), is_for_one_request: true, ..Self::default() }
    }

    /// Whether the last word has been queued.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.queue).end.is_some()
    }

    /// Waits until there is room for what another message may lead to.
    pub(crate) async fn room(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.len() < HIGH_WATER_BYTES {
                return;
            }
            emptied.await;
        }
    }

    /// Shows what is queued, and how it ended.
    pub(crate) fn look<T>(
        &self,
        look: impl FnOnce(&mut Vec<u8>, Option<End>, bool) -> Option<T>,
    ) -> Option<T> {
        let mut queue = lock(&self.queue);
        let (end, is_released) = (queue.end, queue.is_released);
        look(&mut queue.bytes, end, is_released)
    }

    /// Whether the connection may go; asked once.
    pub(crate) fn take_release(&self) -> bool {
        std::mem::take(&mut lock(&self.queue).is_released)
    }
}

impl Outbox {
    /// Appends messages, each ended by a newline.
    pub(crate) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut queue = lock(&self.queue);
        let was_empty = queue.bytes.is_empty();
        write(&mut queue.bytes);
        if was_empty && !queue.bytes.is_empty() {
            self.ready.notify_one();
        }
    }

    /// Whether it ends with the answer to one request.
    pub(crate) fn is_for_one_request(&self) -> bool {
        #[cfg(feature = "http")]
        return self.is_for_one_request;
        #[cfg(not(feature = "http"))]
        false
    }

    /// Appends the last message of a request.
    pub(crate) fn finish(&self, end: End, write: impl FnOnce(&mut Vec<u8>)) {
        let mut queue = lock(&self.queue);
        write(&mut queue.bytes);
        queue.end = Some(end);
        #[cfg(feature = "http")]
        drop(queue.lease.take());
        self.ready.notify_one();
    }

    /// Appends a notification that may be lost if the peer reads too slowly. `open` is asked
    /// under the lock: after it has turned false, nothing is appended.
    pub(crate) fn push_notification(
        &self,
        open: impl FnOnce() -> bool,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.push(|bytes| {
            if bytes.len() < NOTIFICATION_WATER_BYTES && open() {
                write(bytes);
            }
        });
    }

    /// Swaps the queued bytes into `target`, which must be empty.
    pub(crate) fn take(&self, target: &mut Vec<u8>) -> Option<End> {
        let mut queue = lock(&self.queue);
        std::mem::swap(&mut queue.bytes, target);
        #[cfg(feature = "http")]
        self.emptied.notify_waiters();
        queue.end
    }

    /// Says that nothing will come for a while: the client may be let go, to come back later.
    pub(crate) fn release(&self) {
        lock(&self.queue).is_released = true;
        self.ready.notify_one();
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.queue).bytes.len()
    }

    /// Wakes the owner although no bytes were queued, for example to look at changes.
    pub(crate) fn wake(&self) {
        self.ready.notify_one();
    }

    /// Wakes everybody who waits, and whoever waits next.
    #[cfg(feature = "http")]
    pub(crate) fn wake_all(&self) {
        self.ready.notify_waiters();
        self.ready.notify_one();
    }

    /// Waits until bytes were queued or [`Outbox::wake`] was called since the last wait.
    pub(crate) async fn ready(&self) {
        self.ready.notified().await;
    }
}
