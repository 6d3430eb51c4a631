//! One peer's conversation. Each message is looked at by itself: a request with the envelope of
//! 2026-07-28 is served without a session, anything else belongs to the session `initialize`
//! opened, and both may share one pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::value::RawValue;

use super::calls::{Batch, Calls, ReplyTo};
use super::route::{self, Routed, STATEFUL_METHODS, STATELESS_METHODS};
use super::{listen, route::is_known};
use crate::answer::{Answer, Outcome};
use crate::ask::AskError;
use crate::ask::back_channel::BackChannel;
use crate::call::{Client, ClientInfo, Level, LogThreshold, Origin};
use crate::changes::Subscriber;
use crate::error::Error;
use crate::jsonrpc::{self, Id, Line, Message, Refusal, Response};
use crate::outbox::Outbox;
use crate::params::{self, Meta, Params};
use crate::policy::RateLimit;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::wire::{self, Envelope, Handshake};

/// Messages in one batch (2025-03-26).
const MAX_BATCH: usize = 1_000;

pub(crate) struct Session {
    registry: Arc<Registry>,
    outbox: Arc<Outbox>,
    calls: Arc<Calls>,
    rate_limit: Option<Arc<RateLimit>>,
    stateful: Option<Stateful>,
}

/// What `initialize` has agreed on.
struct Stateful {
    revision: Revision,
    client: Arc<ClientInfo>,
    log_level: Arc<AtomicU8>,
    subscriber: Arc<Subscriber>,
    back_channel: Arc<BackChannel>,
}

impl Session {
    pub(crate) fn new(registry: Arc<Registry>, outbox: Arc<Outbox>) -> Self {
        let calls = Arc::new(Calls::new(Arc::clone(&registry)));
        let rate_limit =
            registry.limits.calls_per_second.map(|rate| Arc::new(RateLimit::new(rate)));
        Self { registry, outbox, calls, rate_limit, stateful: None }
    }

    pub(crate) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Takes one line. Answers, now or later, go to the outbox.
    pub(crate) fn line(&mut self, line: &[u8]) {
        match jsonrpc::parse_line(line) {
            Line::Single(Ok(message)) => {
                self.message(message, ReplyTo::Stream(Arc::clone(&self.outbox)))
            }
            Line::Single(Err(refusal)) => self.refuse(&refusal),
            Line::Batch(elements) => self.batch(&elements),
        }
    }

    /// Answers what never became a message.
    pub(crate) fn refuse(&self, refusal: &Refusal) {
        tracing::debug!(code = refusal.code, "refused: {}", refusal.message);
        self.outbox.push(|out| wire::write_refusal(out, self.revision(), refusal));
    }

    /// Sends what has changed to those who subscribed.
    pub(crate) fn flush_changes(&self) {
        if let Some(stateful) = &self.stateful {
            let changes = stateful.subscriber.take_pending();
            if !changes.is_empty() {
                self.outbox.push(|out| wire::write_changes(out, &changes, None));
            }
        }
        self.calls.flush_listens(&self.outbox);
    }

    /// The peer has closed its side: it will answer nothing more.
    pub(crate) fn peer_closed(&self) {
        self.calls.end_listens(&self.outbox);
        if let Some(stateful) = &self.stateful {
            stateful.back_channel.close();
        }
    }

    fn revision(&self) -> Option<Revision> {
        self.stateful.as_ref().map(|stateful| stateful.revision)
    }

    fn message(&mut self, message: Message<'_>, reply_to: ReplyTo) {
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params, reply_to),
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
        let channel = self.stateful.as_ref().map(|stateful| &stateful.back_channel);
        if !channel.is_some_and(|channel| channel.resolve(response.id.as_str(), answer)) {
            tracing::debug!(id = response.id.as_str(), "a response nobody waits for");
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/roots/list_changed"
            && let Some(stateful) = &self.stateful
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

    fn request(&mut self, id: Id<'_>, method: &str, params: Option<&RawValue>, reply_to: ReplyTo) {
        let (revision, routed) = self.classify(&id, method, params, &reply_to);
        match routed {
            Ok(Routed::Call(call, work)) => self.calls.start(id, call, work, reply_to),
            Ok(Routed::Now(outcome)) => self.answer(&id, revision, &outcome, &reply_to),
            Ok(Routed::Listening) => {}
            Err(error) => self.answer(&id, revision, &Err(error), &reply_to),
        }
    }

    /// The revision the answer is to be written in, and what the request leads to.
    fn classify(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: Option<&RawValue>,
        reply_to: &ReplyTo,
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
            return (spoken, self.stateful_request(method, &params, &meta, reply_to));
        }
        match Envelope::read(&meta) {
            // A client of old that happens to send a broken envelope still wants its handshake.
            Err(_) if method == "initialize" => {
                (spoken, self.stateful_request(method, &params, &meta, reply_to))
            }
            Err(error) => (Revision::V2026_07_28, Err(error)),
            Ok(envelope) => (
                Revision::V2026_07_28,
                self.stateless_request(id, method, &params, &meta, envelope),
            ),
        }
    }

    fn stateless_request(
        &self,
        id: &Id<'_>,
        method: &str,
        params: &Params<'_>,
        meta: &Meta<'_>,
        envelope: Envelope,
    ) -> Result<Routed, Error> {
        match method {
            "server/discover" => return Ok(Routed::Now(Ok(Answer::Discovered))),
            "subscriptions/listen" => {
                listen::open(&self.registry, &self.calls, &self.outbox, id, params)?;
                return Ok(Routed::Listening);
            }
            _ if STATEFUL_METHODS.contains(&method) => {
                return Err(Error::MethodNotFound(method.to_owned()));
            }
            _ => {}
        }
        let origin = Origin {
            revision: Revision::V2026_07_28,
            client: envelope.client,
            log: LogThreshold::Request(envelope.log_level),
            back_channel: None,
            registry: Arc::clone(&self.registry),
            stream: Arc::clone(&self.outbox),
            rate_limit: self.rate_limit.clone(),
        };
        Ok(route::route(method, params, meta, origin))
    }

