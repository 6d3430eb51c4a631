//! From a request of HTTP to whoever answers it: the place it names, who it is from, its path and
//! its method, in this order.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    HeaderValue, ORIGIN, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request};

use super::access::Denied;
use super::reply::{self, Refused, Reply};
use super::{Front, message, pair, stateful};
use crate::principal::Principal;

/// Who sent a request.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Option<Arc<Principal>>,
    /// What tells clients apart for the rate limit.
    pub(super) key: Arc<str>,
}

pub(super) async fn answer(
    front: Arc<Front>,
    request: Request<Incoming>,
    peer: Arc<str>,
) -> Result<Reply, Infallible> {
    let origin = request.headers().get(ORIGIN).cloned();
    let mut reply = match front.access.check_place(request.headers()) {
        Err(denied) => refusal(denied).into(),
        Ok(()) => {
            let mut reply = match authenticated(&front, request, peer).await {
                Ok(reply) => reply,
                Err(refused) => refused.into(),
            };
            if let Some(origin) = origin {
                let headers = reply.headers_mut();
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                headers.insert(
                    ACCESS_CONTROL_EXPOSE_HEADERS,
                    HeaderValue::from_static(
                        "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After",
                    ),
                );
                headers.insert(VARY, HeaderValue::from_static("Origin"));
            }
            reply
        }
    };
    if matches!(reply.status().as_u16(), 429 | 503) {
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    front.metrics.answered(reply.status().as_u16());
    Ok(reply)
}

async fn authenticated(
    front: &Arc<Front>,
    request: Request<Incoming>,
    peer: Arc<str>,
) -> Result<Reply, Refused> {
    if request.method() == Method::OPTIONS {
        return Ok(preflight(request.headers()));
    }
    match request.uri().path() {
        // An orchestrator that asks whether we live has no token.
        "/healthz" => return get_only(&request).map(|()| reply::text(200, "ok\n")),
        "/readyz" => return get_only(&request).map(|()| readiness(front)),
        _ => {}
    }
    #[cfg(feature = "oauth")]
    if let Some(oauth) = front.access.oauth()
        && request.uri().path().starts_with(super::oauth::METADATA_PATH)
    {
        return get_only(&request).map(|()| reply::json(&oauth.metadata()));
    }
    let principal = front.access.principal(request.headers()).await;
    let principal = principal.map_err(|denied| challenged(front, denied))?;
    let key = principal.as_ref().map_or(peer, |principal| principal.name.as_str().into());
    let caller = Caller { principal, key };
    match (request.uri().path(), request.method()) {
        ("/mcp", &Method::POST) => message::post(front, request, caller).await,
        ("/mcp", &Method::GET) => stateful::get(front, &request, &caller),
        ("/mcp", &Method::DELETE) => stateful::delete(front, &request, &caller),
        ("/mcp", _) => Err(not_allowed("GET, POST, DELETE")),
        ("/sse", &Method::GET) => pair::open(front, caller),
        ("/sse", _) => Err(not_allowed("GET")),
        ("/messages", &Method::POST) => pair::post(front, request, &caller).await,
        ("/messages", _) => Err(not_allowed("POST")),
        ("/metrics", _) => get_only(&request).map(|()| reply::text(200, metrics(front))),
        _ => Err(reply::refuse(404, "There is nothing at this path; try /mcp")),
    }
}

fn refusal(denied: Denied) -> Refused {
    match denied {
        Denied::Host => {
            reply::refuse(403, "This host is not known here; the server's --allow-host can name it")
        }
        Denied::Origin => reply::refuse(
            403,
            "Pages from this origin may not come in; the server's --allow-origin can name it",
        ),
        #[cfg(feature = "oauth")]
        Denied::Unknown => {
            reply::refuse(503, "The authorization server does not answer; try again")
        }
        Denied::Token { is_given: false } => {
            reply::refuse(401, "A token is needed").with(WWW_AUTHENTICATE, "Bearer")
        }
        Denied::Token { is_given: true } => {
            let hint = "Bearer error=\"invalid_token\"";
            reply::refuse(401, "The token is not valid here").with(WWW_AUTHENTICATE, hint)
        }
    }
}

/// Where an authorization server issues the tokens, the client is told which.
fn challenged(front: &Front, denied: Denied) -> Refused {
    #[cfg(feature = "oauth")]
    if let (Some(oauth), Denied::Token { is_given }) = (front.access.oauth(), denied) {
        let error = is_given.then_some("invalid_token");
        return refusal(denied).with(WWW_AUTHENTICATE, oauth.challenge(error, None));
    }
    #[cfg(not(feature = "oauth"))]
    let _ = front;
    refusal(denied)
}

fn get_only(request: &Request<Incoming>) -> Result<(), Refused> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        Ok(())
    } else {
        Err(not_allowed("GET"))
    }
}

pub(super) fn not_allowed(allowed: &'static str) -> Refused {
    reply::refuse(405, "The method is not offered here").with(ALLOW, allowed)
}

fn readiness(front: &Front) -> Reply {
    if *front.closing.borrow() {
        reply::text(503, "closing\n")
    } else {
        reply::text(200, "ready\n")
    }
}

fn metrics(front: &Front) -> String {
    let limit = front.registry.limits.max_in_flight.min(super::MOST_PERMITS);
    let in_flight = limit.saturating_sub(front.in_flight.available_permits());
    front.metrics.text(front.sessions.len(), in_flight)
}

/// A browser asks before it lets a page send what we take.
fn preflight(headers: &HeaderMap) -> Reply {
    let mut reply = reply::empty(204);
    let answer = reply.headers_mut();
    answer.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE, OPTIONS"),
    );
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply
}
