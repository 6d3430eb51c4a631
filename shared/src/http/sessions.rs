//! The sessions of 2024-11-05 to 2025-11-25: who they belong to, and when they end.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Front;
use super::route::Caller;
use super::stream::Stream;
use crate::dispatch::{Carrier, Session};
use crate::lock::lock;
use crate::outbox::Outbox;
use crate::principal::Principal;
use crate::seal::random_token;

/// Streams a client can come back to. Those of calls still in flight are kept however many there
/// are; of those that have ended, more than this many are not.
const KEPT_STREAMS: usize = 32;

/// One session, for as long as its client uses it.
pub(super) struct HttpSession {
    pub(super) id: String,
    pub(super) session: Session,
    /// What belongs to no request, for whoever asks by GET.
    pub(super) standing: Arc<Stream>,
    principal: Option<Arc<Principal>>,
    streams: Mutex<VecDeque<Arc<Stream>>>,
    last_stream: AtomicU64,
    last_used: Mutex<Instant>,
}

impl HttpSession {
    /// `None` where the system gives no random numbers to make an id of.
    pub(super) fn new(
        front: &Front,
        caller: &Caller,
        standing: fn(Arc<Outbox>) -> Stream,
    ) -> Option<Arc<Self>> {
        let outbox = Arc::new(Outbox::default());
        let session = Session::carried(
            Carrier::HttpSession,
            Arc::clone(&front.registry),
            Arc::clone(&outbox),
            caller.principal.clone(),
            front.rate_limits.of(&caller.key),
        );
        Some(Arc::new(Self {
            id: random_token()?,
            session,
            standing: Arc::new(standing(outbox)),
            principal: caller.principal.clone(),
            streams: Mutex::default(),
            last_stream: AtomicU64::new(0),
            last_used: Mutex::new(Instant::now()),
        }))
    }

    /// A stream for what a request leads to, which the client can come back to.
    pub(super) fn open_stream(&self, outbox: Arc<Outbox>) -> Arc<Stream> {
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let stream = Arc::new(Stream::resumable(number, outbox));
        let mut streams = lock(&self.streams);
        while streams.len() >= KEPT_STREAMS {
            // Rather what has been read than what nobody has come back for yet.
            let done = streams.iter().position(|stream| stream.is_done());
            let spare = done.or_else(|| streams.iter().position(|stream| stream.is_left()));
            let Some(spare) = spare else { break };
            streams.remove(spare);
        }
        streams.push_back(Arc::clone(&stream));
        stream
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == self.standing.number() {
            return Some(Arc::clone(&self.standing));
        }
        lock(&self.streams).iter().find(|stream| stream.number() == number).cloned()
    }

    /// Calls are cancelled, and streams end.
    fn close(&self) {
        self.session.peer_closed();
        self.session.calls().cancel_all();
        self.standing.end();
        lock(&self.streams).drain(..).for_each(|stream| stream.end());
    }

    fn is_busy(&self) -> bool {
        let is_read = |stream: &Arc<Stream>| stream.has_reader();
        is_read(&self.standing)
            || self.session.calls().any()
            || lock(&self.streams).iter().any(is_read)
    }

    pub(super) fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    fn idle_since(&self) -> Instant {
        *lock(&self.last_used)
    }
}

pub(super) struct Sessions {
    by_id: Mutex<HashMap<String, Arc<HttpSession>>>,
    max: usize,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(max: usize, idle: Duration) -> Self {
        Self { by_id: Mutex::default(), max, idle }
    }

    /// `false` if there are as many sessions as there may be, and all are in use.
    pub(super) fn add(&self, session: &Arc<HttpSession>) -> bool {
        let mut by_id = lock(&self.by_id);
        if by_id.len() >= self.max {
            let idle = by_id.values().filter(|session| !session.is_busy());
            let Some(oldest) = idle.min_by_key(|session| session.idle_since()) else {
                return false;
            };
            let id = oldest.id.clone();
            if let Some(evicted) = by_id.remove(&id) {
                evicted.close();
            }
        }
        by_id.insert(session.id.clone(), Arc::clone(session));
        true
    }

    /// A session is its principal's: anybody else is told that there is none.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let session = lock(&self.by_id).get(id).cloned()?;
        if session.principal != caller.principal {
            tracing::warn!("somebody else's session was asked for");
            return None;
        }
        session.touch();
        Some(session)
    }

    pub(super) fn end(&self, session: &HttpSession) {
        lock(&self.by_id).remove(&session.id);
        session.close();
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.by_id).len()
    }

    pub(super) fn close_all(&self) {
        lock(&self.by_id).drain().for_each(|(_, session)| session.close());
    }

    /// Ends sessions nobody has used for too long, for ever.
    pub(super) async fn sweep(&self) {
        loop {
            sleep((self.idle / 4).max(Duration::from_millis(250))).await;
            let Some(oldest) = Instant::now().checked_sub(self.idle) else {
                continue;
            };
            let is_over =
                |session: &Arc<HttpSession>| session.idle_since() < oldest && !session.is_busy();
            let mut by_id = lock(&self.by_id);
            by_id.retain(|_, session| {
                if is_over(session) {
                    session.close();
                    return false;
                }
                true
            });
            let left = by_id.len();
            by_id.shrink_to(left * 2);
        }
    }
}
