//! Questions to the client of a stateful session: JSON-RPC requests from us, and who waits for
//! their answers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::roots::Root;
use super::{AskError, Question, undeclared};
use crate::lock::lock;
use crate::outbox::Outbox;
use crate::wire;

type Answer = Result<Value, AskError>;

#[derive(Debug)]
pub(crate) struct BackChannel {
    capabilities: Map<String, Value>,
    timeout: Duration,
    last_id: AtomicU64,
    /// `None` once the client has closed: nobody will answer any more.
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>,
    roots: Mutex<KnownRoots>,
}

#[derive(Debug, Default)]
struct KnownRoots {
    /// What `roots/list` answered last, until the client says it has changed.
    roots: Option<Vec<Root>>,
    /// How often the client has said so. An answer asked for before that is out of date, even
    /// if it is looked at afterwards.
    changes: u64,
}

impl BackChannel {
    pub(crate) fn new(capabilities: Map<String, Value>, timeout: Duration) -> Self {
        Self {
            capabilities,
            timeout,
            last_id: AtomicU64::new(0),
            waiting: Mutex::new(Some(HashMap::new())),
            roots: Mutex::default(),
        }
    }

    /// The question goes out on `stream`, the one of the request it is asked for.
    pub(crate) async fn ask(&self, question: &Question, stream: &Outbox) -> Answer {
        if !question.is_supported(&self.capabilities) {
            return Err(undeclared(question));
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        match lock(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(AskError::Closed),
        };
        let _asked = Asked { channel: self, stream, id };
        stream.push(|out| wire::write_request(out, id, question.method, &question.params));
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => answer.unwrap_or(Err(AskError::Closed)),
            Err(_) => Err(AskError::TimedOut),
        }
    }

    /// Hands a response to whoever waits for it. `false` if nobody does.
    pub(crate) fn resolve(&self, id: &str, answer: Answer) -> bool {
        let waiting = id.parse().ok().and_then(|id: u64| lock(&self.waiting).as_mut()?.remove(&id));
        waiting.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// The client has closed its side; whoever waits is told.
    pub(crate) fn close(&self) {
        *lock(&self.waiting) = None;
    }

    /// The roots, if they are known, and how often they have changed so far.
    pub(crate) fn known_roots(&self) -> (Option<Vec<Root>>, u64) {
        let known = lock(&self.roots);
        (known.roots.clone(), known.changes)
    }

    /// Keeps what was asked for when the roots had changed `changes` times.
    pub(crate) fn keep_roots(&self, roots: &[Root], changes: u64) {
        let mut known = lock(&self.roots);
        if known.changes == changes {
            known.roots = Some(roots.to_vec());
        }
    }

    pub(crate) fn roots_changed(&self) {
        let mut known = lock(&self.roots);
        known.roots = None;
        known.changes += 1;
    }
}

/// A question on its way. Dropped unanswered, because of a timeout or because the call it belongs
/// to was cancelled, it tells the client not to bother.
struct Asked<'a> {
    channel: &'a BackChannel,
    stream: &'a Outbox,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let unanswered =
            lock(&self.channel.waiting).as_mut().and_then(|waiting| waiting.remove(&self.id));
        if unanswered.is_some() {
            self.stream.push(|out| wire::write_cancelled(out, self.id));
        }
    }
}
