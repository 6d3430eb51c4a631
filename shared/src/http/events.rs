//! Server-sent events: messages as they come, for as long as there are some.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::watch;

use super::Front;
use crate::outbox::{End, Outbox};

/// After this long without a message a comment is sent, so that nobody on the way takes the
/// connection for dead, and a client that has gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const COMMENT: &[u8] = b":\n\n";

/// Where the events of one response come from.
pub(super) trait Source: Send {
    /// What has to be waited for when there is nothing.
    fn outbox(&self) -> &Arc<Outbox>;

    fn next(&mut self) -> Next;

    /// The server has been told to stop: what can end now, ends.
    fn close(&mut self);
}

pub(super) enum Next {
    /// One event or several, as they go over the wire.
    Events(Vec<u8>),
    Nothing,
    End,
}

/// The body of a response of events.
pub(super) struct EventBody {
    front: Arc<Front>,
    source: Box<dyn Source>,
    waiting: Option<Pin<Box<dyn Future<Output = Woken> + Send>>>,
    is_closing: bool,
}

enum Woken {
    Message,
    Closing,
    Time,
}

impl EventBody {
    pub(super) fn new(front: &Arc<Front>, source: impl Source + 'static) -> Self {
        front.metrics.streams.begin();
        Self {
            front: Arc::clone(front),
            source: Box::new(source),
            waiting: None,
            is_closing: false,
        }
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.source.next() {
                Next::Events(text) => return Poll::Ready(Some(text.into())),
                Next::End => return Poll::Ready(None),
                Next::Nothing => {}
            }
            let outbox = self.source.outbox();
            let closing = (!self.is_closing).then(|| self.front.closing.clone());
            let fresh = || -> Pin<Box<dyn Future<Output = Woken> + Send>> {
                Box::pin(wait(Arc::clone(outbox), closing))
            };
            let woken = ready!(self.waiting.get_or_insert_with(fresh).as_mut().poll(context));
            self.waiting = None;
            match woken {
                Woken::Message => {}
                Woken::Time => return Poll::Ready(Some(Bytes::from_static(COMMENT))),
                Woken::Closing => {
                    self.is_closing = true;
                    self.source.close();
                }
            }
        }
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.front.metrics.streams.end();
    }
}

async fn wait(outbox: Arc<Outbox>, closing: Option<watch::Receiver<bool>>) -> Woken {
    let closed = async {
        match closing {
            Some(mut closing) => drop(closing.wait_for(|is_closing| *is_closing).await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = outbox.ready() => Woken::Message,
        () = closed => Woken::Closing,
        () = tokio::time::sleep(KEEP_ALIVE) => Woken::Time,
    }
}

/// Appends one message (without its newline) as an event.
pub(super) fn write_event(out: &mut Vec<u8>, id: Option<&str>, message: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// The messages in what a queue held, without their newlines.
pub(super) fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|message| !message.is_empty())
}

/// What the answer to a request begins with.
pub(super) enum First {
    /// It is the answer itself, and nothing came before it.
    Answer { status: u16, message: Vec<u8> },
    /// Something else, or nothing for so long that the client should be told that we are here.
    Events,
    /// The client has cancelled the request.
    Cancelled,
}

/// Waits for the first thing a request leads to. As long as it has not, whatever goes wrong can
/// still be said by a status, and most answers need no events at all.
pub(super) async fn first(outbox: &Outbox) -> First {
    loop {
        if let Some(first) = outbox.look(judge) {
            return first;
        }
        tokio::select! {
            biased;
            () = outbox.ready() => {}
            () = tokio::time::sleep(KEEP_ALIVE) => return First::Events,
        }
    }
}

fn judge(bytes: &mut Vec<u8>, end: Option<End>, is_released: bool) -> Option<First> {
    match end {
        Some(End::Cancelled) if bytes.is_empty() => Some(First::Cancelled),
        Some(End::Answered(status)) if memchr::memchr(b'\n', bytes) == Some(bytes.len() - 1) => {
            Some(First::Answer { status, message: std::mem::take(bytes) })
        }
        Some(_) => Some(First::Events),
        None if bytes.is_empty() && !is_released => None,
        None => Some(First::Events),
    }
}
