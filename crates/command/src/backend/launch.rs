//! Starts the helper process of a call and talks to it. One helper is always started ahead, so
//! that a call does not wait for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::own::Part;
use super::wire::{self, Descriptors, Event, Order, Task};

/// Where helpers come from.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    spare: Mutex<Option<Idle>>,
}

/// A helper process that has nothing to do yet.
#[derive(Debug)]
struct Idle {
    socket: StdUnixStream,
    process: Child,
}

/// A helper process. Dropping it is enough: the helper then ends everything and itself.
pub(super) struct Helper {
    orders: OwnedWriteHalf,
    events: Lines<BufReader<OwnedReadHalf>>,
    /// Kept so that the runtime reaps it.
    _process: Child,
}

impl Helpers {
    /// Gives a task to a helper. The descriptors are closed on this side.
    pub(super) async fn start(
        self: &Arc<Self>,
        task: &Task,
        descriptors: Descriptors,
    ) -> io::Result<Helper> {
        let Idle { socket, process } = match self.take() {
            Some(spare) => spare,
            None => Idle::start()?,
        };
        let [input, output, errors] = &descriptors;
        wire::send_descriptors(&socket, [input.as_fd(), output.as_fd(), errors.as_fd()])?;
        drop(descriptors);
        socket.set_nonblocking(true)?;
        let (events, mut orders) = UnixStream::from_std(socket)?.into_split();
        orders.write_all(&wire::line(task)?).await?;
        self.refill();
        Ok(Helper { orders, events: BufReader::new(events).lines(), _process: process })
    }

    /// `None` if there is none, or it has ended.
    fn take(&self) -> Option<Idle> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        matches!(spare.process.try_wait(), Ok(None)).then_some(spare)
    }

    /// On a thread of its own: starting a process blocks the one that does it.
    fn refill(self: &Arc<Self>) {
        let helpers = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let mut spare = helpers.spare.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.is_none() {
                *spare = Idle::start().ok();
            }
        });
    }
}

impl Idle {
    fn start() -> io::Result<Self> {
        let (socket, theirs) = StdUnixStream::pair()?;
        let mut command = Command::from(Part::Helper.start().command());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let process = command.spawn()?;
        // It holds the other side's descriptor, which would keep the line open for ever.
        drop(command);
        Ok(Self { socket, process })
    }
}

impl Helper {
    pub(super) async fn order(&mut self, order: Order) -> io::Result<()> {
        self.orders.write_all(&wire::line(&order)?).await
    }

    /// `None` if the helper is gone without having said so.
    pub(super) async fn event(&mut self) -> Option<Event> {
        let line = self.events.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }
}
