//! One request while it runs: what [`crate::Context`] offers a handler, without the handler's types.
//!
//! The crate's core works on this alone. Only the few generic lines that make a
//! `Context<S>` out of it are compiled again for each server.
//!
//! A call *falls silent* when its last word is said: nothing of it is sent afterwards. It is
//! *cancelled* when nobody waits for its work any more, be it that the client has taken the request
//! back, that its time is up, or that it is suspended: whoever works for it is told to stop. Each
//! may come without the other.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tracing::Span;

use crate::ask::back_channel::BackChannel;
use crate::ask::replay::{KeptArguments, Replay};
use crate::error::Error;
use crate::outbox::{End, Outbox};
use crate::params::Meta;
use crate::policy::{AuditEntry, RateLimit, Waiting};
use crate::principal::Principal;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::tasks::{Owner, Task, TaskPlan};
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
    Envelope { info: Option<Box<str>>, capabilities: Box<str> },
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
                let parsed = info.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
                let Implementation { name, version } = parsed.unwrap_or_default();
                let capabilities = serde_json::from_str(capabilities).unwrap_or_default();
                ClientInfo { name, version, capabilities }
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
    pub(crate) kind: Kind,
    /// The tool's name, the resource's URI, or the prompt's name.
    pub(crate) subject: String,
    pub(crate) client: Client,
    pub(crate) registry: Arc<Registry>,
    pub(crate) principal: Option<Arc<Principal>>,
    /// See [`Origin::session`].
    pub(crate) session: Option<u64>,
    /// How it may go on when its request has been answered.
    pub(crate) task_plan: Option<TaskPlan>,
    /// Set when it does.
    task: OnceLock<Arc<Task>>,
    stream: Arc<Outbox>,
    progress: Option<Progress>,
    log: LogThreshold,
    asks: Asks,
    waiting: Waiting,
    audit: Option<AuditEntry>,
    span: Span,
    /// Set under the lock of what takes progress and log messages.
    is_silent: AtomicBool,
    is_cancelled: AtomicBool,
    /// Woken when the call is cancelled.
    on_cancel: Notify,
}

#[derive(Debug)]
struct Progress {
    /// The client's token as raw JSON.
    token: Box<str>,
    /// The least value that is still an increase.
    next: AtomicU64,
}

impl Call {
    pub(crate) fn new(origin: Origin, beginning: Beginning<'_>, asks: Asks) -> Self {
        let Beginning { kind, subject, arguments, progress_token, trace_parent, task_plan } =
            beginning;
        let audit = origin.registry.audit.as_ref().map(|audit| audit.begin(arguments));
        let span = span(kind, &subject, trace_parent);
        Self {
            revision: origin.revision,
            kind,
            subject,
            client: origin.client,
            registry: origin.registry,
            principal: origin.principal,
            session: origin.session,
            task_plan,
            task: OnceLock::new(),
            stream: origin.stream,
            progress: progress_token
                .map(|token| Progress { token: token.into(), next: AtomicU64::new(0) }),
            log: origin.log,
            asks,
            waiting: Waiting::default(),
            audit,
            span,
            is_silent: AtomicBool::new(false),
            on_cancel: Notify::new(),
            is_cancelled: AtomicBool::new(false),
        }
    }

    pub(crate) fn progress(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(task) = self.task().filter(|_| !message.is_empty()) {
            task.say(message);
        }
        let Some(progress) = &self.progress else {
            return;
        };
        let message =
            Some(message).filter(|text| !text.is_empty() && self.revision.has_progress_message());
        let increases = || {
            !self.is_silent.load(Ordering::Relaxed)
                && done >= progress.next.load(Ordering::Relaxed)
                && {
                    progress.next.store(done.saturating_add(1), Ordering::Relaxed);
                    true
                }
        };
        self.notices().push_notification(increases, |out| {
            wire::write_progress(out, &progress.token, done, total, message, self.related_task());
        });
    }

    pub(crate) fn log(&self, level: Level, data: &impl Serialize) {
        if !self.log.lets_through(level) {
            return;
        }
        let open = || !self.is_silent.load(Ordering::Relaxed);
        self.notices().push_notification(open, |out| {
            wire::write_log(out, level, data, self.related_task());
        });
    }

    /// Says the last word, the answer or nothing if none is wanted, and falls silent.
    pub(crate) fn finish(&self, end: End, write: impl FnOnce(&mut Vec<u8>)) {
        self.stream.finish(end, |out| {
            self.is_silent.store(true, Ordering::Relaxed);
            write(out);
        });
    }

