//! Where the answer to a request goes: straight out, or into the batch it came in.

use std::sync::{Arc, Mutex};

use crate::call::Call;
use crate::lock::lock;
use crate::outbox::{End, HIGH_WATER_BYTES, Outbox};

/// Where the answer to a request goes.
#[derive(Clone)]
pub(crate) enum ReplyTo {
    Stream(Arc<Outbox>),
    Batch(Arc<Batch>),
}

impl ReplyTo {
    /// Appends the answer to a request that did not become a call.
    pub(crate) fn answer(&self, http_status: u16, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Stream(outbox) => outbox.finish(End::Answered(http_status), write),
            Self::Batch(batch) => batch.answer(write),
        }
    }

    /// Where everything but the answer goes.
    pub(crate) fn stream(&self) -> &Arc<Outbox> {
        match self {
            Self::Stream(outbox) => outbox,
            Self::Batch(batch) => &batch.outbox,
        }
    }

    /// Says the last word of a call.
    pub(super) fn finish(&self, call: &Call, end: End, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Stream(_) => call.finish(end, write),
            Self::Batch(batch) => {
                call.fall_silent();
                batch.answer(write);
            }
        }
    }
}

/// The answers to the requests of one JSON-RPC batch (2025-03-26), sent as one array when the
/// last of them is there.
pub(crate) struct Batch {
    outbox: Arc<Outbox>,
    state: Mutex<BatchState>,
}

struct BatchState {
    missing: usize,
    answers: Vec<u8>,
}

impl Batch {
    /// `requests` answers, given or waived, complete the batch.
    pub(crate) fn new(outbox: Arc<Outbox>, requests: usize) -> Arc<Self> {
        let state = Mutex::new(BatchState { missing: requests, answers: Vec::new() });
        Arc::new(Self { outbox, state })
    }

    /// Whether its answers are as long as what may wait for a peer.
    pub(super) fn is_full(&self) -> bool {
        lock(&self.state).answers.len() >= HIGH_WATER_BYTES
    }

    fn answer(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = lock(&self.state);
        let before = state.answers.len();
        write(&mut state.answers);
        if state.answers.len() > before {
            // The message ends with a newline; inside an array it is a comma.
            state.answers.pop();
            state.answers.push(b',');
        }
        state.missing = state.missing.saturating_sub(1);
        if state.missing > 0 {
            return;
        }
        if state.answers.pop().is_none() {
            return self.outbox.finish(End::Cancelled, |_| {});
        }
        self.outbox.finish(End::Answered(200), |out| {
            out.push(b'[');
            out.append(&mut state.answers);
            out.extend_from_slice(b"]\n");
        });
    }
}
