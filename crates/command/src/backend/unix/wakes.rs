//! What the helper process waits for, one after the other: orders of the server, the server's end,
//! and the ends of processes.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::pipe;

use super::wire::{Exit, Order};

pub(super) enum Wake {
    Order(Order),
    /// The server is gone.
    Alone,
    Ended(Pid, Exit),
    /// There is no process left.
    Empty,
    /// None of these for as long as was to be waited.
    Time,
}

pub(super) struct Wakes {
    socket: UnixStream,
    /// Readable when a child has ended.
    ended: UnixStream,
    unread: Vec<u8>,
    queue: VecDeque<Wake>,
    alone: bool,
    empty: bool,
}

impl Wakes {
    /// Make it before anything is started, so that no end is missed.
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        let (ended, rung) = UnixStream::pair()?;
        ended.set_nonblocking(true)?;
        pipe::register(SIGCHLD, rung)?;
        Ok(Self {
            socket,
            ended,
            unread: Vec::new(),
            queue: VecDeque::new(),
            alone: false,
            empty: false,
        })
    }

    /// Everything the server sends before its first order is for the caller to read.
    pub(super) fn first_line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(line) = self.line() {
                return Ok(line);
            }
            if self.read()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) fn next(&mut self, until: Instant) -> Wake {
        loop {
            // Orders may have come with what was read before.
            self.take_orders();
            self.reap();
            if let Some(wake) = self.queue.pop_front() {
                return wake;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Wake::Time;
            }
            self.wait(Timespec::try_from(left).ok());
        }
    }

    /// No process of the call is left, not even one that has ended.
    pub(super) fn nothing_left(&self) -> bool {
        self.empty
    }

    fn wait(&mut self, timeout: Option<Timespec>) {
        let mut ready = vec![PollFd::new(&self.ended, PollFlags::IN)];
        if !self.alone {
            ready.push(PollFd::new(&self.socket, PollFlags::IN));
        }
        let _interrupted = poll(&mut ready, timeout.as_ref());
        let mut readable = ready.iter().map(|fd| !fd.revents().is_empty());
        let (ended, spoken) =
            (readable.next().unwrap_or_default(), readable.next().unwrap_or_default());
        if ended {
            // How often it rang does not matter.
            let _nothing_left = (&self.ended).read(&mut [0; 64]);
        }
        if spoken {
            self.listen();
        }
    }

    fn listen(&mut self) {
        if !matches!(self.read(), Ok(1..)) {
            self.alone = true;
            self.queue.push_back(Wake::Alone);
        }
    }

    fn take_orders(&mut self) {
        while let Some(line) = self.line() {
            if let Ok(order) = serde_json::from_slice(&line) {
                self.queue.push_back(Wake::Order(order));
            }
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 16 * 1024];
        let length = (&self.socket).read(&mut chunk)?;
        self.unread.extend_from_slice(chunk.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = memchr::memchr(b'\n', &self.unread)?;
        let rest = self.unread.split_off(end + 1);
        Some(std::mem::replace(&mut self.unread, rest))
    }

    fn reap(&mut self) {
        while !self.empty {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.queue.push_back(Wake::Ended(pid, exit(status))),
                Ok(None) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    self.empty = true;
                    self.queue.push_back(Wake::Empty);
                }
            }
        }
    }
}

fn exit(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
