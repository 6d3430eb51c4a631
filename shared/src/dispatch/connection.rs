//! Pumps a transport through a session: read what is there, handle it, write what came of it,
//! many messages at a time, until the peer closes, or we are told to stop, and what was asked for
//! is done.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::session::Session;
use crate::outbox::{HIGH_WATER_BYTES, Outbox};
use crate::registry::Registry;
use crate::transport::{Frame, Reader, Transport, Writer};

/// Messages handled before what they led to is written.
const BATCH_MESSAGES: usize = 256;

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
    let served = tokio::select! {
        biased;
        served = pump(&mut reader, &mut sending, &outbox, &session) => served,
        () = stop => Ok(()),
    };
    let drained = match served {
        Ok(()) => drain(&mut sending, &outbox, &session, drain_time).await,
        Err(error) => Err(error),
    };
    session.calls().cancel_all();
    match drained {
        // The peer does not listen any more; there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Runs until the peer closes its side.
async fn pump(
    reader: &mut impl Reader,
    sending: &mut Sending<impl Writer>,
    outbox: &Outbox,
    session: &Session,
) -> io::Result<()> {
    let mut is_open = true;
    loop {
        let may_read = outbox.len() + sending.left() < HIGH_WATER_BYTES;
        let has_more = may_read && handle_some(reader, session);
        if outbox.len() + sending.left() < CHANGES_WATER_BYTES {
            session.flush_changes();
        }
        sending.take(outbox);
        if !is_open && !has_more {
            return Ok(());
        }
        tokio::select! {
            biased;
            written = sending.write(), if sending.left() > 0 => written?,
            () = tokio::task::yield_now(), if has_more => {}
            filled = reader.fill(), if is_open && may_read && !has_more => is_open = filled?,
            () = outbox.ready() => {}
        }
    }
}

/// Handles the messages already here, up to a batch. `true` if there may be more.
fn handle_some(reader: &mut impl Reader, session: &Session) -> bool {
    for _ in 0..BATCH_MESSAGES {
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
        sending.take(outbox);
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

    /// Takes what is queued, once everything before it is written.
    fn take(&mut self, outbox: &Outbox) {
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
