//! Sends messages over HTTP one after the other, as a client of each revision would, and reads
//! every response as it comes.
//!
//! HTTP promises no order between requests. Most checks are about what comes after what, so each
//! message waits a moment for the head of the response to the one before it.

use super::events::{Event, Parser};
use super::post::{HEAD_PATIENCE, Post};
use super::routing::{self, Parameters, Session};
use super::{content_type, plain_client};
use crate::clock::{Instant, PATIENCE, before};
use crate::peer::{Carried, Exchange, Incoming, Sent, Stream};
use crate::revision::Revision;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

/// More messages in one piece than this are sent at the same time.
const MOST_IN_ORDER: usize = 256;
const LANES: usize = 32;
/// How often a client comes back for a stream that breaks off.
const MOST_RETURNS: usize = 50;
const RETURN_AFTER_MS: u64 = 1_000;

/// What the tasks of one connection share.
pub(crate) struct Shared {
    pub(crate) revision: Revision,
    pub(crate) url: String,
    pub(crate) sse_url: String,
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) output: Sender<Incoming>,
    pub(crate) taken: AtomicU64,
    /// Requests that may still be given up, by id.
    pub(crate) running: Mutex<HashMap<String, AbortHandle>>,
    client: reqwest::Client,
    session: Mutex<Session>,
}

impl Shared {
    pub(crate) fn new(
        revision: Revision,
        url: String,
        sse_url: String,
        parameters: Arc<Parameters>,
        output: Sender<Incoming>,
    ) -> Shared {
        Shared {
            revision,
            url,
            sse_url,
            parameters,
            output,
            taken: AtomicU64::new(0),
            running: Mutex::default(),
            client: plain_client(),
            session: Mutex::default(),
        }
    }

    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Ends the session, if there is one, without waiting for the answer.
    pub(crate) fn goodbye(&self) -> impl Future<Output = ()> + use<> {
        let session = self.session().clone();
        let request = self.client.delete(&self.url);
        async move {
            let Some(id) = session.id else { return };
            let version = session.version.unwrap_or_default();
            let request = request.header("mcp-session-id", id);
            // Nobody is left to be told if it fails.
            let request = request.header("mcp-protocol-version", version);
            let _ = before(Instant::now() + PATIENCE, request.send()).await;
        }
    }

    fn say(&self, incoming: Incoming) {
        // A check that has ended wants to hear nothing more.
        let _ = self.output.send(incoming);
    }
}

/// Sends what comes in until the connection is dropped.
pub(crate) async fn dispatch(shared: Arc<Shared>, mut input: UnboundedReceiver<Vec<u8>>) {
    let mut tasks = JoinSet::new();
    let mut url = shared.url.clone();
    if shared.revision == Revision::V2024_11_05 {
        let (opened, endpoint) = oneshot::channel();
        tasks.spawn(down(Arc::clone(&shared), opened));
        match endpoint.await {
            Ok(endpoint) => url = endpoint,
            Err(_) => return shared.say(Incoming::Eof),
        }
    }
    let mut stands = false;
    let lanes = Arc::new(Semaphore::new(LANES));
    while let Some(bytes) = input.recv().await {
        let lines: Vec<_> =
            bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let in_order = lines.len() <= MOST_IN_ORDER;
        for line in lines {
            let post = Post::new(&shared, line.to_vec());
            let patience = post.patience();
            let opens = post.message["method"] == "notifications/initialized";
            let permit = Arc::clone(&lanes).acquire_owned().await;
            let (head, arrived) = oneshot::channel();
            let id = post.id();
            let (shared_, url_) = (Arc::clone(&shared), url.clone());
            let task = tasks.spawn(async move {
                exchange(&shared_, &url_, post, head).await;
                drop(permit);
            });
            if let Some(id) = id {
                running(&shared).insert(id, task);
            }
            if in_order {
                let _ = before(Instant::now() + patience, arrived).await;
            }
            if opens && has_standing_stream(&shared) && !std::mem::replace(&mut stands, true) {
                let (head, arrived) = oneshot::channel();
                tasks.spawn(standing(Arc::clone(&shared), head));
                let _ = before(Instant::now() + HEAD_PATIENCE, arrived).await;
            }
            while tasks.try_join_next().is_some() {}
        }
    }
}

