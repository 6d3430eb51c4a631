//! One call while it runs and after: its output, its end, and what can be asked of it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Error;
use super::ends::{self, Ends};
use super::jobs::Owner;
use super::plan::Decision;
use super::probe::Proved;
use super::protect::Held;
use super::stream::Stream;
use super::system::{self, Helper, Idle};
use super::wire::{Confined, Done, Event, Exit, Failure, Limit, Order, Task};

/// A stream whose programs have all ended has ended too, unless somebody outside holds it.
const READERS_GRACE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    /// The command line, for people.
    pub(crate) title: String,
    /// One for each program.
    pub(crate) decisions: Vec<Decision>,
    pub(crate) cwd: PathBuf,
    pub(crate) proved: Proved,
    pub(crate) started: Instant,
    pub(crate) stdout: Arc<Stream>,
    /// `None`: in `stdout`.
    pub(crate) stderr: Option<Arc<Stream>>,
    pub(crate) confined: Arc<OnceLock<Vec<Confined>>>,
    /// `None`: no input, or all of it is given already.
    input: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    asks: mpsc::UnboundedSender<Ask>,
    ended: watch::Receiver<Option<Ended>>,
}

/// The signals that can be sent.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum SignalName {
    Hup,
    Int,
    Quit,
    Kill,
    Usr1,
    Usr2,
    #[default]
    Term,
    Cont,
    Stop,
}

#[derive(Debug, Clone, Copy)]
enum Ask {
    Stop,
    Signal(i32),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) how: How,
    /// One for each program of the call; empty if they are not known.
    pub(crate) exits: Vec<Exit>,
    /// Processes that had to be ended.
    pub(crate) killed: u64,
    pub(crate) cpu_ms: u64,
    pub(crate) max_rss_bytes: u64,
    pub(crate) duration: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// By itself.
    Done,
    TimedOut,
    /// It was told to.
    Stopped,
    Over(Limit),
    NotStarted {
        stage: usize,
        kind: Failure,
        reason: String,
    },
    /// The helper process is gone; nothing is known.
    Lost,
}

/// What a call's programs get as their standard input.
#[derive(Debug)]
pub(crate) enum Input {
    Nothing,
    Given(Vec<u8>),
    /// What comes by [`Job::write`].
    Open,
}

/// What is needed to start one.
pub(super) struct Start {
    pub(super) id: String,
    pub(super) owner: Owner,
    pub(super) title: String,
    pub(super) decisions: Vec<Decision>,
    pub(super) cwd: PathBuf,
    pub(super) proved: Proved,
    pub(super) helper: Idle,
    pub(super) task: Task,
    pub(super) input: Input,
    pub(super) merge_stderr: bool,
    pub(super) timeout: Duration,
    pub(super) max_output_bytes: u64,
    pub(super) kept: Kept,
}

/// Given back just before the end is told, so that whoever is told finds nothing of it.
pub(super) struct Kept {
    pub(super) _held: Held,
    pub(super) _turn: OwnedSemaphorePermit,
}

impl Job {
    pub(super) async fn start(start: Start) -> io::Result<Arc<Self>> {
        let started = Instant::now();
        let ends = if start.task.tty {
            Ends::terminal()?
        } else {
            Ends::pipes(&start.input, start.merge_stderr)?
        };
        let helper = start.helper.begin(&start.task, ends.theirs).await?;
        let stream = || Arc::new(Stream::new(start.max_output_bytes));
        let stdout = stream();
        let stderr = ends.stderr.is_some().then(stream);
        let mut readers = vec![ends::read(ends.stdout, Arc::clone(&stdout), start.task.tty)];
        if let (Some(source), Some(stderr)) = (ends.stderr, &stderr) {
            readers.push(ends::read(source, Arc::clone(stderr), false));
        }
        let input = ends.stdin.and_then(|pipe| ends::feed(pipe, start.input, start.task.tty));
        let (asks, asked) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(None);
        let confined = Arc::new(OnceLock::new());
        let driver = Driver {
            helper,
            asked,
            readers,
            end,
            confined: Arc::clone(&confined),
            started,
            deadline: started + start.timeout,
            how: None,
            forgotten: false,
            kept: start.kept,
        };
        tokio::spawn(driver.run());
        Ok(Arc::new(Self {
            id: start.id,
            owner: start.owner,
            title: start.title,
            decisions: start.decisions,
            cwd: start.cwd,
            proved: start.proved,
            started,
            stdout,
            stderr,
            confined,
            input: Mutex::new(input),
            asks,
            ended,
        }))
    }

