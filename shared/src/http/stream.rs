//! A stream of events that outlives the connection it is read on: a client that lost it comes back
//! with the id of the last event it has seen, and gets what followed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::events::{Next, Source, messages, write_event};
use super::sessions::HttpSession;
use crate::lock::lock;
use crate::outbox::Outbox;

/// What has been sent is kept up to this much, in case it did not arrive.
const KEPT_BYTES: usize = 64 * 1024;

/// How long a client whose connection we closed should wait before it comes back.
const RETRY_MS: u64 = 100;

pub(super) struct Stream {
    number: u64,
    has_ids: bool,
    outbox: Arc<Outbox>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sent and not yet sent, oldest first.
    events: VecDeque<Event>,
    last_event: u64,
    /// Up to which event a reader has been given everything.
    sent: u64,
    kept_bytes: usize,
    /// Tells the reader that came last from those before it.
    reader: u64,
    has_reader: bool,
    is_over: bool,
}

struct Event {
    number: u64,
    message: Vec<u8>,
}

impl Stream {
    /// For what belongs to no request.
    pub(super) fn standing(outbox: Arc<Outbox>) -> Self {
        Self::resumable(0, outbox)
    }

    pub(super) fn resumable(number: u64, outbox: Arc<Outbox>) -> Self {
        Self { number, has_ids: true, outbox, state: Mutex::default() }
    }

    /// For 2024-11-05, where a lost connection is a lost session.
    pub(super) fn single(outbox: Arc<Outbox>) -> Self {
        Self { has_ids: false, ..Self::resumable(0, outbox) }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    pub(super) fn is_resumable(&self) -> bool {
        self.has_ids
    }

    /// The last event that has been sent to anybody.
    pub(super) fn sent(&self) -> u64 {
        lock(&self.state).sent
    }

    pub(super) fn has_reader(&self) -> bool {
        lock(&self.state).has_reader
    }

    /// Whether there has been such an event.
    pub(super) fn has_had(&self, event: u64) -> bool {
        event <= lock(&self.state).last_event
    }

    /// Everything has been sent.
    pub(super) fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.is_over && state.sent == state.last_event
    }

    /// Everything has been said, and nobody is there to read it.
    pub(super) fn is_left(&self) -> bool {
        let state = lock(&self.state);
        !state.has_reader && (state.is_over || self.outbox.has_ended())
    }

    pub(super) fn end(&self) {
        lock(&self.state).is_over = true;
        self.outbox.wake_all();
    }

    /// A reader of what comes after event `after`. Whoever read before reads no more.
    pub(super) fn read(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
        after: u64,
        preamble: Vec<u8>,
    ) -> Reader {
        let mut state = lock(&self.state);
        state.reader += 1;
        state.has_reader = true;
        let number = state.reader;
        drop(state);
        self.outbox.wake_all();
        Reader {
            stream: Arc::clone(self),
            session: Arc::clone(session),
            number,
            sent: after,
            preamble: Some(preamble).filter(|preamble| !preamble.is_empty()),
        }
    }

    /// The event that gives a client something to come back with before there is any message
    /// (2025-11-25).
    pub(super) fn priming(&self) -> Vec<u8> {
        format!("id: {}\nretry: {RETRY_MS}\ndata: \n\n", event_id(self.number, 0)).into_bytes()
    }
}

/// What an event is called: its stream, and its place there.
fn event_id(stream: u64, event: u64) -> String {
    format!("{stream}-{event}")
}

/// The stream and the place an id names.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// One connection's reading of a stream.
pub(super) struct Reader {
    stream: Arc<Stream>,
    session: Arc<HttpSession>,
    number: u64,
    sent: u64,
    /// Goes before everything else.
    preamble: Option<Vec<u8>>,
}

impl Reader {
    /// Takes what has been queued into the stream's memory.
    fn collect(&self, state: &mut State) {
        if self.stream.number == 0 {
            self.session.session.flush_changes();
        }
        let mut bytes = Vec::new();
        state.is_over |= self.stream.outbox.take(&mut bytes).is_some() && self.stream.number > 0;
        for message in messages(&bytes) {
            state.last_event += 1;
            state.kept_bytes += message.len();
            let event = Event { number: state.last_event, message: message.to_owned() };
            state.events.push_back(event);
        }
    }

    fn unsent(&mut self, state: &mut State) -> Vec<u8> {
        let mut out = Vec::new();
        for event in state.events.iter().filter(|event| event.number > self.sent) {
            let id = self.stream.has_ids.then(|| event_id(self.stream.number, event.number));
            write_event(&mut out, id.as_deref(), &event.message);
        }
        self.sent = state.last_event.max(self.sent);
        state.sent = state.sent.max(self.sent);
        while state.kept_bytes > KEPT_BYTES || !self.stream.has_ids {
            let Some(event) = state.events.pop_front() else {
                break;
            };
            state.kept_bytes -= event.message.len();
        }
        out
    }
}

impl Source for Reader {
    fn outbox(&self) -> &Arc<Outbox> {
        &self.stream.outbox
    }

    fn next(&mut self) -> Next {
        if let Some(preamble) = self.preamble.take() {
            return Next::Events(preamble);
        }
        let stream = Arc::clone(&self.stream);
        let mut state = lock(&stream.state);
        if state.reader != self.number {
            return Next::End;
        }
        self.collect(&mut state);
        let events = self.unsent(&mut state);
        if !events.is_empty() {
            return Next::Events(events);
        }
        if state.is_over || stream.outbox.take_release() { Next::End } else { Next::Nothing }
    }

    fn close(&mut self) {
        // What a request still leads to is waited for; of what may come some day there is no end.
        if self.stream.number == 0 {
            self.stream.end();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.session.touch();
        let mut state = lock(&self.stream.state);
        if state.reader == self.number {
            state.has_reader = false;
        }
    }
}
