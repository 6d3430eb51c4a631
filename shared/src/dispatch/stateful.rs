//! Requests of 2024-11-05 to 2025-11-25: they belong to the session that `initialize` has opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::listen;
use super::reply::ReplyTo;
use super::route::{self, Routed, STATELESS_METHODS, is_known};
use super::session::Session;
use crate::answer::Answer;
use crate::ask::back_channel::BackChannel;
use crate::call::{Client, ClientInfo, Level, LogThreshold, Origin};
use crate::changes::Subscriber;
use crate::error::Error;
use crate::params::{self, Meta, Params};
use crate::revision::Revision;
use crate::tasks::Owner;
use crate::wire::{self, Handshake};

/// What `initialize` has agreed on.
pub(super) struct Stateful {
    pub(super) revision: Revision,
    pub(super) client: Arc<ClientInfo>,
    pub(super) log_level: Arc<AtomicU8>,
    pub(super) subscriber: Arc<Subscriber>,
    pub(super) back_channel: Arc<BackChannel>,
}

impl Session {
    pub(super) fn stateful_request(
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
                    session: Some(self.number),
                    owner: self.owner(),
                    standing: Some(Arc::clone(&self.outbox)),
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
}

fn already_initialized() -> Error {
    Error::InvalidRequest("Already initialized".into())
}