fn running(shared: &Shared) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
    shared.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn has_standing_stream(shared: &Shared) -> bool {
    let session = shared.session();
    shared.revision != Revision::V2024_11_05 && session.version.is_some()
}

/// One POST to the end of its response.
async fn exchange(shared: &Shared, url: &str, post: Post, head: oneshot::Sender<()>) {
    let is_handshake = post.message["method"] == "initialize";
    let session = shared.session().clone();
    let pair = shared.revision == Revision::V2024_11_05;
    let mut request = shared.client.post(url).header("content-type", "application/json");
    request = request.header("accept", "application/json, text/event-stream");
    if !pair {
        for (name, value) in
            routing::headers(shared.revision, &session, &shared.parameters, &post.message)
        {
            request = request.header(name, value);
        }
    }
    let id = post.id();
    let stream = Stream::Post(id.is_some().then(|| post.message["id"].clone()));
    let response = match request.body(post.line).send().await {
        Ok(response) => response,
        // A header this client cannot send says nothing about the server.
        Err(error) if error.is_builder() => return,
        Err(_) => return shared.say(Incoming::Eof),
    };
    shared.taken.fetch_add(1, Ordering::Relaxed);
    let named = header(&response, "mcp-session-id");
    if is_handshake && response.status().is_success() && session.version.is_none() {
        shared.session().id.clone_from(&named);
        if pair {
            shared.session().version = Some(shared.revision.date().to_owned());
        }
    }
    let read = Reading { sent: post.sent, stream, named, is_handshake };
    match read.response(shared, response, head).await {
        Some(Broken { last: Some(last), answered: false, retry_ms }) if id.is_some() => {
            come_back(shared, read.stream, last, retry_ms).await;
        }
        _ => {}
    }
    if let Some(id) = id {
        running(shared).remove(&id);
    }
}

/// What is known of a response before it is read.
struct Reading {
    sent: Sent,
    stream: Stream,
    named: Option<String>,
    is_handshake: bool,
}

/// How a stream ended.
struct Broken {
    last: Option<String>,
    answered: bool,
    retry_ms: Option<u64>,
}

impl Reading {
    async fn response(
        &self,
        shared: &Shared,
        response: reqwest::Response,
        head: oneshot::Sender<()>,
    ) -> Option<Broken> {
        let (status, content_type) = (response.status().as_u16(), content_type(&response));
        let exchange = |body: Option<Vec<u8>>| Exchange {
            sent: self.sent.clone(),
            status,
            content_type: content_type.clone(),
            session: self.named.clone(),
            body,
        };
        if content_type == "text/event-stream" && status < 300 {
            shared.say(Incoming::Exchange(exchange(None)));
            if !self.is_handshake {
                let _ = head.send(());
                return Some(self.events(shared, response, None).await);
            }
            return Some(self.events(shared, response, Some(head)).await);
        }
        let body = response.bytes().await.unwrap_or_default().to_vec();
        let message = (!body.is_empty()).then(|| body.clone());
        shared.say(Incoming::Exchange(exchange(Some(body))));
        let is_message = self.sent != Sent::Get && self.is_message(shared, &content_type, status);
        if let Some(line) = message.filter(|_| is_message) {
            self.carried(shared, line, None);
        }
        let _ = head.send(());
        None
    }

    /// Whether a body is taken for a message: what is none is no fault of an error's.
    fn is_message(&self, shared: &Shared, content_type: &str, status: u16) -> bool {
        let answers = status < 300 && self.sent != Sent::Other;
        let pair = shared.revision == Revision::V2024_11_05;
        content_type == "application/json" || answers && !pair
    }

