//! Starts the helper process of a call and talks to it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::own::Part;
use super::wire::{self, Descriptors, Event, Order, Task};

/// A helper process. Dropping it is enough: the helper then ends everything and itself.
pub(super) struct Helper {
    orders: OwnedWriteHalf,
    events: Lines<BufReader<OwnedReadHalf>>,
    /// Kept so that the runtime reaps it.
    _process: Child,
}

impl Helper {
    /// The descriptors are closed on this side.
    pub(super) async fn start(task: &Task, descriptors: Descriptors) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut command = Command::from(Part::Helper.start().command());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let process = command.spawn()?;
        // It holds the other side's descriptor, which would keep the line open for ever.
        drop(command);
        let [input, output, errors] = &descriptors;
        wire::send_descriptors(&ours, [input.as_fd(), output.as_fd(), errors.as_fd()])?;
        drop(descriptors);
        ours.set_nonblocking(true)?;
        let (events, mut orders) = UnixStream::from_std(ours)?.into_split();
        orders.write_all(&wire::line(task)?).await?;
        Ok(Self { orders, events: BufReader::new(events).lines(), _process: process })
    }

    pub(super) async fn order(&mut self, order: Order) -> io::Result<()> {
        self.orders.write_all(&wire::line(&order)?).await
    }

    /// `None` if the helper is gone without having said so.
    pub(super) async fn event(&mut self) -> Option<Event> {
        let line = self.events.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }
}
