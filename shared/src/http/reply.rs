//! Responses: their bodies, and the small ones that refuse.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::events::EventBody;
use crate::jsonrpc::code;

pub(super) type Reply = Response<Body>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Proxies that buffer answers hold back events unless told not to.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(super) enum Body {
    Whole(Option<Bytes>),
    Events(Box<EventBody>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                events.poll_next(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// A message, without the newline that ends it in a queue.
pub(super) fn message(status: u16, mut bytes: Vec<u8>) -> Reply {
    bytes.pop();
    whole(status, JSON, bytes)
}

pub(super) fn events(body: EventBody) -> Reply {
    let mut reply = Response::new(Body::Events(Box::new(body)));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    reply
}

pub(super) fn text(status: u16, text: impl Into<Vec<u8>>) -> Reply {
    whole(status, TEXT, text.into())
}

#[cfg(feature = "oauth")]
pub(super) fn json(value: &serde_json::Value) -> Reply {
    whole(200, JSON, value.to_string().into_bytes())
}

pub(super) fn empty(status: u16) -> Reply {
    let mut reply = Response::new(Body::Whole(None));
    *reply.status_mut() = status_code(status);
    reply
}

/// A request of HTTP that is not let through, and why.
#[derive(Debug)]
pub(super) struct Refused {
    status: u16,
    code: i32,
    problem: Cow<'static, str>,
    /// A header that tells the client more.
    hint: Option<(HeaderName, Cow<'static, str>)>,
}

pub(super) fn refuse(status: u16, problem: impl Into<Cow<'static, str>>) -> Refused {
    Refused { status, code: code::INVALID_REQUEST, problem: problem.into(), hint: None }
}

/// The headers contradict the body, or themselves (2026-07-28).
pub(super) fn mismatch(problem: String) -> Refused {
    Refused { code: code::HEADER_MISMATCH, ..refuse(400, problem) }
}

impl Refused {
    pub(super) fn with(self, header: HeaderName, value: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some((header, value.into())), ..self }
    }
}

/// The error of a message that has no id.
impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        let error = json!({"code": refused.code, "message": refused.problem});
        let message = json!({"jsonrpc": "2.0", "error": error}).to_string();
        let mut reply = whole(refused.status, JSON, message.into_bytes());
        if let Some((header, value)) = refused.hint
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            reply.headers_mut().insert(header, value);
        }
        reply
    }
}

fn whole(status: u16, content_type: HeaderValue, bytes: Vec<u8>) -> Reply {
    let mut reply = Response::new(Body::Whole(Some(bytes.into())));
    *reply.status_mut() = status_code(status);
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
