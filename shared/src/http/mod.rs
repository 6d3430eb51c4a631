//! Every revision over HTTP, on one listener: `/mcp` for Streamable HTTP (2025-03-26 and later,
//! with sessions before 2026-07-28 and without from then on), `/sse` and `/messages` for
//! 2024-11-05, and what an operator wants to see.
//!
//! Reading order: [`listener`] takes connections; [`route`] finds who answers, after [`access`]
//! has let the request in; [`message`] reads the body; [`stateless`] and [`stateful`] answer
//! `/mcp`, one for each era, [`pair`] the two paths of 2024-11-05; [`sessions`] keeps sessions and
//! [`stream`] what a client may come back for; [`events`] and [`reply`] write.

mod access;
mod args;
mod events;
mod listener;
mod message;
mod metrics;
#[cfg(feature = "oauth")]
mod oauth;
mod pair;
mod reply;
mod route;
mod sessions;
mod stateful;
mod stateless;
mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::lock::lock;
use crate::outbox::Outbox;
use crate::policy::RateLimit;
use crate::registry::Registry;
use access::Access;
pub(crate) use args::HttpArgs;
pub(crate) use listener::Bind;
use metrics::Metrics;
use sessions::Sessions;

/// How the server is reached, and by whom.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) bind: Bind,
    pub(crate) access: Access,
    pub(crate) max_connections: usize,
    pub(crate) max_sessions: usize,
    pub(crate) session_idle: std::time::Duration,
}

/// What all connections share.
struct Front {
    registry: Arc<Registry>,
    access: Access,
    sessions: Sessions,
    rate_limits: RateLimits,
    in_flight: Arc<Semaphore>,
    /// KiB of memory for bodies on their way.
    bodies: Arc<Semaphore>,
    metrics: Metrics,
    /// Turns true when the server is told to stop.
    closing: watch::Receiver<bool>,
}

/// Serves until `stop`, and then for as long as calls in flight may take.
pub(crate) async fn serve(
    registry: Arc<Registry>,
    options: Options,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (close, closing) = watch::channel(false);
    let drain = registry.limits.drain;
    let listener = listener::Listener::bind(&options.bind).await?;
    listener.announce();
    let front = Arc::new(Front {
        access: options.access,
        sessions: Sessions::new(options.max_sessions, options.session_idle),
        rate_limits: RateLimits::new(registry.limits.calls_per_second),
        in_flight: Arc::new(Semaphore::new(registry.limits.max_in_flight.min(MOST_PERMITS))),
        bodies: message::memory(registry.limits.max_message_bytes),
        metrics: Metrics::default(),
        closing,
        registry,
    });
    let connections = Arc::new(Semaphore::new(options.max_connections.min(MOST_PERMITS)));
    tokio::select! {
        () = listener::accept(&listener, &front, &connections) => {}
        () = front.sessions.sweep() => {}
        () = stop => {}
    }
    drop(listener);
    // Nobody waits for the end but us: without a receiver there are no connections left.
    let _ = close.send(true);
    let all = u32::try_from(options.max_connections.min(MOST_PERMITS)).unwrap_or(u32::MAX);
    let ended = connections.acquire_many(all);
    if tokio::time::timeout(drain, ended).await.is_err() {
        tracing::warn!("calls still in flight at the end of the drain period are cancelled");
    }
    front.sessions.close_all();
    Ok(())
}

/// More than this many connections or calls at a time is no limit of ours.
const MOST_PERMITS: usize = 1 << 20;

impl Front {
    /// A place for one more request, and the queue for what it leads to; `None` if there are as
    /// many as there may be.
    fn outbox(&self) -> Option<Arc<Outbox>> {
        let permit = Arc::clone(&self.in_flight).try_acquire_owned().ok()?;
        Some(Arc::new(Outbox::leased(permit)))
    }
}

/// A rate limit for each client, told apart by principal or address.
struct RateLimits {
    calls_per_second: Option<u32>,
    clients: Mutex<HashMap<String, (Arc<RateLimit>, Instant)>>,
}

/// Clients remembered; when there are more, the quiet ones begin anew.
const MAX_CLIENTS: usize = 10_000;

impl RateLimits {
    fn new(calls_per_second: Option<u32>) -> Self {
        Self { calls_per_second, clients: Mutex::default() }
    }

    fn of(&self, client: &str) -> Option<Arc<RateLimit>> {
        let rate = self.calls_per_second?;
        let now = Instant::now();
        let mut clients = lock(&self.clients);
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(client) {
            // A limit nobody has used for a second is as good as new.
            clients.retain(|_, (_, used)| now.duration_since(*used).as_secs() < 1);
        }
        let fresh = || (Arc::new(RateLimit::new(rate)), now);
        let entry = clients.entry(client.to_owned()).or_insert_with(fresh);
        entry.1 = now;
        Some(Arc::clone(&entry.0))
    }
}

/// Held by a request of HTTP that is in flight.
pub(crate) type Lease = OwnedSemaphorePermit;