    fn stateful_request(
        &mut self,
        method: &str,
        params: &Params<'_>,
        meta: &Meta<'_>,
        reply_to: &ReplyTo,
    ) -> Result<Routed, Error> {
        match method {
            "ping" => return Ok(Routed::Now(Ok(Answer::Done))),
            "initialize" => {
                return self.initialize(params, reply_to).map(|answer| Routed::Now(Ok(answer)));
            }
            _ if !is_known(method) => return Err(Error::MethodNotFound(method.to_owned())),
            _ => {}
        }
        let Some(stateful) = &self.stateful else {
            return Err(Error::MissingEnvelope(wire::ENVELOPE_KEYS.to_vec()));
        };
        match method {
            _ if STATELESS_METHODS.contains(&method) => {
                Err(Error::MethodNotFound(method.to_owned()))
            }
            "logging/setLevel" => {
                let level: Level = params::required(params.level, "level")?;
                stateful.log_level.store(level as u8, Ordering::Relaxed);
                Ok(Routed::Now(Ok(Answer::Done)))
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                let uri = params::string(params.uri, "uri")?;
                self.subscribe(stateful, &uri, method == "resources/subscribe")
                    .map(|()| Routed::Now(Ok(Answer::Done)))
            }
            _ => {
                let origin = Origin {
                    revision: stateful.revision,
                    registry: Arc::clone(&self.registry),
                    stream: Arc::clone(&self.outbox),
                    client: Client::Session(Arc::clone(&stateful.client)),
                    log: LogThreshold::Session(Arc::clone(&stateful.log_level)),
                    back_channel: Some(Arc::clone(&stateful.back_channel)),
                    rate_limit: self.rate_limit.clone(),
                };
                Ok(route::route(method, params, meta, origin))
            }
        }
    }

    fn initialize(&mut self, params: &Params<'_>, reply_to: &ReplyTo) -> Result<Answer, Error> {
        if self.stateful.is_some() {
            return Err(Error::InvalidRequest("Already initialized".into()));
        }
        if matches!(reply_to, ReplyTo::Batch(_)) {
            return Err(Error::InvalidRequest("`initialize` cannot be part of a batch".into()));
        }
        let handshake = Handshake::read(params)?;
        let revision = Revision::negotiate(&handshake.protocol_version);
        tracing::info!(client = handshake.client.name, %revision, "session opened");
        let interest = listen::unsolicited(&self.registry);
        let back_channel = BackChannel::new(
            handshake.client.capabilities.clone(),
            Arc::clone(&self.outbox),
            self.registry.limits.ask_timeout,
        );
        self.stateful = Some(Stateful {
            revision,
            back_channel: Arc::new(back_channel),
            client: Arc::new(handshake.client),
            log_level: Arc::new(AtomicU8::new(Level::Info as u8)),
            subscriber: self.registry.changes.subscribe(interest, &self.outbox),
        });
        Ok(Answer::Initialized(revision))
    }

    fn subscribe(&self, stateful: &Stateful, uri: &str, wanted: bool) -> Result<(), Error> {
        if !self.registry.has_resources() {
            return Err(Error::MethodNotFound("resources/subscribe".to_owned()));
        }
        listen::can_be_kept(uri)?;
        if wanted && self.registry.reader(uri).is_none() {
            return Err(Error::resource_not_found(uri));
        }
        stateful.subscriber.edit(|interest| {
            if !wanted {
                interest.resources.remove(uri);
            } else if interest.resources.len() >= self.registry.limits.max_subscriptions {
                return Err(listen::too_many(&self.registry));
            } else {
                interest.resources.insert(uri.to_owned());
            }
            Ok(())
        })
    }

    fn batch(&mut self, elements: &[&RawValue]) {
        if !self.revision().is_some_and(Revision::has_batches) {
            return self.refuse(&Refusal::batch("Batches are part of revision 2025-03-26 only"));
        }
        if elements.is_empty() || elements.len() > MAX_BATCH {
            return self.refuse(&Refusal::batch("A batch holds 1 to 1000 messages"));
        }
        let messages: Vec<_> =
            elements.iter().map(|raw| jsonrpc::parse_message(raw.get())).collect();
        if messages.iter().flatten().any(claims_stateless) {
            return self
                .refuse(&Refusal::batch("Requests of 2026-07-28 cannot be part of a batch"));
        }
        let answers = messages.iter().filter(|message| {
            !matches!(message, Ok(Message::Notification { .. } | Message::Response(_)))
        });
        let batch = Batch::new(Arc::clone(&self.outbox), answers.count());
        for message in messages {
            let reply_to = ReplyTo::Batch(Arc::clone(&batch));
            match message {
                Ok(message) => self.message(message, reply_to),
                Err(refusal) => {
                    reply_to.push(|out| wire::write_refusal(out, self.revision(), &refusal))
                }
            }
        }
    }

    fn answer(&self, id: &Id<'_>, revision: Revision, outcome: &Outcome, reply_to: &ReplyTo) {
        let revision = match outcome {
            Ok(Answer::Initialized(agreed)) => *agreed,
            _ => revision,
        };
        reply_to.push(|out| wire::write_outcome(out, &self.registry, revision, id, outcome));
    }
}

fn claims_stateless(message: &Message<'_>) -> bool {
    let Message::Request { params, .. } = message else {
        return false;
    };
    Params::read(*params).and_then(|params| params.meta()).is_ok_and(|meta| meta.claims_stateless())
}
