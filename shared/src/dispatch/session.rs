//! One peer's conversation. Each message is looked at by itself: a request with the envelope of
//! 2026-07-28 is served without a session, anything else belongs to the session `initialize`
//! opened, and both may share one pipe.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::calls::Calls;
use super::reply::{Batch, ReplyTo};
use super::route::Routed;
use super::stateful::Stateful;
use super::stateless::Request;
use crate::answer::{Answer, Outcome};
use crate::ask::AskError;
use crate::error::Error;
use crate::jsonrpc::{self, Id, Line, Message, Refusal, Response};
use crate::outbox::{End, Outbox};
use crate::params::{Params, claims_stateless};
use crate::policy::RateLimit;
use crate::principal::Principal;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::transport::TooLong;
use crate::wire::{self, Envelope, RoutingHeaders};

/// Messages in one batch (2025-03-26).
const MAX_BATCH: usize = 1_000;

pub(crate) struct Session {
    pub(super) registry: Arc<Registry>,
    /// Where what belongs to no request goes.
    pub(super) outbox: Arc<Outbox>,
    pub(super) calls: Arc<Calls>,
    pub(super) carrier: Carrier,
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) rate_limit: Option<Arc<RateLimit>>,
    /// What its tasks know it by.
    pub(super) number: u64,
    pub(super) stateful: OnceLock<Stateful>,
}

/// What the messages of a session come on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// One connection for all of them.
    Stream,
    /// Requests of HTTP that name the session.
    #[cfg(feature = "http")]
    HttpSession,
    /// A single request of HTTP, which is of 2026-07-28 or wrong.
    #[cfg(feature = "http")]
    HttpRequest,
}

impl Session {
    /// The session of one connection.
    pub(crate) fn new(registry: Arc<Registry>, outbox: Arc<Outbox>) -> Self {
        let rate_limit =
            registry.limits.calls_per_second.map(|rate| Arc::new(RateLimit::new(rate)));
        Self::carried(Carrier::Stream, registry, outbox, None, rate_limit)
    }

    pub(crate) fn carried(
        carrier: Carrier,
        registry: Arc<Registry>,
        outbox: Arc<Outbox>,
        principal: Option<Arc<Principal>>,
        rate_limit: Option<Arc<RateLimit>>,
    ) -> Self {
        let calls = Arc::new(Calls::new(Arc::clone(&registry)));
        let number = registry.tasks.session();
        let stateful = OnceLock::new();
        Self { registry, outbox, calls, carrier, principal, rate_limit, number, stateful }
    }

    pub(crate) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Takes one line. Answers, now or later, go to the outbox.
    pub(crate) fn line(&self, line: &[u8]) {
        let line = jsonrpc::parse_line(line, self.registry.limits.max_depth);
        self.deliver(line, &self.outbox, None);
    }

    /// Takes what a line held. What comes of it goes to `stream`.
    pub(crate) fn deliver(
        &self,
        line: Line<'_>,
        stream: &Arc<Outbox>,
        headers: Option<&RoutingHeaders<'_>>,
    ) {
        match line {
            Line::Single(Ok(message)) => {
                self.message(message, ReplyTo::Stream(Arc::clone(stream)), headers);
            }
            Line::Single(Err(refusal)) => self.refuse(&refusal, stream),
            Line::Batch(elements) => self.batch(&elements, stream),
        }
    }

    /// Answers a message that was too long to be kept.
    pub(crate) fn too_long(&self, too_long: TooLong) {
        self.refuse(&Refusal::too_long(too_long.id, too_long.max_bytes), &self.outbox);
    }

    /// Answers what never became a message.
    fn refuse(&self, refusal: &Refusal, stream: &Outbox) {
        tracing::debug!(code = refusal.code, "refused: {}", refusal.message);
        let write = |out: &mut Vec<u8>| wire::write_refusal(out, self.revision(), refusal);
        stream.finish(End::Answered(wire::HTTP_BAD_REQUEST), write);
    }

    /// Sends what has changed to those who subscribed.
    pub(crate) fn flush_changes(&self) {
        if let Some(stateful) = self.stateful.get() {
            let changes = stateful.subscriber.take_pending();
            if !changes.is_empty() {
                self.outbox.push(|out| wire::write_changes(out, &changes, None));
            }
        }
        self.calls.flush_listens(&self.outbox);
    }

    /// The peer has closed its side: it will answer nothing more.
    pub(crate) fn peer_closed(&self) {
        self.calls.end_listens(&self.outbox, self.carrier != Carrier::Stream);
        if let Some(stateful) = self.stateful.get() {
            stateful.back_channel.close();
        }
    }

    pub(crate) fn revision(&self) -> Option<Revision> {
        self.stateful.get().map(|stateful| stateful.revision)
    }

    fn message(
        &self,
        message: Message<'_>,
        reply_to: ReplyTo,
        headers: Option<&RoutingHeaders<'_>>,
    ) {
        match message {
            Message::Request { id, method, params } => {
                self.request(id, &method, params, reply_to, headers);
            }
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response(response) => self.response(&response),
        }
    }

