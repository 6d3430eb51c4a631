//! Starts the helper process of a call and talks to it. Helpers are started ahead,
//! and do ahead what they can do without a task, so that a call does not wait for either.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::sleep;

use super::handover;
use super::kernel;
use super::own::Part;
use super::scratch::Scratch;
use super::wire::{Ahead, Descriptors, Event, Order, Task};

/// Started ahead. One is not ready yet when calls follow each other at once.
const SPARE: usize = 2;
/// Another is started once the call that took one has ended, or lasts this long.
const REFILL_AFTER: Duration = Duration::from_millis(20);
/// How often all other tasks have their turn before a helper ends and another is started, which take
/// time of the processors: enough for the answer to be written.
const ANSWER_FIRST: usize = 8;

/// Where helpers come from.
#[derive(Debug)]
pub(crate) struct Helpers {
    ahead: Ahead,
    /// Oldest first.
    spare: Mutex<VecDeque<Idle>>,
    is_refilling: AtomicBool,
    /// As new ones.
    scratches: Mutex<Vec<Scratch>>,
}

/// A helper process that has nothing to do yet.
#[derive(Debug)]
pub(crate) struct Idle {
    socket: StdUnixStream,
    process: Child,
    scratch: Scratch,
    helpers: Weak<Helpers>,
}

/// A helper process. Dropping it is enough: the helper then ends everything and itself.
pub(crate) struct Helper {
    orders: OwnedWriteHalf,
    events: Lines<BufReader<OwnedReadHalf>>,
    /// Kept so that the runtime reaps it.
    _process: Child,
    scratch: Scratch,
    helpers: Weak<Helpers>,
    /// It has said that everything has ended.
    is_done: bool,
}

impl Helpers {
    /// `ahead` is what each can do before it has a task.
    pub(crate) fn new(ahead: Ahead) -> Arc<Self> {
        Arc::new(Self {
            ahead,
            spare: Mutex::default(),
            is_refilling: AtomicBool::new(false),
            scratches: Mutex::default(),
        })
    }

    /// One started ahead, or if there is none, one started now.
    pub(crate) fn take(self: &Arc<Self>) -> io::Result<Idle> {
        let ahead = loop {
            let Some(mut spare) = self.spare().pop_front() else { break None };
            if matches!(spare.process.try_wait(), Ok(None)) && spare.scratch.is_there() {
                break Some(spare);
            }
        };
        let taken = ahead.map_or_else(|| Idle::start(self), Ok)?;
        if self.spare().is_empty() {
            self.refill();
        } else {
            let helpers = Arc::clone(self);
            tokio::spawn(async move {
                sleep(REFILL_AFTER).await;
                helpers.refill();
            });
        }
        Ok(taken)
    }

    /// On a thread of its own: starting a process blocks the one that does it.
    fn refill(self: &Arc<Self>) {
        if self.spare().len() >= SPARE || self.is_refilling.swap(true, Ordering::Relaxed) {
            return;
        }
        let helpers = Arc::clone(self);
        spawn_blocking(move || {
            // Whoever wants one meanwhile does not wait for these.
            while helpers.spare().len() < SPARE
                && let Ok(fresh) = Idle::start(&helpers)
            {
                helpers.spare().push_back(fresh);
            }
            helpers.is_refilling.store(false, Ordering::Relaxed);
        });
    }

    fn spare(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scratches(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.scratches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only if one is about to be wanted, because nobody removes these if the server is killed.
    fn give_back(&self, scratch: Scratch, nobody_left: bool) {
        let is_wanted = self.spare().len() + self.scratches().len() < SPARE;
        if nobody_left && is_wanted && scratch.is_as_new() {
            self.scratches().push(scratch);
        } else {
            // There may be much in it.
            spawn_blocking(move || drop(scratch));
        }
    }
}

impl Idle {
    fn start(helpers: &Arc<Helpers>) -> io::Result<Self> {
        let kept = helpers.scratches().pop();
        let scratch = kept.map_or_else(Scratch::new, Ok)?;
        let (socket, theirs) = StdUnixStream::pair()?;
        let ahead = Ahead { scratch: scratch.path().to_owned(), ..helpers.ahead.clone() };
        handover::send_ahead(&socket, &ahead)?;
        let mut command = Command::from(Part::Helper.start().command());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let process = command.spawn()?;
        // It holds the other side's descriptor, which would keep the line open for ever.
        drop(command);
        Ok(Self { socket, process, scratch, helpers: Arc::downgrade(helpers) })
    }

    /// A fresh directory for the programs of its task.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Gives it its task. The descriptors are closed on this side.
    pub(crate) async fn begin(self, task: &Task, descriptors: Descriptors) -> io::Result<Helper> {
        let Self { socket, process, mut scratch, helpers } = self;
        scratch.hand_over();
        socket.set_nonblocking(true)?;
        let line = handover::line(task)?;
        let [input, output, errors] = &descriptors;
        let sent =
            handover::send_task(&socket, [input.as_fd(), output.as_fd(), errors.as_fd()], &line)?;
        drop(descriptors);
        let (events, mut orders) = UnixStream::from_std(socket)?.into_split();
        orders.write_all(line.get(sent..).unwrap_or_default()).await?;
        let events = BufReader::new(events).lines();
        Ok(Helper { orders, events, _process: process, scratch, helpers, is_done: false })
    }
}

impl Helper {
    pub(crate) async fn order(&mut self, order: Order) -> io::Result<()> {
        self.orders.write_all(&handover::line(&order)?).await
    }

    /// Lets it end, and starts another in its place.
    pub(crate) async fn dismiss(self) {
        for _ in 0..ANSWER_FIRST {
            yield_now().await;
        }
        let Self { orders, events, _process, scratch, helpers, is_done } = self;
        drop((orders, events));
        if let Some(helpers) = helpers.upgrade() {
            // Whoever got away from the call could still write there.
            helpers.give_back(scratch, is_done && kernel::FINDS_ALL);
            helpers.refill();
        }
    }

    /// `None` if the helper is gone without having said so.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        let line = self.events.next_line().await.ok().flatten()?;
        let event = serde_json::from_str(&line).ok();
        self.is_done |= matches!(event, Some(Event::Done(_)));
        event
    }
}
