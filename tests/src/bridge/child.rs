//! One server process: requests go in by their ids, and what comes out is led to whom it is for.

use super::reply::{self, Events, Reply, Source};
use crate::revision::SUBSCRIPTION_ID;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Messages kept for a client that does not listen yet.
const MAX_WAITING: usize = 1000;

const INTERNAL_ERROR: i64 = -32603;

pub(super) struct Event {
    pub(super) message: Value,
    pub(super) is_response: bool,
}

/// Dropping it kills the process.
pub(super) struct Child {
    input: UnboundedSender<Value>,
    state: Mutex<State>,
    next_id: AtomicU64,
    is_running: AtomicBool,
    _process: tokio::process::Child,
}

#[derive(Default)]
struct State {
    /// Oldest first.
    pending: Vec<Pending>,
    standing: Option<UnboundedSender<Event>>,
    /// For the standing stream, while nobody reads it.
    waiting: VecDeque<Value>,
}

/// A request that has no response yet. The server may know it by another id and token than the
/// client, who may not be its only one.
struct Pending {
    id: Value,
    client_id: Value,
    token: Value,
    client_token: Value,
    is_listening: bool,
    events: UnboundedSender<Event>,
}

/// Whether a process has one client, or several whose ids may be the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    One,
    Many,
}

impl Child {
    pub(super) fn spawn(command: &[String]) -> io::Result<Arc<Child>> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (input, lines) = unbounded_channel();
        let child = Arc::new(Child {
            input,
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            is_running: AtomicBool::new(true),
            _process: process,
        });
        tokio::spawn(write(stdin, lines));
        tokio::spawn(read(stdout, Arc::downgrade(&child)));
        Ok(child)
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }

    pub(super) fn send(&self, message: Value) {
        // A process that has gone is noticed where it is read.
        let _ = self.input.send(message);
    }

    /// Sends a request. Dropped before its response, it is cancelled if it is one of many clients';
    /// a client with a session may come back.
    pub(super) fn call(self: &Arc<Self>, mut message: Value, clients: Clients) -> Call {
        let client_id = request_id(&message);
        let client_token = message["params"]["_meta"]["progressToken"].clone();
        let mut pending = Pending {
            id: client_id.clone(),
            token: client_token.clone(),
            is_listening: message["method"] == "subscriptions/listen",
            client_id,
            client_token,
            events: unbounded_channel().0,
        };
        // What is no id must reach the server as it is.
        if clients == Clients::Many && (pending.id.is_string() || pending.id.is_i64()) {
            pending.id = json!(self.next_id.fetch_add(1, Ordering::Relaxed));
            message["id"] = pending.id.clone();
            if pending.token.is_string() || pending.token.is_i64() {
                pending.token = pending.id.clone();
                message["params"]["_meta"]["progressToken"] = pending.token.clone();
            }
        }
        let (sender, events) = unbounded_channel();
        pending.events = sender;
        let (id, client_id) = (pending.id.clone(), pending.client_id.clone());
        let call = Call { events, child: Arc::clone(self), id, client_id, clients };
        let mut state = self.state();
        if self.is_running() {
            state.pending.push(pending);
        }
        self.send(message);
        call
    }

    /// The stream of what belongs to no request; `None` while another reads it.
    pub(super) fn listen(&self) -> Option<UnboundedReceiver<Event>> {
        let mut state = self.state();
        if state.standing.as_ref().is_some_and(|standing| !standing.is_closed()) {
            return None;
        }
        let (sender, events) = unbounded_channel();
        for message in state.waiting.drain(..) {
            // The other end is still in this function.
            let _ = sender.send(Event { message, is_response: false });
        }
        state.standing = Some(sender);
        Some(events)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all that waits for the process.
    fn ended(&self) {
        let mut state = self.state();
        self.is_running.store(false, Ordering::Relaxed);
        *state = State::default();
    }
}

impl State {
    fn deliver(&mut self, mut message: Value) {
        let is_response = message.get("method").is_none();
        let receiver = self.receiver(&message, is_response);
        let Some(pending) = receiver.and_then(|index| self.pending.get(index)) else {
            if !is_response {
                self.wait(message);
            }
            return;
        };
        pending.restore(&mut message);
        // A client that has hung up is told nothing.
        let _ = pending.events.send(Event { message, is_response });
        if let (true, Some(index)) = (is_response, receiver) {
            self.pending.remove(index);
        }
    }