    fn response(&self, response: &Response<'_>) {
        let answer = match response.outcome {
            Ok(result) => serde_json::from_str(result.get())
                .map_err(|error| AskError::Malformed(error.to_string())),
            Err(error) => Err(wire::refusal_of_client(error)),
        };
        let channel = self.stateful.get().map(|stateful| &stateful.back_channel);
        if !channel.is_some_and(|channel| channel.resolve(response.id.as_str(), answer)) {
            tracing::debug!(id = response.id.as_str(), "a response nobody waits for");
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/roots/list_changed"
            && let Some(stateful) = self.stateful.get()
        {
            stateful.back_channel.roots_changed();
        }
        if method != "notifications/cancelled" {
            return;
        }
        let Ok(params) = Params::read(params) else {
            return;
        };
        if let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get())) {
            self.calls.cancel(&id);
        }
    }

    fn request(
        &self,
        id: Id<'_>,
        method: &str,
        params: Option<&RawValue>,
        reply_to: ReplyTo,
        headers: Option<&RoutingHeaders<'_>>,
    ) {
        let (revision, routed) = self.classify(&id, method, params, &reply_to, headers);
        match routed {
            Ok(Routed::Call(call, work)) => self.calls.start(id, call, work, reply_to),
            Ok(Routed::Now(outcome)) => self.answer(&id, revision, &outcome, &reply_to),
            Ok(Routed::Listening) => {}
            Err(error) => self.answer(&id, revision, &Err(error), &reply_to),
        }
    }

    /// The revision the answer is to be written in, and what the request leads to.
    fn classify(
        &self,
        id: &Id<'_>,
        method: &str,
        params: Option<&RawValue>,
        reply_to: &ReplyTo,
        headers: Option<&RoutingHeaders<'_>>,
    ) -> (Revision, Result<Routed, Error>) {
        let spoken = self.revision().unwrap_or(Revision::NEWEST_STATEFUL);
        if self.calls.is_in_flight(id) {
            return (
                spoken,
                Err(Error::InvalidRequest("A request with this id is in flight".into())),
            );
        }
        let (params, meta) =
            match Params::read(params).and_then(|params| Ok((params.meta()?, params))) {
                Ok((meta, params)) => (params, meta),
                Err(error) => return (spoken, Err(error)),
            };
        if !meta.claims_stateless() {
            #[cfg(feature = "http")]
            if self.carrier == Carrier::HttpRequest {
                return (Revision::V2026_07_28, Err(wire::unclaimed(method)));
            }
            return (spoken, self.stateful_request(method, &params, &meta, reply_to));
        }
        let check = |version: &str| {
            headers.map_or(Ok(()), |headers| headers.check(version, method, &params))
        };
        match Envelope::read(&meta, check) {
            // A client of old that happens to send a broken envelope still wants its handshake.
            Err(_) if method == "initialize" && self.carrier == Carrier::Stream => {
                (spoken, self.stateful_request(method, &params, &meta, reply_to))
            }
            Err(error) => (Revision::V2026_07_28, Err(error)),
            Ok(envelope) => {
                let stream = reply_to.stream();
                let request = Request { id, method, params: &params, meta: &meta, stream };
                (Revision::V2026_07_28, self.stateless_request(&request, envelope, headers))
            }
        }
    }

    fn batch(&self, elements: &[&RawValue], stream: &Arc<Outbox>) {
        if !self.revision().is_some_and(Revision::has_batches) {
            let refusal = Refusal::batch("Batches are part of revision 2025-03-26 only");
            return self.refuse(&refusal, stream);
        }
        if elements.is_empty() || elements.len() > MAX_BATCH {
            return self.refuse(&Refusal::batch("A batch holds 1 to 1000 messages"), stream);
        }
        let messages: Vec<_> =
            elements.iter().map(|raw| jsonrpc::parse_message(raw.get())).collect();
        if messages.iter().flatten().any(claims_stateless) {
            let refusal = Refusal::batch("Requests of 2026-07-28 cannot be part of a batch");
            return self.refuse(&refusal, stream);
        }
        let answers = messages.iter().filter(|message| {
            !matches!(message, Ok(Message::Notification { .. } | Message::Response(_)))
        });
        let answers = answers.count();
        let batch = Batch::new(Arc::clone(stream), answers);
        for message in messages {
            let reply_to = ReplyTo::Batch(Arc::clone(&batch));
            match message {
                Ok(Message::Request { id, .. }) if batch.is_full() => {
                    let full = Err(Error::Refused("The batch leads to too long an answer"));
                    self.answer(&id, Revision::V2025_03_26, &full, &reply_to);
                }
                Ok(message) => self.message(message, reply_to, None),
                Err(refusal) => {
                    let write =
                        |out: &mut Vec<u8>| wire::write_refusal(out, self.revision(), &refusal);
                    reply_to.answer(wire::HTTP_BAD_REQUEST, write);
                }
            }
        }
        if answers == 0 {
            // Nobody is answered, and over HTTP that is the end of it.
            stream.finish(End::Cancelled, |_| {});
        }
    }

    fn answer(&self, id: &Id<'_>, revision: Revision, outcome: &Outcome, reply_to: &ReplyTo) {
        let revision = match outcome {
            Ok(Answer::Initialized(agreed)) => *agreed,
            _ => revision,
        };
        let status = wire::http_status(revision, outcome);
        let write =
            |out: &mut Vec<u8>| wire::write_outcome(out, &self.registry, revision, id, outcome);
        reply_to.answer(status, write);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.stateful.get().is_some() {
            self.registry.tasks.end_session(self.number);
            if let Some(ended) = &self.registry.session_ended {
                ended(self.number);
            }
        }
    }
}
