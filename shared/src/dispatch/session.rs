//! One peer's conversation. Each message is looked at by itself: a request with the envelope of
//! 2026-07-28 is served without a session, anything else belongs to the session `initialize`
//! opened, and both may share one pipe.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::calls::Calls;
use super::reply::{Batch, ReplyTo};
use super::route::{self, Routed, STATEFUL_METHODS, STATELESS_METHODS};
use super::{listen, route::is_known};
use crate::answer::{Answer, Outcome};
use crate::ask::AskError;
use crate::ask::back_channel::BackChannel;
use crate::call::{Client, ClientInfo, Level, LogThreshold, Origin};
use crate::changes::Subscriber;
use crate::error::Error;
use crate::jsonrpc::{self, Id, Line, Message, Refusal, Response};
use crate::outbox::{End, Outbox};
use crate::params::{self, Meta, Params};
use crate::policy::RateLimit;
use crate::principal::Principal;
use crate::registry::Registry;
use crate::revision::Revision;
use crate::tasks::Owner;
use crate::transport::TooLong;
use crate::wire::{self, Envelope, Handshake, RoutingHeaders};

/// Messages in one batch (2025-03-26).
const MAX_BATCH: usize = 1_000;

pub(crate) struct Session {
    registry: Arc<Registry>,
    /// Where what belongs to no request goes.
    outbox: Arc<Outbox>,
    calls: Arc<Calls>,
    carrier: Carrier,
    principal: Option<Arc<Principal>>,
    rate_limit: Option<Arc<RateLimit>>,
    /// What its tasks know it by.
    number: u64,
    stateful: OnceLock<Stateful>,
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

/// A request of 2026-07-28, taken apart.
struct Request<'a> {
    id: &'a Id<'a>,
    method: &'a str,
    params: &'a Params<'a>,
    meta: &'a Meta<'a>,
    stream: &'a Arc<Outbox>,
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

    fn stateless_request(
        &self,
        request: &Request<'_>,
        envelope: Envelope,
        headers: Option<&RoutingHeaders<'_>>,
    ) -> Result<Routed, Error> {
        let Request { id, method, params, meta, stream } = *request;
        match method {
            "server/discover" => return Ok(Routed::Now(Ok(Answer::Discovered))),
            "subscriptions/listen" => {
                listen::open(&self.registry, &self.calls, stream, id, params)?;
                return Ok(Routed::Listening);
            }
            _ if STATEFUL_METHODS.contains(&method) => {
                return Err(Error::MethodNotFound(method.to_owned()));
            }
            "tools/call" => self.check_arguments(params, headers)?,
            _ => {}
        }
        let origin = Origin {
            revision: Revision::V2026_07_28,
            client: envelope.client,
            log: LogThreshold::Request(envelope.log_level),
            back_channel: None,
            registry: Arc::clone(&self.registry),
            stream: Arc::clone(stream),
            rate_limit: self.rate_limit.clone(),
            principal: self.principal.clone(),
            owner: Owner { principal: self.principal.clone(), session: None },
        };
        Ok(route::route(method, params, meta, origin))
    }

    fn check_arguments(
        &self,
        params: &Params<'_>,
        headers: Option<&RoutingHeaders<'_>>,
    ) -> Result<(), Error> {
        let name = params::string(params.name, "name")?;
        match (headers, self.registry.tool(&name)) {
            (Some(headers), Some(tool)) => headers.check_arguments(tool, params.arguments),
            _ => Ok(()),
        }
    }

    fn stateful_request(
        &self,
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
        let Some(stateful) = self.stateful.get() else {
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
                    stream: Arc::clone(reply_to.stream()),
                    client: Client::Session(Arc::clone(&stateful.client)),
                    log: LogThreshold::Session(Arc::clone(&stateful.log_level)),
                    back_channel: Some(Arc::clone(&stateful.back_channel)),
                    rate_limit: self.rate_limit.clone(),
                    principal: self.principal.clone(),
                    owner: self.owner(),
                };
                Ok(route::route(method, params, meta, origin))
            }
        }
    }

    /// With a principal, any of its sessions; without, this one alone.
    fn owner(&self) -> Owner {
        let session = self.principal.is_none().then_some(self.number);
        Owner { principal: self.principal.clone(), session: Some(session.unwrap_or_default()) }
    }

    fn initialize(&self, params: &Params<'_>, reply_to: &ReplyTo) -> Result<Answer, Error> {
        if self.stateful.get().is_some() {
            return Err(already_initialized());
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
            self.registry.limits.ask_timeout,
        );
        let stateful = Stateful {
            revision,
            back_channel: Arc::new(back_channel),
            client: Arc::new(handshake.client),
            log_level: Arc::new(AtomicU8::new(Level::Info as u8)),
            subscriber: self.registry.changes.subscribe(interest, &self.outbox),
        };
        if self.stateful.set(stateful).is_err() {
            return Err(already_initialized());
        }
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
        let batch = Batch::new(Arc::clone(stream), answers.count());
        for message in messages {
            let reply_to = ReplyTo::Batch(Arc::clone(&batch));
            match message {
                Ok(message) => self.message(message, reply_to, None),
                Err(refusal) => {
                    let write =
                        |out: &mut Vec<u8>| wire::write_refusal(out, self.revision(), &refusal);
                    reply_to.answer(wire::HTTP_BAD_REQUEST, write);
                }
            }
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
        }
    }
}

fn already_initialized() -> Error {
    Error::InvalidRequest("Already initialized".into())
}

fn claims_stateless(message: &Message<'_>) -> bool {
    let Message::Request { params, .. } = message else {
        return false;
    };
    Params::read(*params).and_then(|params| params.meta()).is_ok_and(|meta| meta.claims_stateless())
}
