//! One request while it runs: what [`crate::Context`] offers a handler, without the handler's types.
//!
//! The crate's core works on this alone. Only the few generic lines that make a
//! `Context<S>` out of it are compiled again for each server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::outbox::Outbox;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::wire;

/// How loud a log message is, quietest first (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are those of RFC 5424")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Who is calling: `clientInfo` and the capabilities it declared. Told by the client and never
/// verified: show it, log it, but decide nothing by it.
#[derive(Debug, Clone, Default)]
pub struct ClientInfo {
    /// Program name.
    pub name: String,
    /// Program version.
    pub version: String,
    /// Declared capabilities as JSON, for example `{"sampling": {}}`.
    pub capabilities: serde_json::Map<String, serde_json::Value>,
}

/// Where this call's [`ClientInfo`] comes from. Stateless requests carry it; it is parsed only
/// if somebody asks.
#[derive(Debug, Clone)]
pub(crate) enum Client {
    Session(Arc<ClientInfo>),
    Envelope {
        info: Option<Box<str>>,
        capabilities: Box<str>,
    },
}

impl Client {
    pub(crate) fn info(&self) -> ClientInfo {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Implementation {
            name: String,
            version: String,
        }
        match self {
            Self::Session(info) => ClientInfo::clone(info),
            Self::Envelope { info, capabilities } => {
                let parsed = info
                    .as_deref()
                    .and_then(|raw| serde_json::from_str(raw).ok());
                let Implementation { name, version } = parsed.unwrap_or_default();
                let capabilities = serde_json::from_str(capabilities).unwrap_or_default();
                ClientInfo {
                    name,
                    version,
                    capabilities,
                }
            }
        }
    }
}

/// From which level on log messages are sent for a call.
#[derive(Debug, Clone)]
pub(crate) enum LogThreshold {
    /// Stateful revisions: set by `logging/setLevel`, shared by the session's calls.
    Session(Arc<AtomicU8>),
    /// 2026-07-28: asked for by this request, or not at all.
    Request(Option<Level>),
}

impl LogThreshold {
    fn lets_through(&self, level: Level) -> bool {
        match self {
            Self::Session(threshold) => level as u8 >= threshold.load(Ordering::Relaxed),
            Self::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
        }
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) revision: Revision,
    /// The tool's name, the resource's URI, or the prompt's name.
    pub(crate) subject: String,
    pub(crate) client: Client,
    pub(crate) registry: Arc<Registry>,
    stream: Arc<Outbox>,
    progress: Option<Progress>,
    log: LogThreshold,
    /// Set under the stream's lock when the call is answered or cancelled.
    closed: AtomicBool,
    cancelled: Notify,
    is_cancelled: AtomicBool,
}

#[derive(Debug)]
struct Progress {
    /// The client's token as raw JSON.
    token: Box<str>,
    /// The least value that is still an increase.
    next: AtomicU64,
}

impl Call {
    pub(crate) fn new(origin: Origin, subject: String, progress_token: Option<&str>) -> Self {
        Self {
            revision: origin.revision,
            subject,
            client: origin.client,
            registry: origin.registry,
            stream: origin.stream,
            progress: progress_token.map(|token| Progress {
                token: token.into(),
                next: AtomicU64::new(0),
            }),
            log: origin.log,
            closed: AtomicBool::new(false),
            cancelled: Notify::new(),
            is_cancelled: AtomicBool::new(false),
        }
    }

    pub(crate) fn progress(&self, done: u64, total: Option<u64>, message: &str) {
        let Some(progress) = &self.progress else {
            return;
        };
        let message =
            Some(message).filter(|text| !text.is_empty() && self.revision.has_progress_message());
        let increases = || {
            !self.closed.load(Ordering::Relaxed)
                && done >= progress.next.load(Ordering::Relaxed)
                && {
                    progress
                        .next
                        .store(done.saturating_add(1), Ordering::Relaxed);
                    true
                }
        };
        self.stream.push_notification(increases, |out| {
            wire::write_progress(out, &progress.token, done, total, message);
        });
    }

    pub(crate) fn log(&self, level: Level, data: &impl Serialize) {
        if !self.log.lets_through(level) {
            return;
        }
        let open = || !self.closed.load(Ordering::Relaxed);
        self.stream
            .push_notification(open, |out| wire::write_log(out, level, data));
    }

    /// Appends the answer; nothing of this call is sent after it.
    pub(crate) fn close(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.stream.push(|out| {
            self.closed.store(true, Ordering::Relaxed);
            write(out);
        });
    }

    /// Nothing of this call is sent from now on, and whoever works for it is told.
    pub(crate) fn cancel(&self) {
        self.close(|_| {});
        self.is_cancelled.store(true, Ordering::Release);
        self.cancelled.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    pub(crate) async fn cancelled(&self) {
        let notified = self.cancelled.notified();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

/// What a call takes over from the connection and the envelope it came with.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) revision: Revision,
    pub(crate) registry: Arc<Registry>,
    pub(crate) stream: Arc<Outbox>,
    pub(crate) client: Client,
    pub(crate) log: LogThreshold,
}
