//! Responses of HTTP: one message as JSON, several as events.

use super::child::{Call, Event};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::UnboundedReceiver;

pub(super) type Reply = Response<Body>;

pub(super) enum Body {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

/// A stream of messages: those of a request until its response, or those of a session.
pub(super) struct Events {
    pub(super) first: Option<Event>,
    pub(super) rest: Source,
}

pub(super) enum Source {
    Call(Call),
    Session(UnboundedReceiver<Event>),
    Over,
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Events(events) => {
                let event = ready!(events.poll(context));
                let frame = |event: Event| format!("data: {}\n\n", event.message);
                Poll::Ready(event.map(|event| Ok(Frame::data(frame(event).into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }
}

impl Events {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = match self.first.take() {
            Some(event) => Some(event),
            None => match &mut self.rest {
                Source::Call(call) => ready!(call.events.poll_recv(context)),
                Source::Session(events) => ready!(events.poll_recv(context)),
                Source::Over => None,
            },
        };
        if let Some(Event { is_response: true, .. }) = event {
            self.rest = Source::Over;
        }
        Poll::Ready(event)
    }
}

pub(super) fn json(status: u16, message: &Value) -> Reply {
    let bytes = Bytes::from(message.to_string());
    whole(status, Some(bytes), "application/json")
}

pub(super) fn empty(status: u16) -> Reply {
    let mut reply = Response::new(Body::Whole(None));
    *reply.status_mut() = status_code(status);
    reply
}

pub(super) fn events(events: Events) -> Reply {
    let mut reply = whole(200, None, "text/event-stream");
    reply
        .headers_mut()
        .insert("cache-control", hyper::header::HeaderValue::from_static("no-cache"));
    *reply.body_mut() = Body::Events(Box::new(events));
    reply
}

/// An error of the bridge's own, about no message in particular.
pub(super) fn refuse(status: u16, code: i64, problem: &str) -> Reply {
    json(status, &error(&Value::Null, code, problem))
}

/// The error that answers the request `id`.
pub(super) fn error(id: &Value, code: i64, problem: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": problem}})
}

/// Whether the client takes answers of this type. One that says nothing takes what comes.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    if !headers.contains_key("accept") {
        return true;
    }
    let values = headers.get_all("accept").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim_ascii();
        range == "*/*" || range.eq_ignore_ascii_case(media_type)
    })
}

fn whole(status: u16, bytes: Option<Bytes>, content_type: &'static str) -> Reply {
    let mut reply = Response::new(Body::Whole(bytes));
    *reply.status_mut() = status_code(status);
    let content_type = hyper::header::HeaderValue::from_static(content_type);
    reply.headers_mut().insert("content-type", content_type);
    reply
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
