//! HTTP with server-sent events, 2024-11-05: one stream down, one path up. The session lives as
//! long as the stream.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;

use super::Front;
use super::events::{EventBody, Next, Source};
use super::listener::WRITE_PATIENCE;
use super::message::{check_content_type, read};
use super::reply::{self, Refused, Reply};
use super::route::Caller;
use super::sessions::HttpSession;
use super::stateful::busy;
use super::stream::{Reader, Stream};
use crate::jsonrpc;
use crate::outbox::Outbox;

/// Opens a session and tells the client where to send its messages.
pub(super) fn open(front: &Arc<Front>, caller: Caller) -> Result<Reply, Refused> {
    let session = HttpSession::new(front, &caller, Stream::single).ok_or_else(busy)?;
    if !front.sessions.add(&session) {
        return Err(busy());
    }
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={}\n\n", session.id);
    let reader = session.standing.read(&session, 0, endpoint.into_bytes());
    let down = Down { front: Arc::clone(front), session, reader };
    Ok(reply::events(EventBody::new(front, down)))
}

/// Takes a message; what it leads to goes down the stream.
pub(super) async fn post(
    front: &Arc<Front>,
    request: Request<Incoming>,
    caller: &Caller,
) -> Result<Reply, Refused> {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let query = head.uri.query().unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId="));
    let id = id.ok_or_else(|| reply::refuse(400, "The parameter sessionId is missing"))?;
    let missing = || reply::refuse(404, "There is no such session");
    let session = front.sessions.find(id, caller).ok_or_else(missing)?;
    if session.standing.is_resumable() {
        return Err(missing());
    }
    // Of a client that does not read, nothing is taken that would be answered.
    let room = tokio::time::timeout(WRITE_PATIENCE, session.standing.outbox().room());
    room.await.map_err(|_| busy())?;
    let body = read(front, body).await?;
    let line = jsonrpc::parse_line(body.bytes(), front.registry.limits.max_depth);
    #[cfg(feature = "oauth")]
    super::oauth::check_scopes(front, caller, &line)?;
    session.session.deliver(line, session.standing.outbox(), None);
    Ok(reply::text(202, "Accepted"))
}

/// The stream down. When the client has gone, the session has.
struct Down {
    front: Arc<Front>,
    session: Arc<HttpSession>,
    reader: Reader,
}

impl Source for Down {
    fn outbox(&self) -> &Arc<Outbox> {
        self.reader.outbox()
    }

    fn next(&mut self) -> Next {
        self.reader.next()
    }

    fn close(&mut self) {
        self.session.session.peer_closed();
        self.reader.close();
    }
}

impl Drop for Down {
    fn drop(&mut self) {
        self.front.sessions.end(&self.session);
    }
}
