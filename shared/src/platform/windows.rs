//! Windows: console events, handles. Sockets with a path are not served.
//!
//! A pipe somebody else made can only be read and written blockingly, so each direction has one
//! operation at a time on a thread of the runtime's.
//!
//! What this process prints by Rust, and what its children print, is turned aside as elsewhere. C
//! code that prints by a runtime library of its own would use a handle that is closed: it is lost.

use std::fs::File;
use std::io::{self, Write};
use std::os::windows::io::AsRawHandle;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use filedescriptor::{FileDescriptor, StdioDescriptor};
use tokio::io::AsyncWrite;
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
use tokio::task::{JoinHandle, spawn_blocking};

/// Of one write; more waits for the next.
const MAX_WRITE_BYTES: usize = 64 * 1024;

/// One direction of standard input and output.
pub(crate) type Stream = File;

/// Ends when the console is interrupted (Ctrl-C, Ctrl-Break) or closed, or the user or the system
/// goes.
pub(crate) fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut breaks) = (ctrl_c()?, ctrl_break()?);
    let (mut close, mut logoff, mut shutdown) = (ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = breaks.recv() => {}
            _ = close.recv() => {}
            _ = logoff.recv() => {}
            _ = shutdown.recv() => {}
        }
    })
}

/// Both streams; from then on standard input leads to nothing and output to standard error.
pub(crate) fn take_stdio() -> io::Result<(Stream, Stream)> {
    let input = take(&File::open("NUL")?, StdioDescriptor::Stdin)?;
    let output = take(&io::stderr(), StdioDescriptor::Stdout)?;
    Ok((input, output))
}

/// Puts `instead` in its place. Children inherit every handle that lets them, so ours is a copy that
/// does not, and the original is closed.
fn take(instead: &impl AsRawHandle, which: StdioDescriptor) -> io::Result<File> {
    let original = FileDescriptor::redirect_stdio(instead, which).map_err(io::Error::other)?;
    original.as_file().map_err(io::Error::other)
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn source(input: Stream) -> io::Result<tokio::fs::File> {
    Ok(tokio::fs::File::from_std(input))
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn sink(output: Stream) -> io::Result<Sink> {
    Ok(Sink { file: Arc::new(output), writing: None })
}

/// Ready when the bytes are written, not when they are taken: nothing is under way when the server
/// ends.
pub(crate) struct Sink {
    file: Arc<File>,
    /// The beginning of what is given, also if whoever waited for it has gone and come back.
    writing: Option<JoinHandle<io::Result<usize>>>,
}

impl AsyncWrite for Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let file = Arc::clone(&self.file);
        let writing = self.writing.get_or_insert_with(|| {
            let some = bytes.get(..MAX_WRITE_BYTES).unwrap_or(bytes).to_owned();
            spawn_blocking(move || file.as_ref().write(&some))
        });
        let written = ready!(Pin::new(writing).poll(context));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|panicked| Err(io::Error::other(panicked))))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// There is none.
#[cfg(feature = "http")]
pub(crate) enum LocalListener {}

#[cfg(feature = "http")]
impl LocalListener {
    pub(crate) fn bind(_: &std::path::Path) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "sockets with a path are for Unix; give an address with a port, such as 127.0.0.1:8080",
        ))
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub(crate) async fn accept(&self) -> io::Result<tokio::io::Empty> {
        match *self {}
    }
}
