//! Carries one connection through a session, to its end.
//!
//! One task reads, handles and writes, in turns. So the answers to many messages become one write,
//! and a peer that does not read what it is sent is not read from either: nothing has to be kept
//! for it without end. Handlers that take their time are tasks of their own and reach this one
//! through the outbox.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::session::Session;
use crate::outbox::{HIGH_WATER_BYTES, Outbox};
use crate::registry::Registry;
use crate::transport::{Frame, Reader, Transport, Writer};

/// Messages handled before what they led to is written.
const MESSAGES_PER_TURN: usize = 256;

/// After so many of them it is looked whether their answers still find room.
const MESSAGES_PER_LOOK: usize = 16;

/// While this much waits to be written, changes stay with their subscribers, where each is kept
/// once however often it happens.
const CHANGES_WATER_BYTES: usize = 64 * 1024;

/// A write buffer that grew beyond this for one large message is given back.
const KEEP_BUFFER_BYTES: usize = 1024 * 1024;

/// Serves one peer to the end. An error is one of the transport.
pub(crate) async fn serve(
    registry: Arc<Registry>,
    transport: impl Transport,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (mut reader, writer) = transport.split();
    let outbox = Arc::new(Outbox::default());
    let drain_time = registry.limits.drain;
    let session = Session::new(registry, Arc::clone(&outbox));
    let mut sending = Sending { writer, bytes: Vec::new(), written: 0 };
    let conversed = tokio::select! {
        biased;
        conversed = converse(&mut reader, &mut sending, &outbox, &session) => conversed,
        () = stop => Ok(()),
    };
    let ended = match conversed {
        Ok(()) => drain(&mut sending, &outbox, &session, drain_time).await,
        Err(error) => Err(error),
    };
    session.calls().cancel_all();
    match ended {
        // The peer does not listen any more; there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Goes on until the peer has closed its side and all it sent is handled.
async fn converse(
    reader: &mut impl Reader,
    sending: &mut Sending<impl Writer>,
    outbox: &Outbox,
    session: &Session,
) -> io::Result<()> {
    let mut is_open = true;
    let mut has_more = false;
    loop {
        let left = sending.left();
        let has_room = || outbox.len() + left < HIGH_WATER_BYTES;
        // After the peer has closed the rest is what the reader holds, which is little.
        let may_handle = || has_room() || !is_open;
        if may_handle() {
            has_more = handle_some(reader, session, may_handle);
        }
        let (has_room, may_handle) = (has_room(), may_handle());
        sending.collect(outbox, session);
        if !is_open && !has_more {
            return Ok(());
        }
        tokio::select! {
            biased;
            written = sending.write(), if sending.left() > 0 => written?,
            // Calls that wait get their turn between two of ours.
            () = tokio::task::yield_now(), if has_more && may_handle => {}
            filled = reader.fill(), if is_open && has_room && !has_more => is_open = filled?,
            () = outbox.ready() => {}
        }
    }
}

/// Handles the messages already here, up to a turn's and while the answers find room. `true` if
/// there may be more.
fn handle_some(reader: &mut impl Reader, session: &Session, may_handle: impl Fn() -> bool) -> bool {
    for handled in 0..MESSAGES_PER_TURN {
        if handled > 0 && handled % MESSAGES_PER_LOOK == 0 && !may_handle() {
            return true;
        }
        match reader.next() {
            None => return false,
            Some(Frame::Message(line)) => session.line(line),
            Some(Frame::TooLong(too_long)) => session.too_long(too_long),
        }
    }
    true
}

/// Lets calls in flight finish, within limits, and writes everything that is left.
async fn drain(
    sending: &mut Sending<impl Writer>,
    outbox: &Outbox,
    session: &Session,
    time: Duration,
) -> io::Result<()> {
    let deadline = Instant::now() + time;
    session.peer_closed();
    let mut is_idle = false;
    loop {
        sending.collect(outbox, session);
        if is_idle && sending.left() == 0 {
            return Ok(());
        }
        tokio::select! {
            biased;
            written = sending.write(), if sending.left() > 0 => written?,
            () = session.calls().idle(), if !is_idle => is_idle = true,
            () = outbox.ready() => {}
            () = sleep_until(deadline) => {
                tracing::warn!("calls still in flight at the end of the drain period are cancelled");
                return Ok(());
            }
        }
    }
}

/// Bytes on their way out.
struct Sending<W> {
    writer: W,
    bytes: Vec<u8>,
    written: usize,
}

impl<W: Writer> Sending<W> {
    fn left(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Takes what is to be sent, once everything before it is written.
    fn collect(&mut self, outbox: &Outbox, session: &Session) {
        if outbox.len() + self.left() < CHANGES_WATER_BYTES {
            session.flush_changes();
        }
        if self.left() == 0 {
            self.bytes.clear();
            self.bytes.shrink_to(KEEP_BUFFER_BYTES);
            self.written = 0;
            outbox.take(&mut self.bytes);
        }
    }

    async fn write(&mut self) -> io::Result<()> {
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        self.written += self.writer.write(rest).await?;
        Ok(())
    }
}