    /// Falls silent, for the last word is not its own to say: it belongs to the batch it came in, or
    /// to its task.
    pub(crate) fn fall_silent(&self) {
        self.notices().push(|_| self.is_silent.store(true, Ordering::Relaxed));
    }

    /// Tells whoever works for this call that nobody waits for it any more.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.on_cancel.notify_waiters();
    }

    /// Writes the call into the audit log, if there is one.
    pub(crate) fn record(&self, outcome: &str, bytes_out: usize) {
        if let (Some(audit), Some(entry)) = (&self.registry.audit, &self.audit) {
            audit.end(self, entry, outcome, bytes_out);
        }
    }

    /// The client's connection may go; see [`crate::Context::release_connection`].
    pub(crate) fn release_connection(&self) {
        if self.revision == Revision::V2025_11_25 {
            self.stream.release();
        }
    }

    /// The task this call has become.
    pub(crate) fn task(&self) -> Option<&Arc<Task>> {
        self.task.get()
    }

    /// From now on this call is a task.
    pub(crate) fn become_task(&self, task: Arc<Task>) {
        // Asked for once, by whoever has started the call.
        let _ = self.task.set(task);
    }

    /// Where progress and log messages go: for a task whose request has been answered, elsewhere.
    fn notices(&self) -> &Arc<Outbox> {
        let plan = self.task_plan.as_ref().filter(|_| self.task.get().is_some());
        plan.and_then(|plan| plan.standing.as_ref()).unwrap_or(&self.stream)
    }

    /// The task to name in messages of ours (2025-11-25).
    fn related_task(&self) -> Option<&Task> {
        self.task().map(Arc::as_ref).filter(|_| !self.revision.is_stateless())
    }

    /// Where everything this call leads to goes, questions to its client among it.
    pub(crate) fn stream(&self) -> &Arc<Outbox> {
        &self.stream
    }

    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn asks(&self) -> &Asks {
        &self.asks
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    pub(crate) async fn cancelled(&self) {
        let notified = self.on_cancel.notified();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

/// What kind of request a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Prompt,
    Completion,
    List,
    TaskResult,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
            Self::List => "list",
            Self::TaskResult => "task",
        }
    }
}

/// What the request itself says.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) kind: Kind,
    /// The tool's name, the resource's URI, or the prompt's name.
    pub(crate) subject: String,
    /// JSON text, empty if this kind has none.
    pub(crate) arguments: &'a str,
    pub(crate) progress_token: Option<&'a str>,
    /// W3C trace context.
    pub(crate) trace_parent: Option<&'a str>,
    pub(crate) task_plan: Option<TaskPlan>,
}

impl<'a> Beginning<'a> {
    pub(crate) fn of(
        kind: Kind,
        subject: String,
        arguments: &'a str,
        meta: &Meta<'a>,
    ) -> Result<Self, Error> {
        let progress_token = meta.progress_token()?;
        let trace_parent = meta.trace_parent();
        Ok(Self { kind, subject, arguments, progress_token, trace_parent, task_plan: None })
    }
}

/// The span a handler's log lines belong to. One that somebody traces shows at every log level.
fn span(kind: Kind, subject: &str, trace_parent: Option<&str>) -> Span {
    let kind = kind.as_str();
    match trace_parent {
        Some(traceparent) => tracing::error_span!("call", kind, subject, traceparent),
        None => tracing::info_span!("call", kind, subject),
    }
}

/// How this call can ask its client.
#[derive(Debug)]
pub(crate) enum Asks {
    /// It cannot: the method has no place for questions.
    None,
    /// By requests of ours, in a stateful session.
    Session(Arc<BackChannel>),
    /// By suspending the handler (2026-07-28).
    Replay { replay: Mutex<Box<Replay>>, method: &'static str, arguments: KeptArguments },
}

/// What a call takes over from the connection and the envelope it came with.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) revision: Revision,
    pub(crate) registry: Arc<Registry>,
    pub(crate) stream: Arc<Outbox>,
    pub(crate) client: Client,
    pub(crate) log: LogThreshold,
    /// The way to the client, in a stateful session.
    pub(crate) back_channel: Option<Arc<BackChannel>>,
    pub(crate) rate_limit: Option<Arc<RateLimit>>,
    pub(crate) principal: Option<Arc<Principal>>,
    /// `None` for a request of HTTP that belongs to no session.
    pub(crate) session: Option<u64>,
    /// Whose tasks this request may see.
    pub(crate) owner: Owner,
    /// Of the session, for what belongs to no request.
    pub(crate) standing: Option<Arc<Outbox>>,
}
