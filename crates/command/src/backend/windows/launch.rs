//! Starts the programs of a call and talks to what owns them, which here is a task of this process
//! with a job object.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::wire::{Ahead, Descriptors, Event, Order, Task};
use super::call;

/// There is nothing to be done ahead of a task.
#[derive(Debug)]
pub(crate) struct Helpers;

/// An owner that has nothing to own yet.
#[derive(Debug)]
pub(crate) struct Idle {
    scratch: TempDir,
}

/// An owner. Dropping it is enough: everything is ended then.
pub(crate) struct Helper {
    orders: UnboundedSender<Order>,
    events: UnboundedReceiver<Event>,
}

impl Helpers {
    pub(crate) fn new(_: Ahead) -> Arc<Self> {
        Arc::new(Self)
    }

    #[expect(clippy::unused_self, reason = "elsewhere some are started ahead")]
    pub(crate) fn take(self: &Arc<Self>) -> io::Result<Idle> {
        Ok(Idle { scratch: tempfile::tempdir()? })
    }
}

impl Idle {
    /// A fresh directory for the programs of its task.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub(crate) async fn begin(self, task: &Task, theirs: Descriptors) -> io::Result<Helper> {
        let (orders, asked) = unbounded_channel();
        let (told, events) = unbounded_channel();
        tokio::spawn(call::run(task.clone(), theirs, asked, told, self.scratch));
        Ok(Helper { orders, events })
    }
}

impl Helper {
    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub(crate) async fn order(&mut self, order: Order) -> io::Result<()> {
        self.orders.send(order).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub(crate) async fn dismiss(self) {}

    /// `None` if the owner is gone without having said so.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}
