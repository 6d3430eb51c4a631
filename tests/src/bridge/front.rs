//! From a request of HTTP to the era it belongs to.

use super::child::Child;
use super::headers::{Routing, VERSION, only};
use super::modern;
use super::reply::{self, Reply, refuse};
use super::sessions::{SESSION, Sessions};
use crate::revision::Revision;
use crate::web::routing::{Parameters, claims_modern};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

/// Bytes of one message.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

const INVALID_REQUEST: i64 = -32600;
const PARSE_ERROR: i64 = -32700;

pub(super) struct Front {
    command: Vec<String>,
    sessions: Sessions,
    /// Serves every request of 2026-07-28.
    shared: Mutex<Option<Arc<Child>>>,
    /// Which arguments are to be repeated in headers.
    pub(super) parameters: Parameters,
    pub(super) has_learned: OnceCell<()>,
}

impl Front {
    pub(super) fn new(command: Vec<String>) -> Front {
        Front {
            command,
            sessions: Sessions::default(),
            shared: Mutex::new(None),
            parameters: Parameters::default(),
            has_learned: OnceCell::new(),
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Reply {
        let headers = request.headers();
        if !is_local(headers, "host", true) || !is_local(headers, "origin", false) {
            return refuse(403, INVALID_REQUEST, "Only names of this machine are served");
        }
        if request.uri().path() != "/mcp" {
            return refuse(404, INVALID_REQUEST, "There is nothing at this path; try /mcp");
        }
        let is_modern = only(headers, VERSION) == Some(Revision::V2026_07_28.date());
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET if !is_modern => self.sessions.get(headers),
            Method::DELETE if !is_modern => self.sessions.delete(headers),
            _ => refuse(405, INVALID_REQUEST, "The method is not offered here"),
        }
    }

    async fn post(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        if let Some(refused) = wrong_media_types(&head.headers) {
            return refused;
        }
        let Ok(body) = Limited::new(body, MAX_BODY_BYTES).collect().await else {
            return refuse(413, INVALID_REQUEST, "The body is too long, or broke off");
        };
        let Ok(message) = serde_json::from_slice::<Value>(&body.to_bytes()) else {
            return refuse(400, PARSE_ERROR, "The body is not JSON");
        };
        let routing = Routing::read(&head.headers);
        if is_modern(&message, &routing, head.headers.contains_key(SESSION)) {
            return modern::answer(self, message, &routing).await;
        }
        self.sessions.post(&self.command, message, &head.headers).await
    }

    /// The process that serves all requests without a session, started anew if it has ended.
    pub(super) async fn shared(&self) -> io::Result<Arc<Child>> {
        let mut shared = self.shared.lock().await;
        if let Some(child) = shared.as_ref().filter(|child| child.is_running()) {
            return Ok(Arc::clone(child));
        }
        let child = Child::spawn(&self.command)?;
        *shared = Some(Arc::clone(&child));
        Ok(child)
    }
}

/// The body says which era it is of; where it does not, the headers do.
fn is_modern(message: &Value, routing: &Routing, has_session: bool) -> bool {
    let named = || match routing.version.as_deref().map(Revision::from_date) {
        Some(Some(revision)) => revision.is_modern(),
        Some(None) => !has_session,
        None => false,
    };
    claims_modern(message) || named()
}

fn wrong_media_types(headers: &HeaderMap) -> Option<Reply> {
    let content_type = only(headers, "content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Some(refuse(415, INVALID_REQUEST, "The Content-Type must be application/json"));
    }
    let both = ["application/json", "text/event-stream"];
    let is_accepted = both.iter().all(|kind| reply::accepts(headers, kind));
    let problem = "The Accept header must list application/json and text/event-stream";
    (!is_accepted).then(|| refuse(406, INVALID_REQUEST, problem))
}

/// Whether a header names this machine. A page from elsewhere that was led here by its own name
/// does not.
fn is_local(headers: &HeaderMap, name: &str, is_required: bool) -> bool {
    if !headers.contains_key(name) {
        return !is_required;
    }
    let place = only(headers, name).unwrap_or_default();
    let place = place.split_once("://").map_or(place, |(_, host)| host);
    let host = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => place.split(':').next().unwrap_or_default(),
    };
    ["localhost", "127.0.0.1", "::1"].iter().any(|local| local.eq_ignore_ascii_case(host))
}
