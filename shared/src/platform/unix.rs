//! Unix: signals, descriptors, sockets with a path.
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
use tokio::signal::unix::{SignalKind, signal};

/// One direction of standard input and output.
pub(crate) type Stream = OwnedFd;

type Source = Box<dyn AsyncRead + Send + Unpin>;
type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Ends when SIGTERM or SIGINT comes.
pub(crate) fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Both streams; from then on descriptor 0 leads to nothing and 1 to standard error.
pub(crate) fn take_stdio() -> io::Result<(Stream, Stream)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

pub(crate) fn source(input: Stream) -> io::Result<Source> {
    match kind(input.as_fd())? {
        Kind::Pipe(path) if let Ok(pipe) = pipe::OpenOptions::new().open_receiver(&path) => {
            Ok(Box::new(pipe))
        }
        Kind::Socket => Ok(Box::new(socket(input)?)),
        _ => through_thread(File::from(input)),
    }
}

pub(crate) fn sink(output: Stream) -> io::Result<Sink> {
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

#[cfg(feature = "http")]
pub(crate) use local::LocalListener;

#[cfg(feature = "http")]
mod local {
    use std::fs::Permissions;
    use std::io;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixStream as StdUnixStream;
    use std::path::{Path, PathBuf};

    use tokio::net::{UnixListener, UnixStream};

    /// Where clients of this machine connect by a path, which is removed when this is dropped.
    pub(crate) struct LocalListener {
        listener: UnixListener,
        path: PathBuf,
    }

    impl LocalListener {
        /// Only the user who runs the server may connect.
        pub(crate) fn bind(path: &Path) -> io::Result<Self> {
            // What a server that was killed has left behind; a socket somebody listens on is
            // theirs.
            let is_socket = path.metadata().is_ok_and(|found| found.file_type().is_socket());
            if is_socket && StdUnixStream::connect(path).is_err() {
                std::fs::remove_file(path)?;
            }
            let listener = UnixListener::bind(path)?;
            std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
            Ok(Self { listener, path: path.to_owned() })
        }

        pub(crate) fn path(&self) -> &Path {
            &self.path
        }

        pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
            Ok(self.listener.accept().await?.0)
        }
    }

    impl Drop for LocalListener {
        fn drop(&mut self) {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
