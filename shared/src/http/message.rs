//! The body of a POST to `/mcp`: read within limits, parsed, and handed to the era it belongs to.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use hyper::{HeaderMap, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::only;
use super::reply::{self, Refused, Reply};
use super::route::Caller;
use super::{Front, stateful, stateless};
use crate::jsonrpc::{self, Line};
use crate::params::claims_stateless;
use crate::revision::Revision;
use crate::wire::RoutingHeaders;

/// How long a body may take from its first byte to its last.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAMETER: &str = "mcp-param-";

/// Some clients begin a text so.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) async fn post(
    front: &Arc<Front>,
    request: Request<Incoming>,
    caller: Caller,
) -> Result<Reply, Refused> {
    let (head, body) = request.into_parts();
    check_media_types(&head.headers)?;
    let body = read(front, body).await?;
    let line = jsonrpc::parse_line(body.bytes(), front.registry.limits.max_depth);
    #[cfg(feature = "oauth")]
    super::oauth::check_scopes(front, &caller, &line)?;
    let headers = routing_headers(&head.headers)?;
    if is_stateless(&line, &headers, head.headers.contains_key(SESSION)) {
        stateless::answer(front, line, &headers, caller).await
    } else {
        stateful::post(front, line, &head.headers, &headers, caller).await
    }
}

/// A request says which era it is of in its body; where the body does not, its headers do.
fn is_stateless(line: &Line<'_>, headers: &RoutingHeaders<'_>, has_session: bool) -> bool {
    // A header that names no revision is refused by whom the session, or its absence, leads to.
    let is_named = headers.version.is_some_and(|version| {
        Revision::parse(version).map_or(!has_session, Revision::is_stateless)
    });
    is_named || matches!(line, Line::Single(Ok(message)) if claims_stateless(message))
}

/// Requests are JSON; answers may be JSON or events, and the client takes both.
fn check_media_types(headers: &HeaderMap) -> Result<(), Refused> {
    check_content_type(headers)?;
    if accepts(headers, "application/json") && accepts(headers, "text/event-stream") {
        return Ok(());
    }
    Err(reply::refuse(406, "The Accept header must list application/json and text/event-stream"))
}

pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refused> {
    let content_type = only(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim_ascii();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(reply::refuse(415, "The Content-Type must be application/json"))
}

/// Whether the client takes answers of this type. One that says nothing takes what comes.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let kind = media_type.split('/').next().unwrap_or_default();
    let mut accepted = headers.get_all(ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return true;
    }
    let values = accepted.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim_ascii();
        range == "*/*"
            || range.eq_ignore_ascii_case(media_type)
            || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(kind))
    })
}

/// Reads a body of JSON, which may be as long as a message may be.
pub(super) async fn read(front: &Front, mut body: Incoming) -> Result<Whole, Refused> {
    let max_bytes = front.registry.limits.max_message_bytes;
    let mut whole = Whole::default();
    // What is refused is read past: who is cut off while sending does not read why.
    let mut refused = (body.size_hint().lower() > max_bytes as u64).then(|| too_long(max_bytes));
    let collect = async {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|_| reply::refuse(400, "The body broke off"))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if refused.is_none()
                && let Err(why) = whole.add(data, max_bytes, &front.bodies)
            {
                (refused, whole) = (Some(why), Whole::default());
            }
        }
        refused.map_or(Ok(whole), Err)
    };
    match tokio::time::timeout(BODY_PATIENCE, collect).await {
        Ok(collected) => collected,
        Err(_) => Err(reply::refuse(408, "The body took too long")),
    }
}

fn too_long(max_bytes: usize) -> Refused {
    reply::refuse(413, format!("The message is longer than the limit of {max_bytes} bytes"))
}

/// As many bodies of full length may be in memory at a time, or more that are shorter.
const MOST_BODIES: usize = 16;

/// A body takes this much of the memory for bodies at a time. One that is shorter takes nothing: it
/// is as small as the buffers its connection has anyway.
const SHARE_KIB: usize = 64;

/// The memory for bodies, in KiB.
pub(super) fn memory(max_message_bytes: usize) -> Arc<Semaphore> {
    let kib = (max_message_bytes / 1024 + SHARE_KIB).saturating_mul(MOST_BODIES);
    Arc::new(Semaphore::new(kib.min(Semaphore::MAX_PERMITS)))
}

/// A body, and its share of the memory for bodies.
#[derive(Default)]
pub(super) struct Whole {
    /// Until there is another piece, it is not copied.
    first: Bytes,
    all: Vec<u8>,
    share: Option<OwnedSemaphorePermit>,
}

impl Whole {
    pub(super) fn bytes(&self) -> &[u8] {
        let bytes = if self.all.is_empty() { &self.first[..] } else { &self.all };
        bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
    }

    fn add(
        &mut self,
        data: Bytes,
        max_bytes: usize,
        memory: &Arc<Semaphore>,
    ) -> Result<(), Refused> {
        if self.first.is_empty() {
            self.first = data;
        } else {
            if self.all.is_empty() {
                self.all.extend_from_slice(&self.first);
            }
            self.all.extend_from_slice(&data);
        }
        let length = self.all.len().max(self.first.len());
        if length > max_bytes {
            return Err(too_long(max_bytes));
        }
        let held_kib =
            self.share.as_ref().map_or(SHARE_KIB, |share| share.num_permits() + SHARE_KIB);
        if length <= held_kib * 1024 {
            return Ok(());
        }
        let wanted =
            u32::try_from((length - held_kib * 1024).div_ceil(SHARE_KIB * 1024) * SHARE_KIB);
        let more = wanted.ok().and_then(|kib| Arc::clone(memory).try_acquire_many_owned(kib).ok());
        let more = more.ok_or_else(stateful::busy)?;
        match &mut self.share {
            Some(share) => share.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

/// The headers a proxy may have routed by. Two of one kind could be read differently by different
/// readers.
fn routing_headers(headers: &HeaderMap) -> Result<RoutingHeaders<'_>, Refused> {
    let one = |name: &HeaderName| {
        if headers.contains_key(name) {
            only(headers, name.as_str()).map(Some).ok_or_else(|| twice(name.as_str()))
        } else {
            Ok(None)
        }
    };
    let mut parameters = Vec::new();
    for name in headers.keys() {
        if let Some(suffix) = name.as_str().strip_prefix(PARAMETER) {
            let value = only(headers, name.as_str()).ok_or_else(|| twice(name.as_str()))?;
            parameters.push((suffix, value));
        }
    }
    Ok(RoutingHeaders {
        version: one(&VERSION)?,
        method: one(&METHOD)?,
        name: one(&NAME)?,
        parameters,
    })
}

fn twice(header: &str) -> Refused {
    reply::mismatch(format!("The header {header} must be there once, in visible ASCII"))
}
