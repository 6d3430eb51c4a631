//! Any server that speaks on its standard streams, put behind HTTP for whoever speaks nothing else:
//! the official suite. Before 2026-07-28 each session is a process of its own; from then on all
//! requests share one.
//!
//! What a server on standard streams cannot see, such as headers, the bridge answers for it. All
//! else is the server's own: messages pass through as they are, but for ids that must be unique.

mod child;
mod front;
mod headers;
mod modern;
mod reply;
mod sessions;

use anyhow::{Context, Result};
use front::Front;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A bridge on a free port of this machine. Dropping it ends the processes behind it.
pub struct Bridge {
    /// Of its endpoint, by the name `localhost`.
    pub url: String,
    _runtime: Runtime,
}

impl Bridge {
    /// Listens, and starts `command` once, so that one that cannot be started is known now.
    pub fn start(command: &[String]) -> Result<Bridge> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.context("the bridge cannot listen")?;
        let port = listener.local_addr()?.port();
        let front = Arc::new(Front::new(command.to_vec()));
        let started = runtime.block_on(front.shared());
        started.with_context(|| format!("cannot start {}", command.join(" ")))?;
        runtime.spawn(accept(listener, front));
        Ok(Bridge { url: format!("http://localhost:{port}/mcp"), _runtime: runtime })
    }
}

async fn accept(listener: TcpListener, front: Arc<Front>) {
    // An error here leaves the suite without a server, which it reports.
    while let Ok((socket, _)) = listener.accept().await {
        let front = Arc::clone(&front);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let front = Arc::clone(&front);
                async move { Ok::<_, Infallible>(front.answer(request).await) }
            });
            // A client that hangs up is no error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