    /// Whom a message is for: the request it names, or else the newest.
    fn receiver(&self, message: &Value, is_response: bool) -> Option<usize> {
        let find = |test: &dyn Fn(&Pending) -> bool| self.pending.iter().rposition(test);
        if is_response {
            let id = request_id(message);
            return find(&|pending| pending.id == id);
        }
        let params = &message["params"];
        if message["method"] == "notifications/progress" {
            return find(&|pending| pending.token == params["progressToken"]);
        }
        match params["_meta"].get(SUBSCRIPTION_ID) {
            Some(id) => find(&|pending| is_same_id(&pending.id, id)),
            None => find(&|pending| !pending.is_listening),
        }
    }

    fn wait(&mut self, message: Value) {
        if let Some(standing) = self.standing.as_ref().filter(|standing| !standing.is_closed()) {
            // Closed in between, it has lost a message, as any connection may.
            let _ = standing.send(Event { message, is_response: false });
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(message);
        }
    }
}

impl Pending {
    /// Gives a message the id and the token its client knows.
    fn restore(&self, message: &mut Value) {
        if self.id == self.client_id {
            return;
        }
        if message.get("method").is_none() {
            message["id"] = self.client_id.clone();
        }
        if message["method"] == "notifications/progress" {
            message["params"]["progressToken"] = self.client_token.clone();
        }
        for part in ["params", "result"] {
            let place = format!("/{part}/_meta");
            let meta = message.pointer_mut(&place).and_then(Value::as_object_mut);
            if let Some(subscription) = meta.and_then(|meta| meta.get_mut(SUBSCRIPTION_ID)) {
                *subscription = self.client_id.clone();
            }
        }
    }
}

/// A request under way.
pub(super) struct Call {
    pub(super) events: UnboundedReceiver<Event>,
    child: Arc<Child>,
    id: Value,
    client_id: Value,
    clients: Clients,
}

impl Call {
    /// The response alone, whatever comes before it.
    pub(super) async fn response(mut self) -> Option<Value> {
        while let Some(event) = self.events.recv().await {
            if event.is_response {
                return Some(event.message);
            }
        }
        None
    }

    /// One body of JSON if the response comes first, else events. `status` is that of a response
    /// that comes first.
    pub(super) async fn answer(mut self, status: impl FnOnce(&Value) -> u16) -> Reply {
        match self.events.recv().await {
            Some(Event { message, is_response: true }) => reply::json(status(&message), &message),
            Some(first) => reply::events(Events { first: Some(first), rest: Source::Call(self) }),
            None => {
                let error = reply::error(&self.client_id, INTERNAL_ERROR, "The server has ended");
                reply::json(502, &error)
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.child.state();
        let Some(index) = state.pending.iter().position(|pending| pending.id == self.id) else {
            return;
        };
        if self.clients == Clients::Many {
            state.pending.remove(index);
            let params = json!({"requestId": self.id});
            let method = "notifications/cancelled";
            self.child.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
        }
    }
}

/// The id, or for a batch of 2025-03-26 and its answer something that is no id.
fn request_id(message: &Value) -> Value {
    if message.is_array() { json!([]) } else { message["id"].clone() }
}

/// A subscription is named by the id of its request, which some write as a text.
fn is_same_id(id: &Value, named: &Value) -> bool {
    let number = named.as_str().and_then(|named| named.parse().ok());
    id == named || number.is_some() && id.as_i64() == number
}

async fn write(mut stdin: ChildStdin, mut messages: UnboundedReceiver<Value>) {
    while let Some(message) = messages.recv().await {
        if stdin.write_all(format!("{message}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, child: Weak<Child>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(child) = child.upgrade() else { return };
        // What is no message is found by checks of ours over the streams themselves.
        if let Ok(message) = serde_json::from_str(&line) {
            child.state().deliver(message);
        }
    }
    if let Some(child) = child.upgrade() {
        child.ended();
    }
}
