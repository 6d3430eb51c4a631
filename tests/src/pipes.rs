//! One server process on three pipes, seen as raw bytes with deadlines.
//!
//! Every pipe has a thread of its own, so that neither a server that stops reading nor one that
//! never stops writing can hang a check: the check's own thread only ever waits on a channel.

use crate::clock::{self, Instant};
use crate::peer::Incoming;
use crate::transcript::Transcript;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How much of the server's stderr is kept: enough for a panic message with its backtrace.
const STDERR_TAIL_BYTES: usize = 16 * 1024;
/// How much is written at a time.
const CHUNK_BYTES: usize = 16 * 1024;
/// Stands in for a timed `wait`, which the standard library does not have.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// A running server. Dropping it kills the process.
pub struct Pipes {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Incoming>,
    pause: Arc<Pause>,
    written_bytes: Arc<AtomicU64>,
    stderr: Arc<Mutex<Vec<u8>>>,
    transcript: Transcript,
}

impl Pipes {
    /// Starts `command` and reads its stdout.
    pub fn spawn(command: &[String], transcript: Transcript) -> io::Result<Pipes> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let written_bytes = Arc::new(AtomicU64::new(0));
        let pause = Arc::new(Pause::default());
        let peer = Pipes {
            child,
            input: Some(start_writer(stdin, Arc::clone(&written_bytes))),
            output: start_reader(stdout, Arc::clone(&pause)),
            pause,
            written_bytes,
            stderr: start_stderr(stderr),
            transcript,
        };
        Ok(peer)
    }

    /// Leaves the server's stdout unread, but for the little that is buffered, until
    /// [`Pipes::go_on_reading`].
    pub fn pause_reading(&self) {
        self.pause.set(true);
    }

    pub fn go_on_reading(&self) {
        self.pause.set(false);
    }

    /// Queues bytes for the server's stdin, exactly as given. Never blocks.
    pub fn send(&mut self, bytes: Vec<u8>) {
        self.transcript.sent(&bytes);
        if let Some(input) = &self.input {
            // A server that has gone is noticed on its stdout, where the evidence is.
            let _ = input.send(bytes);
        }
    }

    /// The next thing on the server's stdout, or [`Incoming::Silence`] at the deadline.
    pub fn receive(&mut self, deadline: Instant) -> Incoming {
        match clock::receive(&self.output, deadline) {
            Ok(incoming) => {
                self.transcript.got(&incoming);
                incoming
            }
            Err(RecvTimeoutError::Timeout) => Incoming::Silence,
            Err(RecvTimeoutError::Disconnected) => Incoming::Eof,
        }
    }

    /// Closes the server's stdin once everything queued before has been written.
    pub fn close_stdin(&mut self) {
        self.transcript.note("stdin closed");
        self.input = None;
    }

    /// Waits for the process to end; `None` when it still runs at the deadline.
    pub fn wait_exit(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
                Ok(None) if Instant::now() >= deadline => return None,
                Ok(None) => thread::sleep(EXIT_POLL),
            }
        }
    }

    /// How many bytes the server's stdin has taken so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// The server's resident memory, where the system tells it (Linux).
    pub fn resident_kib(&self) -> Option<u64> {
        resident_kib(self.child.id())
    }

    /// The last of what the server wrote to stderr.
    pub fn stderr(&self) -> String {
        text(&self.stderr)
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.go_on_reading();
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_writer(mut stdin: ChildStdin, written_bytes: Arc<AtomicU64>) -> Sender<Vec<u8>> {
    let (input, queue) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for bytes in queue {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                // A pipe takes a long write whole or not at all, and how far it is would not show.
                let chunk = rest.get(..CHUNK_BYTES).unwrap_or(rest);
                let Ok(count @ 1..) = stdin.write(chunk) else {
                    return;
                };
                written_bytes.fetch_add(count as u64, Ordering::Relaxed);
                rest = rest.get(count..).unwrap_or_default();
            }
        }
    });
    input
}

/// Whether the reader has to wait before it takes the next line.
#[derive(Default)]
struct Pause {
    is_on: Mutex<bool>,
    changed: Condvar,
}

impl Pause {
    fn set(&self, is_on: bool) {
        *self.is_on.lock().unwrap_or_else(PoisonError::into_inner) = is_on;
        self.changed.notify_all();
    }

    fn wait_out(&self) {
        let is_on = self.is_on.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_on, |is_on| *is_on));
    }
}

fn start_reader(stdout: ChildStdout, pause: Arc<Pause>) -> Receiver<Incoming> {
    let (lines, output) = mpsc::channel();
    thread::spawn(move || {
        let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
        loop {
            pause.wait_out();
            let mut line = Vec::new();
            let end = !matches!(stdout.read_until(b'\n', &mut line), Ok(1..));
            let incoming = match line.pop() {
                None => Incoming::Eof,
                Some(b'\n') => Incoming::Line(line),
                Some(last) => {
                    line.push(last);
                    Incoming::Unterminated(line)
                }
            };
            if lines.send(incoming).is_err() || end {
                return;
            }
        }
    });
    output
}

/// The resident memory of a process, where the system tells it (Linux).
pub(crate) fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// What has been kept of a stream of bytes, as text.
pub(crate) fn text(kept: &Mutex<Vec<u8>>) -> String {
    let kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    String::from_utf8_lossy(&kept).into_owned()
}

/// Reads stderr to its end and keeps the last of it.
pub(crate) fn start_stderr(mut stderr: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let tail = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&tail);
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut chunk) {
            let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let excess = kept.len().saturating_sub(STDERR_TAIL_BYTES);
            kept.drain(..excess);
        }
    });
    tail
}