    /// Waits until its programs have begun, or could not.
    pub(crate) async fn begun(&self) {
        let mut ended = self.ended.clone();
        let begun = |end: &Option<Ended>| end.is_some() || self.confined.get().is_some();
        let _driver_gone = ended.wait_for(begun).await;
    }

    /// By name: stdout or stderr.
    pub(crate) fn stream(&self, name: &str) -> Option<Arc<Stream>> {
        match name {
            "stdout" => Some(Arc::clone(&self.stdout)),
            "stderr" => self.stderr.clone(),
            _ => None,
        }
    }

    /// `None` while it runs.
    pub(crate) fn end(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or_else(|| Ended::lost(self.started)),
            Err(_) => Ended::lost(self.started),
        }
    }

    /// Ends everything of it: asks, and after the grace period kills.
    pub(crate) fn stop(&self) {
        let _ended = self.asks.send(Ask::Stop);
    }

    pub(crate) fn signal(&self, name: SignalName) -> Result<(), Error> {
        let number = system::signal_number(name).ok_or(Error::NoSignal)?;
        let _ended = self.asks.send(Ask::Signal(number));
        Ok(())
    }

    /// Gives its programs more input; `last` ends it. Waits while they have not read enough.
    pub(crate) async fn write(&self, bytes: Vec<u8>, last: bool) -> Result<(), Error> {
        let closed = || match self.end() {
            Some(_) => Error::Ended { id: self.id.clone() },
            None => Error::NoInput { id: self.id.clone() },
        };
        if self.end().is_some() {
            return Err(closed());
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let input = input.ok_or_else(closed)?;
        if !bytes.is_empty() {
            input.send(bytes).await.map_err(|_| closed())?;
        }
        if last {
            *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(())
    }
}

impl Ended {
    fn lost(started: Instant) -> Self {
        Self {
            how: How::Lost,
            exits: Vec::new(),
            killed: 0,
            cpu_ms: 0,
            max_rss_bytes: 0,
            duration: started.elapsed(),
        }
    }
}

/// Carries a call from its start to its end.
struct Driver {
    helper: Helper,
    asked: mpsc::UnboundedReceiver<Ask>,
    readers: Vec<JoinHandle<()>>,
    end: watch::Sender<Option<Ended>>,
    confined: Arc<OnceLock<Vec<Confined>>>,
    started: Instant,
    deadline: Instant,
    how: Option<How>,
    /// Nobody can ask anything any more.
    forgotten: bool,
    kept: Kept,
}

impl Driver {
    async fn run(mut self) {
        let done = self.last_event().await;
        let duration = self.started.elapsed();
        let readers = std::mem::take(&mut self.readers);
        let all_read = async {
            for reader in readers {
                let _panicked = reader.await;
            }
        };
        let _held_by_others = tokio::time::timeout(READERS_GRACE, all_read).await;
        let lost = Ended::lost(self.started);
        let ended = match done {
            Some(done) => Ended {
                how: self.how.take().unwrap_or(How::Done),
                exits: done.exits,
                killed: done.killed,
                cpu_ms: done.cpu_ms,
                max_rss_bytes: done.max_rss_bytes,
                duration,
            },
            None => Ended { how: self.how.take().unwrap_or(How::Lost), duration, ..lost },
        };
        drop(self.kept);
        self.end.send_replace(Some(ended));
        self.helper.dismiss().await;
    }

    async fn last_event(&mut self) -> Option<Done> {
        loop {
            tokio::select! {
                event = self.helper.event() => match event? {
                    Event::Started { confined } => {
                        let _once = self.confined.set(confined);
                        // Wakes those who wait for the beginning.
                        self.end.send_modify(|_| {});
                    }
                    Event::Over(limit) => self.how = self.how.take().or(Some(How::Over(limit))),
                    Event::Failed { stage, reason, kind } => {
                        self.how = Some(How::NotStarted { stage, kind, reason });
                        return None;
                    }
                    Event::Done(done) => return Some(done),
                },
                ask = self.asked.recv(), if !self.forgotten => match ask {
                    Some(Ask::Signal(number)) => self.order(Order::Signal(number)).await,
                    Some(Ask::Stop) => self.stop(How::Stopped).await,
                    None => {
                        self.forgotten = true;
                        self.stop(How::Stopped).await;
                    }
                },
                () = tokio::time::sleep_until(self.deadline), if self.how.is_none() => {
                    self.stop(How::TimedOut).await;
                }
            }
        }
    }

    /// The helper ends everything, and then says so. Only the first reason counts.
    async fn stop(&mut self, how: How) {
        if self.how.is_none() {
            self.how = Some(how);
            self.order(Order::Stop).await;
        }
    }

    async fn order(&mut self, order: Order) {
        let _helper_gone = self.helper.order(order).await;
    }
}
