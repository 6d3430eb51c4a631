//! The queue of bytes on their way to one peer.
//!
//! Everything a connection sends, answers from any task and notifications from any thread, is
//! appended here under one lock, so order and "nothing after the answer" are decided in one place.
//! The owner of the transport takes the bytes out and writes them, many messages at a time.
//!
//! Over stdio one outbox serves a connection to its end. Over HTTP each request has one of its own,
//! which is [`End`]ed by the answer.

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
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    end: Option<End>,
}

/// The one request an outbox is for is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer has been queued; HTTP calls it so.
    Answered(u16),
    /// The client wants no answer any more.
    Cancelled,
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

    /// Appends the last message of a request.
    pub(crate) fn finish(&self, end: End, write: impl FnOnce(&mut Vec<u8>)) {
        let mut queue = lock(&self.queue);
        write(&mut queue.bytes);
        queue.end = Some(end);
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
        queue.end
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.queue).bytes.len()
    }

    /// Wakes the owner although no bytes were queued, for example to look at changes.
    pub(crate) fn wake(&self) {
        self.ready.notify_one();
    }

    /// Waits until bytes were queued or [`Outbox::wake`] was called since the last wait.
    pub(crate) async fn ready(&self) {
        self.ready.notified().await;
    }
}
