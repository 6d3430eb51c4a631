//! HTTP as the checks need it: single requests whose every header they choose, and their answers
//! read with deadlines. Blocking on the outside, one small runtime within.

pub mod events;
pub mod peer;
pub mod server;
mod dispatch;
mod post;
pub(crate) mod routing;

use crate::check::{Outcome, fail};
use crate::clock::{Instant, PATIENCE, before};
use events::{Event, Parser};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Method};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::Runtime;

/// After this a connection is not used again. Servers close those that are idle, Node after 5 s, and
/// a request that meets the closing is lost through nobody's fault.
const IDLE: Duration = Duration::from_secs(1);

/// Shared by all connections of the process: most of them wait most of the time.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    #[expect(clippy::expect_used, reason = "a process that gets no thread can do nothing at all")]
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().expect("a runtime")
    })
}

/// Nothing but what a check says goes over the wire.
pub(crate) fn plain_client() -> Client {
    http_client().redirect(reqwest::redirect::Policy::none()).build().unwrap_or_default()
}

/// One request of HTTP, put together header by header.
#[derive(Clone, Debug)]
pub struct Ask {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Header names with capitals, as some proxies send them.
    pub title_case: bool,
    /// The address it is sent from; any if not given.
    pub from: Option<IpAddr>,
}

impl Ask {
    pub fn new(method: Method, url: impl Into<String>) -> Ask {
        let (headers, body) = (Vec::new(), Vec::new());
        Ask { method, url: url.into(), headers, body, title_case: false, from: None }
    }

    /// A message for an endpoint, with what every client sends.
    pub fn post(url: impl Into<String>, message: &Value) -> Ask {
        let mut ask = Ask::new(Method::POST, url)
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream");
        ask.body = message.to_string().into_bytes();
        ask
    }

    /// A request for a stream.
    pub fn get(url: impl Into<String>) -> Ask {
        Ask::new(Method::GET, url).with("accept", "text/event-stream")
    }

    /// Adds a header beside those of the same name.
    pub fn and(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a header in place of those of the same name.
    pub fn with(self, name: &str, value: &str) -> Ask {
        self.without(name).and(name, value)
    }

    pub fn without(mut self, name: &str) -> Ask {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Sends it and waits for the head of the response.
    pub fn send(&self) -> Result<Reply, Outcome> {
        let mut builder = http_client().redirect(reqwest::redirect::Policy::none());
        builder = builder.local_address(self.from);
        if self.title_case {
            builder = builder.http1_title_case_headers();
        }
        let client = builder.build().unwrap_or_default();
        let mut request = client.request(self.method.clone(), &self.url);
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(value.as_bytes());
            match (name, value) {
                (Ok(name), Ok(value)) => request = request.header(name, value),
                _ => return Err(fail("a check has a header that cannot be sent")),
            }
        }
        let sending = request.body(self.body.clone()).send();
        let response = runtime()
            .block_on(async { before(Instant::now() + PATIENCE, sending).await })
            .ok_or_else(|| fail(format!("{} {} is not answered", self.method, self.url)))?
            .map_err(|error| fail(format!("{} {}: {error}", self.method, self.url)))?;
        Ok(Reply { response, parser: Parser::default(), events: VecDeque::new() })
    }
}

/// A response. Dropping it closes the connection it is read from.
pub struct Reply {
    response: reqwest::Response,
    parser: Parser,
    events: VecDeque<Event>,
}

impl Reply {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn header(&self, name: &str) -> Option<String> {
        let value = self.response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    pub fn content_type(&self) -> String {
        content_type(&self.response)
    }

    pub fn is_stream(&self) -> bool {
        self.content_type() == "text/event-stream"
    }

    /// The whole body, which must end.
    pub fn body(self) -> Result<Vec<u8>, Outcome> {
        let body = async { before(Instant::now() + PATIENCE, self.response.bytes()).await };
        match runtime().block_on(body) {
            Some(Ok(bytes)) => Ok(bytes.to_vec()),
            Some(Err(error)) => Err(fail(format!("the body breaks off: {error}"))),
            None => Err(fail("the body does not end")),
        }
    }

    /// The message the body is, or the first answer on the stream; `null` where there is none.
    pub fn message(mut self) -> Result<Value, Outcome> {
        if !self.is_stream() {
            return Ok(serde_json::from_slice(&self.body()?).unwrap_or_default());
        }
        let deadline = Instant::now() + PATIENCE;
        while let Some(event) = self.event(deadline) {
            let message = parsed(&event);
            if message.get("result").is_some() || message.get("error").is_some() {
                return Ok(message);
            }
        }
        Ok(Value::Null)
    }

    /// The next event; `None` when the stream has ended, or at the deadline.
    pub fn event(&mut self, deadline: Instant) -> Option<Event> {
        while self.events.is_empty() {
            let chunk = async { before(deadline, self.response.chunk()).await };
            let Some(Ok(Some(piece))) = runtime().block_on(chunk) else {
                return None;
            };
            self.events.extend(self.parser.feed(&piece));
        }
        self.events.pop_front()
    }

    /// True once the stream has ended, waiting for it up to the deadline.
    pub fn ends(&mut self, deadline: Instant) -> bool {
        loop {
            let chunk = async { before(deadline, self.response.chunk()).await };
            match runtime().block_on(chunk) {
                None => return false,
                Some(Ok(Some(piece))) => self.events.extend(self.parser.feed(&piece)),
                Some(_) => return true,
            }
        }
    }
}

/// The message an event carries, or `null`.
pub fn parsed(event: &Event) -> Value {
    let data = event.data.as_deref().unwrap_or_default();
    serde_json::from_str(data).unwrap_or_default()
}

/// Without parameters such as the character set.
pub(crate) fn content_type(response: &reqwest::Response) -> String {
    let value = response.headers().get("content-type").map(HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(value.unwrap_or_default()).to_ascii_lowercase();
    value.split(';').next().unwrap_or_default().trim().to_owned()
}

/// A client for plain HTTP on this machine. Built along with servers that need TLS, it wants to be
/// told how to do that, too.
pub fn http_client() -> reqwest::ClientBuilder {
    // Another thread may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().pool_idle_timeout(IDLE)
}
