//! What a handler sees of the request it serves, and all that it sees.

use std::future::pending;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::AskError;
use crate::ask::elicit::{Elicitation, Elicited};
use crate::ask::roots::Root;
use crate::ask::sample::{SampleRequest, Sampled};
use crate::call::{Call, ClientInfo, Level};
use crate::changes::Changes;
use crate::principal::Principal;
use crate::revision::Revision;

/// The request being served, together with the server's state. Cheap to clone, so that it can
/// move into a thread.
pub struct Context<S> {
    /// The value given to [`crate::Server::new`].
    pub state: Arc<S>,
    call: Arc<Call>,
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), call: Arc::clone(&self.call) }
    }
}

impl<S> Context<S> {
    pub(crate) fn new(state: Arc<S>, call: Arc<Call>) -> Self {
        Self { state, call }
    }

    /// Tells the client how far the work is. Does nothing if the client did not ask, if `done`
    /// has not grown since the last time, or if the client reads too slowly to care.
    ///
    /// `message` may be empty; it reaches clients from 2025-03-26 on.
    pub fn progress(&self, done: u64, total: Option<u64>, message: &str) {
        self.call.progress(done, total, message);
    }

    /// Sends a log message to the client, if it wants messages of this level. Never put secrets,
    /// personal data or internals here.
    pub fn log(&self, level: Level, data: impl Serialize) {
        self.call.log(level, &data);
    }

    /// Asks the person at the client, by a [`crate::Form`] or an [`crate::OpenUrl`].
    ///
    /// `key` names the question within this handler: the same each time the handler runs, and
    /// another one for each question (in a loop, number them). In 2026-07-28 the handler is run
    /// again from the start when the answer comes, so what comes before a question must do no
    /// harm when done twice; wrap it in [`Context::once`] if it would.
    ///
    /// # Errors
    /// [`AskError`] if the client cannot be asked, refuses, or answers with something that does
    /// not fit. With `?` the model is told so.
    pub async fn elicit(
        &self,
        key: &str,
        elicitation: impl Into<Elicitation>,
    ) -> Result<Elicited, AskError> {
        let elicitation = elicitation.into();
        let question = elicitation.question(self.revision())?;
        self.call.ask(key, question, |answer| elicitation.read(answer)).await
    }

    /// Asks the client's model. See [`Context::elicit`] about `key`.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn sample(&self, key: &str, request: SampleRequest) -> Result<Sampled, AskError> {
        let question = request.question(self.revision())?;
        self.call.ask(key, question, SampleRequest::read).await
    }

    /// Asks which directories the client works in. They are advice: what a server may touch is
    /// its own configuration's to say. See [`Context::elicit`] about `key`.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, AskError> {
        self.call.ask_roots(key).await
    }

    /// Does something with effects once, however often the handler is run for one call. Keys are
    /// shared with [`Context::elicit`]. A failure is not remembered, and `work` asks nothing itself:
    /// what comes before a question may be done again.
    ///
    /// # Errors
    /// What `work` fails with, or [`AskError::Misused`] if the key is used twice.
    pub async fn once<T, E>(
        &self,
        key: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
    {
        self.call.once(key, work).await
    }

    /// The client has cancelled the request. A handler needs to ask only in its own threads: the
    /// future of an async handler is dropped when the request is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Waits until the request is cancelled. For tasks a handler has spawned.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Runs `work`, which blocks or computes for long, on a thread of its own, so that other
    /// requests go on meanwhile. Long work asks [`Context::is_cancelled`] now and then. At most 64
    /// such threads run at a time; work beyond them waits, and never begins if its request is
    /// cancelled meanwhile.
    pub async fn blocking<T, F>(&self, work: F) -> T
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let threads = Arc::clone(&self.call.registry.blocking_threads);
        let turn = threads.acquire_owned().await;
        let span = tracing::Span::current();
        let call = Arc::clone(&self.call);
        let begin = move || {
            let _turn = turn;
            (!call.is_cancelled()).then(|| span.in_scope(work))
        };
        match tokio::task::spawn_blocking(begin).await {
            Ok(Some(value)) => value,
            // Cancelled, or the runtime is shutting down: nobody waits for a value any more.
            Ok(None) => pending().await,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => pending().await,
            },
        }
    }

    /// Lets the client's connection go while long work goes on: a client of 2025-11-25 over HTTP
    /// comes back for the answer by itself. Does nothing anywhere else.
    pub fn release_connection(&self) {
        self.call.release_connection();
    }

    /// Who is calling, where the transport can tell: an authenticated caller over HTTP.
    pub fn principal(&self) -> Option<&Principal> {
        self.call.principal.as_deref()
    }

    /// Which connection or session the request came by; no two of a server's have the same number.
    /// `None` over HTTP in 2026-07-28, where requests have nothing in common. What outlives a
    /// request belongs to the [`Context::principal`], or where there is none to the session, or
    /// where there is neither to whoever knows a name nobody can guess.
    pub fn session(&self) -> Option<u64> {
        self.call.session
    }

    /// The tool's name, the resource's URI, or the prompt's name.
    pub fn subject(&self) -> &str {
        &self.call.subject
    }

    /// Who is calling, by its own account.
    pub fn client(&self) -> ClientInfo {
        self.call.client.info()
    }

    /// The revision this request is served in. Handlers rarely need it.
    pub fn revision(&self) -> Revision {
        self.call.revision
    }

    /// Where to publish that a resource or a list has changed.
    pub fn changes(&self) -> &Changes {
        &self.call.registry.changes
    }

    /// Lists and serves a tool, or stops doing so, for every client. `false` if there is no tool
    /// of this name. See [`crate::Server::hide_tool`].
    pub fn show_tool(&self, name: &str, visible: bool) -> bool {
        self.call.registry.show_tool(name, visible)
    }

    /// Lists and serves a prompt, or stops doing so, for every client. `false` if there is no
    /// prompt of this name. See [`crate::Server::hide_prompt`].
    pub fn show_prompt(&self, name: &str, visible: bool) -> bool {
        self.call.registry.show_prompt(name, visible)
    }
}
