//! Requests of 2026-07-28: each says all there is to know.

use std::sync::Arc;

use super::listen;
use super::route::{self, Routed, STATEFUL_METHODS};
use super::session::{Carrier, Session};
use crate::answer::Answer;
use crate::call::{LogThreshold, Origin};
use crate::error::Error;
use crate::jsonrpc::Id;
use crate::outbox::Outbox;
use crate::params::{self, Meta, Params};
use crate::revision::Revision;
use crate::tasks::Owner;
use crate::wire::{Envelope, RoutingHeaders};

/// A request of 2026-07-28, taken apart.
pub(super) struct Request<'a> {
    pub(super) id: &'a Id<'a>,
    pub(super) method: &'a str,
    pub(super) params: &'a Params<'a>,
    pub(super) meta: &'a Meta<'a>,
    pub(super) stream: &'a Arc<Outbox>,
}

impl Session {
    pub(super) fn stateless_request(
        &self,
        request: &Request<'_>,
        envelope: Envelope,
        headers: Option<&RoutingHeaders<'_>>,
    ) -> Result<Routed, Error> {
        let Request { id, method, params, meta, stream } = *request;
        match method {
            "server/discover" => return Ok(Routed::Now(Ok(Answer::Discovered))),
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
            session: (self.carrier == Carrier::Stream).then_some(self.number),
            owner: Owner { principal: self.principal.clone(), session: None },
            standing: None,
        };
        if method == "subscriptions/listen" {
            listen::open(&self.calls, id, params, &origin)?;
            return Ok(Routed::Listening);
        }
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
}
