//! 2026-07-28: each request stands for itself. Whoever hangs up has cancelled it.

use std::sync::Arc;

use super::events::{EventBody, First, Next, Source, first, messages, write_event};
use super::reply::{self, Refused, Reply};
use super::route::Caller;
use super::{Front, stateful};
use crate::dispatch::{Carrier, Session};
use crate::jsonrpc::{Line, Message};
use crate::outbox::{End, Outbox};
use crate::wire::RoutingHeaders;

pub(super) async fn answer(
    front: &Arc<Front>,
    line: Line<'_>,
    headers: &RoutingHeaders<'_>,
    caller: Caller,
) -> Result<Reply, Refused> {
    match line {
        Line::Single(Ok(Message::Notification { .. })) => return Ok(reply::empty(202)),
        Line::Single(Ok(Message::Response(_))) => {
            return Err(reply::refuse(400, "Nobody has asked for a response"));
        }
        _ => {}
    }
    let outbox = front.outbox().ok_or_else(stateful::busy)?;
    let registry = Arc::clone(&front.registry);
    let rate_limit = front.rate_limits.of(&caller.key);
    let session = Session::carried(
        Carrier::HttpRequest,
        registry,
        Arc::clone(&outbox),
        caller.principal,
        rate_limit,
    );
    session.deliver(line, &outbox, Some(headers));
    let request = Request { session, outbox };
    match first(&request.outbox).await {
        First::Answer { status, message } => Ok(reply::message(status, message)),
        First::Events => Ok(reply::events(EventBody::new(front, request))),
        First::Cancelled => Ok(reply::empty(202)),
    }
}

/// A request that is being answered. Dropped before it is, it is cancelled.
struct Request {
    session: Session,
    outbox: Arc<Outbox>,
}

impl Source for Request {
    fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    fn next(&mut self) -> Next {
        self.session.flush_changes();
        let mut bytes = Vec::new();
        let end = self.outbox.take(&mut bytes);
        if bytes.is_empty() {
            return end.map_or(Next::Nothing, |_: End| Next::End);
        }
        let mut events = Vec::with_capacity(bytes.len() + 32);
        messages(&bytes).for_each(|message| write_event(&mut events, None, message));
        Next::Events(events)
    }

    fn close(&mut self) {
        self.session.peer_closed();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.session.calls().cancel_all();
    }
}
