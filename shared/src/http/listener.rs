//! Where clients connect, and how long a connection may keep us waiting.

use std::fmt;
use std::io::{self, IoSlice, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::Context as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep, sleep};

use super::{Front, route};
use crate::platform::LocalListener;

/// How long the head of the next request may take, idle time included.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);

/// How long a peer may leave what we send unread.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// After the system could not give us a connection (too many open files), it gets some rest.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bind {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Bind {
    /// Whether other machines may reach it.
    pub(crate) fn is_public(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().is_loopback())
    }
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        let text = text.replace("localhost:", "127.0.0.1:");
        text.parse().map(Self::Tcp).map_err(|_| {
            "expected an address with a port, such as 127.0.0.1:8080, or unix:/path.sock".to_owned()
        })
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}/mcp"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(LocalListener),
}

impl Listener {
    pub(super) async fn bind(bind: &Bind) -> anyhow::Result<Self> {
        let listener = match bind {
            Bind::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Bind::Unix(path) => LocalListener::bind(path).map(Self::Unix),
        };
        listener.with_context(|| format!("cannot listen on {bind}"))
    }

    /// Tells standard output, which nothing else uses when HTTP is served, where that is: with
    /// port 0 nobody else knows.
    pub(super) fn announce(&self) {
        let bind = match self {
            Self::Tcp(listener) => listener.local_addr().map(Bind::Tcp),
            Self::Unix(listener) => Ok(Bind::Unix(listener.path().to_owned())),
        };
        if let Ok(bind) = bind {
            // Nobody has to read it.
            let _ = writeln!(io::stdout(), "{bind}");
        }
    }

    async fn accept(&self) -> io::Result<(Socket, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok((Box::new(stream), address.ip().to_string()))
            }
            Self::Unix(listener) => Ok((Box::new(listener.accept().await?), "unix".to_owned())),
        }
    }
}

/// Takes connections for ever, each a task of its own.
pub(super) async fn accept(listener: &Listener, front: &Arc<Front>, connections: &Arc<Semaphore>) {
    while let Ok(permit) = Arc::clone(connections).acquire_owned().await {
        match listener.accept().await {
            Ok((socket, peer)) => {
                let front = Arc::clone(front);
                tokio::spawn(async move {
                    front.metrics.connections.begin();
                    connection(&front, socket, peer.into()).await;
                    front.metrics.connections.end();
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!("a connection was lost before it began: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(front: &Arc<Front>, socket: Socket, peer: Arc<str>) {
    let service =
        service_fn(|request| route::answer(Arc::clone(front), request, Arc::clone(&peer)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(Impatient::new(socket)), service);
    tokio::pin!(connection);
    let mut closing = front.closing.clone();
    let closed = async { drop(closing.wait_for(|is_closing| *is_closing).await) };
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = closed => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Socket = Box<dyn Stream>;

/// A socket that gives up on a peer who does not read: hyper waits for ever.
struct Impatient {
    socket: Socket,
    /// Runs while a write waits.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn new(socket: Socket) -> Self {
        Self { socket, patience: None }
    }

    fn judge<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.patience = None;
            return polled;
        }
        let fresh = || Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_PATIENCE));
        ready!(self.patience.get_or_insert_with(fresh).as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.judge(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.judge(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
