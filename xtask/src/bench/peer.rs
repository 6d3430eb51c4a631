//! A server under measurement: blocking pipes, and a watchdog that ends a server which stops
//! answering, so that a lost reply is an error in the report and not a bench that hangs.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::wire;

const READ_BUFFER_BYTES: usize = 1024 * 1024;
const EXIT_POLL: Duration = Duration::from_micros(100);

pub(crate) struct Peer {
    child: Arc<Mutex<Child>>,
    pub(crate) pid: u32,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// Dropping it stands the watchdog down.
    _watchdog: Sender<()>,
}

impl Peer {
    pub(crate) fn start(command: &[String], limit: Duration) -> Result<Self> {
        let (program, arguments) = command.split_first().context("an empty command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the server's output is a pipe")?;
        let output = BufReader::with_capacity(READ_BUFFER_BYTES, output);
        let pid = child.id();
        let child = Arc::new(Mutex::new(child));
        let watchdog = watch(Arc::clone(&child), limit);
        Ok(Self { child, pid, input, output, line: Vec::new(), _watchdog: watchdog })
    }

    /// Opens the conversation; gives the time from `since` to the first answer.
    pub(crate) fn handshake(&mut self, revision: &str, since: Instant) -> Result<Duration> {
        let reply = self.call(&wire::hello(revision))?;
        let elapsed = since.elapsed();
        let speaks = memchr::memmem::find(reply, revision.as_bytes()).is_some();
        ensure!(speaks, "does not speak {revision}: {}", String::from_utf8_lossy(reply));
        if revision != super::subject::MODERN {
            self.write(wire::INITIALIZED)?;
        }
        Ok(elapsed)
    }

    /// Sends one request and waits for its answer, which must be a success.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.write(request)?;
        self.reply()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.input.as_mut().context("the server's input is closed")?;
        input.write_all(bytes).context("the server has gone")
    }

    /// The next line that answers a request; notifications before it are passed over.
    pub(crate) fn reply(&mut self) -> Result<&[u8]> {
        self.read_line()?;
        while !wire::is_reply(&self.line) {
            self.read_line()?;
        }
        let shown = || String::from_utf8_lossy(self.line.get(..400).unwrap_or(&self.line));
        ensure!(wire::is_success(&self.line), "a call failed: {}", shown());
        Ok(&self.line)
    }

    /// The id of the server's next request, which must be of this method.
    pub(crate) fn question(&mut self, method: &str) -> Result<u64> {
        self.read_line()?;
        let is_asked = memchr::memmem::find(&self.line, method.as_bytes()).is_some();
        let id = wire::id(&self.line).filter(|_| is_asked);
        id.with_context(|| format!("no {method}: {}", String::from_utf8_lossy(&self.line)))
    }

    /// The next line, whatever it is.
    pub(crate) fn line(&mut self) -> Result<&[u8]> {
        self.read_line()?;
        Ok(&self.line)
    }

    fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        let read = self.output.read_until(b'\n', &mut self.line)?;
        ensure!(read > 0, "the server ended, or was ended because it did not answer in time");
        Ok(())
    }

    /// Whether another whole line has been read already.
    pub(crate) fn has_buffered_line(&self) -> bool {
        memchr::memchr(b'\n', self.output.buffer()).is_some()
    }

    /// Closes the input; gives the time the server took to end by itself.
    pub(crate) fn close(mut self) -> Result<Duration> {
        let closed = Instant::now();
        self.input = None;
        loop {
            let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?;
            if let Some(status) = status {
                ensure!(status.success(), "the server ended with {status} at end of input");
                let elapsed = closed.elapsed();
                let mut rest = Vec::new();
                self.output.read_to_end(&mut rest)?;
                ensure!(rest.is_empty(), "the server wrote after its last answer");
                return Ok(elapsed);
            }
            std::thread::sleep(EXIT_POLL);
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        end(&self.child);
    }
}

fn watch(child: Arc<Mutex<Child>>, limit: Duration) -> Sender<()> {
    let (sender, stood_down) = channel();
    std::thread::spawn(move || {
        if stood_down.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            end(&child);
        }
    });
    sender
}

fn end(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    match child.kill() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => {}
        _ => drop(child.wait()),
    }
}