    async fn events(
        &self,
        shared: &Shared,
        mut response: reqwest::Response,
        mut head: Option<oneshot::Sender<()>>,
    ) -> Broken {
        let mut parser = Parser::default();
        let mut broken = Broken { last: None, answered: false, retry_ms: None };
        while let Ok(Some(piece)) = response.chunk().await {
            for event in parser.feed(&piece) {
                broken.last = event.id.clone().or(broken.last);
                broken.retry_ms = event.retry_ms.or(broken.retry_ms);
                let Some(data) = event.data.clone().filter(|data| !data.is_empty()) else {
                    continue;
                };
                broken.answered |= self.carried(shared, data.into_bytes(), Some(event));
                head.take().map(|head| head.send(()));
            }
        }
        broken
    }

    /// Hands a message on; `true` if it answers the request whose stream this is.
    fn carried(&self, shared: &Shared, line: Vec<u8>, event: Option<Event>) -> bool {
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        shared.parameters.learn(&message);
        if self.is_handshake
            && let Some(version) = message["result"]["protocolVersion"].as_str()
        {
            shared.session().version.get_or_insert(version.to_owned());
        }
        let (name, event_id) = event.map_or((None, None), |event| (event.name, event.id));
        let answers = matches!(&self.stream, Stream::Post(Some(id)) if message["id"] == *id)
            && message.get("method").is_none();
        let stream = self.stream.clone();
        shared.say(Incoming::Carried(Carried { line, stream, event: name, event_id }));
        answers
    }
}

/// The rest of a stream that broke off, as often as it does.
async fn come_back(shared: &Shared, stream: Stream, last: String, retry_ms: Option<u64>) {
    let mut broken = Broken { last: Some(last), answered: false, retry_ms };
    for _ in 0..MOST_RETURNS {
        let (Some(last), false) = (broken.last.clone(), broken.answered) else {
            return;
        };
        sleep(Duration::from_millis(broken.retry_ms.unwrap_or(RETURN_AFTER_MS))).await;
        let request = get(shared).header("last-event-id", &last);
        let Ok(response) = request.send().await else {
            return shared.say(Incoming::Eof);
        };
        if !response.status().is_success() {
            return;
        }
        let reading =
            Reading { sent: Sent::Get, stream: stream.clone(), named: None, is_handshake: false };
        broken = reading.events(shared, response, None).await;
        broken.last = broken.last.or(Some(last));
    }
}

fn get(shared: &Shared) -> reqwest::RequestBuilder {
    let session = shared.session().clone();
    let mut request = shared.client.get(&shared.url).header("accept", "text/event-stream");
    // Within a session the headers do not depend on the message.
    let beside =
        routing::headers(Revision::V2025_11_25, &session, &shared.parameters, &Value::Null);
    for (name, value) in beside {
        request = request.header(name, value);
    }
    request
}

/// The stream of what belongs to no request.
async fn standing(shared: Arc<Shared>, head: oneshot::Sender<()>) {
    let Ok(response) = get(&shared).send().await else {
        return;
    };
    let reading =
        Reading { sent: Sent::Get, stream: Stream::Standing, named: None, is_handshake: false };
    reading.response(&shared, response, head).await;
}

/// The stream of 2024-11-05; its first event says where to POST.
async fn down(shared: Arc<Shared>, opened: oneshot::Sender<String>) {
    let request = shared.client.get(&shared.sse_url).header("accept", "text/event-stream");
    let Ok(mut response) = request.send().await else { return };
    if !response.status().is_success() || content_type(&response) != "text/event-stream" {
        return;
    }
    let base = response.url().clone();
    let reading =
        Reading { sent: Sent::Get, stream: Stream::Down, named: None, is_handshake: false };
    let mut opened = Some(opened);
    let mut parser = Parser::default();
    while let Ok(Some(piece)) = response.chunk().await {
        for event in parser.feed(&piece) {
            let Some(data) = event.data.clone().filter(|data| !data.is_empty()) else { continue };
            if event.name.as_deref() == Some("endpoint") {
                let endpoint = base.join(&data).map(String::from).unwrap_or(data);
                opened.take().map(|opened| opened.send(endpoint));
            } else {
                reading.carried(&shared, data.into_bytes(), Some(event));
            }
        }
    }
    shared.say(Incoming::Eof);
}

fn header(response: &reqwest::Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
