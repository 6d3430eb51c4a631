//! Streamable HTTP with sessions, 2025-03-26 to 2025-11-25. A client that hangs up has cancelled
//! nothing: it may come back for the rest.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};

use super::Front;
use super::access::only;
use super::events::{EventBody, First, first};
use super::message::{SESSION, VERSION, accepts};
use super::reply::{self, Refused, Reply};
use super::route::{Caller, not_allowed};
use super::sessions::HttpSession;
use super::stream::{Stream, parse_event_id};
use crate::jsonrpc::{Line, Message};
use crate::outbox::Outbox;
use crate::revision::Revision;
use crate::wire::RoutingHeaders;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(super) async fn post(
    front: &Arc<Front>,
    line: Line<'_>,
    headers: &HeaderMap,
    routing: &RoutingHeaders<'_>,
    caller: Caller,
) -> Result<Reply, Refused> {
    if let Line::Single(Err(_)) = line {
        return Ok(unreadable(front, line, &caller).await);
    }
    let is_handshake = matches!(&line, Line::Single(Ok(Message::Request { method, .. })) if method == "initialize");
    if is_handshake && !headers.contains_key(SESSION) {
        return open(front, line, routing, &caller).await;
    }
    let session = find(front, headers, &caller)?;
    if let Line::Single(Ok(Message::Notification { .. } | Message::Response(_))) = line {
        session.session.deliver(line, session.standing.outbox(), None);
        return Ok(reply::empty(202));
    }
    let is_batch = matches!(line, Line::Batch(_));
    let outbox = front.outbox().ok_or_else(busy)?;
    session.session.deliver(line, &outbox, Some(routing));
    if is_batch && outbox.look(|bytes, end, _| (bytes.is_empty()).then_some(end?)).is_some() {
        // It held nothing that is answered.
        return Ok(reply::empty(202));
    }
    Ok(answer(front, &session, outbox).await)
}

/// What is no message gets the same answer with a session or without.
async fn unreadable(front: &Arc<Front>, line: Line<'_>, caller: &Caller) -> Reply {
    let Some(session) = HttpSession::new(front, caller, Stream::standing) else {
        return busy().into();
    };
    let outbox = Arc::new(Outbox::default());
    session.session.deliver(line, &outbox, None);
    answer(front, &session, outbox).await
}

/// A session exists from the moment its `initialize` has succeeded.
async fn open(
    front: &Arc<Front>,
    line: Line<'_>,
    routing: &RoutingHeaders<'_>,
    caller: &Caller,
) -> Result<Reply, Refused> {
    let outbox = front.outbox().ok_or_else(busy)?;
    let session = HttpSession::new(front, caller, Stream::standing).ok_or_else(busy)?;
    session.session.deliver(line, &outbox, Some(routing));
    let mut reply = answer(front, &session, outbox).await;
    if session.session.revision().is_some() {
        if !front.sessions.add(&session) {
            return Err(busy());
        }
        if let Ok(id) = HeaderValue::from_str(&session.id) {
            reply.headers_mut().insert(SESSION, id);
        }
    }
    Ok(reply)
}

async fn answer(front: &Arc<Front>, session: &Arc<HttpSession>, outbox: Arc<Outbox>) -> Reply {
    match first(&outbox).await {
        First::Answer { status, message } => reply::message(status, message),
        First::Events | First::Cancelled => {
            let stream = session.open_stream(outbox);
            let preamble = match session.session.revision() {
                Some(revision) if revision.has_priming_events() => stream.priming(),
                _ => Vec::new(),
            };
            reply::events(EventBody::new(front, stream.read(session, 0, preamble)))
        }
    }
}

/// The stream of what belongs to no request, or one the client has lost.
pub(super) fn get(
    front: &Arc<Front>,
    request: &Request<Incoming>,
    caller: &Caller,
) -> Result<Reply, Refused> {
    let headers = request.headers();
    if is_stateless(headers) {
        return Err(not_allowed("POST"));
    }
    if !accepts(headers, "text/event-stream") {
        return Err(reply::refuse(406, "The Accept header must list text/event-stream"));
    }
    let session = find(front, headers, caller)?;
    let reader = if headers.contains_key(&LAST_EVENT) {
        let last = only(headers, LAST_EVENT.as_str()).and_then(parse_event_id);
        let unknown = || reply::refuse(400, "No event of this session has this Last-Event-ID");
        let (number, event) = last.ok_or_else(unknown)?;
        let stream = session.stream(number).filter(|stream| stream.has_had(event));
        stream.ok_or_else(unknown)?.read(&session, event, Vec::new())
    } else if session.standing.has_reader() {
        return Err(reply::refuse(409, "Another connection reads this session's stream"));
    } else {
        session.standing.read(&session, session.standing.sent(), Vec::new())
    };
    Ok(reply::events(EventBody::new(front, reader)))
}

pub(super) fn delete(
    front: &Arc<Front>,
    request: &Request<Incoming>,
    caller: &Caller,
) -> Result<Reply, Refused> {
    if is_stateless(request.headers()) {
        return Err(not_allowed("POST"));
    }
    let session = find(front, request.headers(), caller)?;
    front.sessions.end(&session);
    Ok(reply::empty(204))
}

fn is_stateless(headers: &HeaderMap) -> bool {
    only(headers, VERSION.as_str()).and_then(Revision::parse).is_some_and(Revision::is_stateless)
}

fn find(front: &Front, headers: &HeaderMap, caller: &Caller) -> Result<Arc<HttpSession>, Refused> {
    if !headers.contains_key(SESSION) {
        return Err(reply::refuse(
            400,
            "The header Mcp-Session-Id is missing; begin by initialize",
        ));
    }
    let session = only(headers, SESSION.as_str()).and_then(|id| front.sessions.find(id, caller));
    let session = session.ok_or_else(|| reply::refuse(404, "There is no such session"))?;
    let version = only(headers, VERSION.as_str());
    if headers.contains_key(VERSION) && version.and_then(Revision::parse).is_none() {
        return Err(reply::refuse(400, "The MCP-Protocol-Version is not one this server speaks"));
    }
    Ok(session)
}

pub(super) fn busy() -> Refused {
    reply::refuse(503, "The server has as much to do as it takes on; try again")
}
