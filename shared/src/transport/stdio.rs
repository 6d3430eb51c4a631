//! Standard input and output as a transport, and nobody else's any more.
//!
//! Once taken, file descriptor 1 leads to standard error and 0 to nothing: a stray print of a
//! dependency, of a handler or of a child process cannot reach the protocol stream.
//!
//! Pipes and sockets are read and written without blocking and without a thread. A pipe is opened
//! anew through `/proc`, so that the non-blocking mode is ours alone and not that of whoever else
//! holds it. Terminals and files, and pipes where there is no `/proc`, get a thread for reading.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::Transport;
use super::lines::Lines;

type Source = Box<dyn AsyncRead + Send + Unpin>;
type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output, taken from everybody else.
pub(crate) struct Stdio {
    input: OwnedFd,
    output: OwnedFd,
}

impl Stdio {
    /// Call it before anything can print.
    pub(crate) fn take() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(io::stderr())?;
        Ok(Self { input, output })
    }

    /// Call it on the runtime that will serve.
    pub(crate) fn into_transport(self, max_message_bytes: usize) -> io::Result<impl Transport> {
        Ok(Lines::new(source(self.input)?, sink(self.output)?, max_message_bytes))
    }
}

fn source(input: OwnedFd) -> io::Result<Source> {
    match kind(input.as_fd())? {
        Kind::Pipe(path) if let Ok(pipe) = pipe::OpenOptions::new().open_receiver(&path) => {
            Ok(Box::new(pipe))
        }
        Kind::Socket => Ok(Box::new(socket(input)?)),
        _ => through_thread(File::from(input)),
    }
}

fn sink(output: OwnedFd) -> io::Result<Sink> {
    match kind(output.as_fd())? {
        Kind::Pipe(path) if let Ok(pipe) = pipe::OpenOptions::new().open_sender(&path) => {
            Ok(Box::new(pipe))
        }
        Kind::Socket => Ok(Box::new(socket(output)?)),
        _ => Ok(Box::new(Blocking(File::from(output)))),
    }
}

enum Kind {
    /// With the path to open it anew.
    Pipe(String),
    Socket,
    Other,
}

fn kind(descriptor: BorrowedFd<'_>) -> io::Result<Kind> {
    let file_type = File::from(descriptor.try_clone_to_owned()?).metadata()?.file_type();
    Ok(if file_type.is_fifo() {
        Kind::Pipe(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
    } else if file_type.is_socket() {
        Kind::Socket
    } else {
        Kind::Other
    })
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Copies a stream that can only be read blockingly into a pipe.
fn through_thread(mut input: File) -> io::Result<Source> {
    let (receiver, mut sender) = io::pipe()?;
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        if let Err(error) = io::copy(&mut input, &mut sender) {
            tracing::warn!("standard input: {error}");
        }
    })?;
    Ok(Box::new(pipe::Receiver::from_owned_fd(OwnedFd::from(receiver))?))
}

/// A terminal or a file: writing to it takes no time worth waiting for.
struct Blocking(File);

impl AsyncWrite for Blocking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(io::Write::write(&mut self.0, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
