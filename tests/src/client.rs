//! A plain client on a [`Peer`]: numbers requests, waits for answers, puts the rest aside.
//!
//! Silence is detected without waiting it out: behind whatever a check sends goes a harmless
//! request, and once that one is answered, what is still missing gets one more chance only.

use crate::check::{Outcome, fail};
use crate::clock::{Instant, PATIENCE};
use crate::peer::{Incoming, Peer};
use crate::revision::{self, Revision};
use crate::watch::Watch;
use serde_json::{Map, Value, json};
use std::process::ExitStatus;
use std::time::Duration;

/// Silence after which a server is asked whether it is still there.
const STALL: Duration = Duration::from_secs(2);
/// What is missing still gets this once a request sent after it has been answered. Only a broken
/// server makes anybody wait so long.
pub(crate) const LAST_CHANCE: Duration = Duration::from_secs(3);
/// How long it is listened for what must not come.
pub(crate) const GRACE: Duration = Duration::from_millis(700);
/// Well above the small ids that the checks choose themselves.
const FIRST_ID: u64 = 1000;

/// One connection to the server under test.
pub struct Client {
    pub peer: Peer,
    pub watch: Watch,
    pub revision: Revision,
    next_id: u64,
    inbox: Vec<Value>,
    /// The ids of probes not answered yet.
    probes: Vec<Value>,
    /// What is answered to each method of a question: a `result` or an `error` member.
    script: Vec<(String, Value)>,
    spoken: bool,
    closed: bool,
    /// Messages HTTP refused by a status alone.
    pub bare_refusals: u32,
}

/// How a connection ended.
pub struct Ending {
    /// `None` when the process was still running at the deadline.
    pub status: Option<ExitStatus>,
    /// The messages that still came after stdin was closed.
    pub messages: Vec<Value>,
    pub took: Duration,
}

impl Client {
    pub fn new(peer: Peer, watch: Watch, revision: Revision) -> Client {
        Client {
            peer,
            watch,
            revision,
            next_id: FIRST_ID,
            inbox: Vec::new(),
            probes: Vec::new(),
            script: Vec::new(),
            spoken: false,
            closed: false,
            bare_refusals: 0,
        }
    }

    /// From now on answers questions of `method` with `answer`: an object with a `result` or an
    /// `error`, or `null` for no answer at all.
    pub fn script(&mut self, method: &str, answer: Value) {
        self.script.retain(|(known, _)| known != method);
        self.script.push((method.to_owned(), answer));
    }

    /// Does what a client of this revision does before its first real request.
    pub fn open(&mut self) -> Result<(), Outcome> {
        self.open_with(json!({}))
    }

    /// As [`Client::open`], declaring `capabilities` where the revision does so at the start.
    pub fn open_with(&mut self, capabilities: Value) -> Result<(), Outcome> {
        if self.revision.is_modern() {
            self.result("server/discover", json!({}))?;
            return Ok(());
        }
        let version = self.revision.date();
        let mut params = revision::initialize_params(version);
        params["capabilities"] = capabilities;
        let answer = self.result("initialize", params)?;
        if answer["protocolVersion"] != version {
            return Err(fail(format!("initialize with {version} was answered {answer}")));
        }
        self.notify("notifications/initialized", Value::Null);
        Ok(())
    }

    /// Sends a request with the revision's envelope and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.reserve_id());
        self.request_as(id.clone(), method, params);
        id
    }

    /// An id that nothing else on this connection uses.
    pub fn reserve_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends a request under an id of the caller's choice.
    pub fn request_as(&mut self, id: Value, method: &str, params: Value) {
        let message = call(Some(id), method, self.revision.envelope(params));
        self.send(&message);
    }

    /// Sends a request whose method or params need not be correct and waits for its answer.
    pub fn call_oddly(&mut self, method: &str, params: Value) -> Result<Value, Outcome> {
        let id = json!(self.reserve_id());
        let params = self.revision.envelope(params);
        self.send_odd(&call(Some(id.clone()), method, params));
        self.answer(&id)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        let params = (!params.is_null()).then_some(params);
        self.send(&call(None, method, params));
    }

    /// Sends a message as it is, and holds it to the schema.
    pub fn send(&mut self, message: &Value) {
        self.watch.sent(message);
        self.peer.send(line(message));
    }

    /// Sends a message that need not be correct.
    pub fn send_odd(&mut self, message: &Value) {
        self.send_raw(line(message));
    }

    /// Sends bytes that need not be a message at all.
    pub fn send_raw(&mut self, bytes: Vec<u8>) {
        self.watch.sent_raw(&bytes);
        self.peer.send(bytes);
    }

    /// Sends a request and waits for its answer, whichever kind it is.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Outcome> {
        let id = self.request(method, params);
        self.answer(&id)
    }

    /// Sends a request that must succeed and gives its result.
    pub fn result(&mut self, method: &str, params: Value) -> Result<Value, Outcome> {
        let mut answer = self.call(method, params)?;
        match answer.get_mut("result").map(Value::take) {
            Some(result) => Ok(result),
            None => Err(fail(format!("{method} was answered {answer}"))),
        }
    }

    /// Sends a request that must fail with one of `codes` and gives the error.
    pub fn refusal(
        &mut self,
        method: &str,
        params: Value,
        codes: &[i64],
    ) -> Result<Value, Outcome> {
        let mut answer = self.call(method, params)?;
        let code = answer["error"]["code"].as_i64();
        if code.is_some_and(|code| codes.contains(&code)) {
            return Ok(answer["error"].take());
        }
        Err(fail(format!("{method} was answered {answer} instead of an error {codes:?}")))
    }

    /// Waits for the answer to `id`; everything else stays in the inbox.
    pub fn answer(&mut self, id: &Value) -> Result<Value, Outcome> {
        self.wait_for(&format!("an answer to id {id}"), |message| is_answer(message, id))
    }

    /// Waits for a message that `wanted` accepts, the oldest first.
    pub fn wait_for(
        &mut self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, Outcome> {
        if let Some(message) = self.take(&wanted) {
            return Ok(message);
        }
        let mut deadline = Instant::now() + PATIENCE;
        let mut stall = self.spoken.then(|| Instant::now() + STALL);
        let mut taken = self.peer.taken();
        let mut probe = None;
        loop {
            match self.receive(stall.unwrap_or(deadline)) {
                Ok(messages) => self.inbox.extend(messages),
                Err(why) if self.closed => return Err(fail(format!("{what}: {why}"))),
                // A server that still takes input is not silent, it is busy reading.
                Err(_) if stall.is_some() && self.peer.taken() > taken => {
                    taken = self.peer.taken();
                    deadline = Instant::now() + PATIENCE;
                    stall = stall.map(|_| Instant::now() + STALL);
                }
                Err(_) if stall.take().is_some() => probe = Some(self.probe()),
                Err(why) => return Err(fail(format!("{what}: {why}"))),
            }
            if let Some(message) = self.take(&wanted) {
                return Ok(message);
            }
            if probe.take_if(|id| !self.probes.contains(id)).is_some() {
                deadline = deadline.min(Instant::now() + LAST_CHANCE);
            }
        }
    }

    /// A server that is silent for a while is sent a harmless request; if it answers that one but
    /// not the first, there is little left to wait for.
    fn probe(&mut self) -> Value {
        let id = self.request(self.revision.harmless_method(), Value::Null);
        self.probes.push(id.clone());
        id
    }

    /// Sends a harmless request and reads up to its answer: the connection is alive.
    pub fn barrier(&mut self) -> Result<(), Outcome> {
        let id = self.request(self.revision.harmless_method(), Value::Null);
        let answer = self.answer(&id)?;
        match answer.get("result") {
            Some(_) => Ok(()),
            None => Err(fail(format!("the next request was answered {answer}"))),
        }
    }

    /// Everything that came without being waited for, oldest first.
    pub fn take_inbox(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.inbox)
    }

    /// The oldest message put aside that `wanted` accepts; the others stay.
    pub fn take(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let position = self.inbox.iter().position(wanted)?;
        Some(self.inbox.remove(position))
    }

    /// Reads for a short grace, for what must not come.
    pub fn linger(&mut self) {
        self.read_until(Instant::now() + GRACE, |_| false);
    }

    /// Reads until `enough` accepts what has come. What a server that answers has not sent by its
    /// last chance does not come.
    pub fn gather(&mut self, enough: impl Fn(&[Value]) -> bool) {
        self.read_until(Instant::now() + LAST_CHANCE, enough);
    }

    fn read_until(&mut self, deadline: Instant, enough: impl Fn(&[Value]) -> bool) {
        while !enough(&self.inbox) {
            let Ok(messages) = self.receive(deadline) else {
                return;
            };
            self.inbox.extend(messages);
        }
    }

    /// Gives up a request as this transport and revision have it: by closing its response where
    /// that means so, else by a notification.
    pub fn cancel(&mut self, id: &Value) {
        if self.revision.is_modern() && self.peer.hang_up(id) {
            self.watch.given_up(id);
            return;
        }
        self.notify("notifications/cancelled", json!({ "requestId": id }));
    }

    /// Closes stdin and collects what the server still says until it is gone.
    pub fn finish(&mut self, patience: Duration) -> Ending {
        let start = Instant::now();
        self.peer.close();
        while let Ok(messages) = self.receive(start + patience) {
            self.inbox.extend(messages);
        }
        let status = self.peer.wait_exit(start + patience);
        Ending { status, messages: self.take_inbox(), took: start.elapsed() }
    }

    /// The messages on the next line, or why there is none.
    pub fn receive(&mut self, deadline: Instant) -> Result<Vec<Value>, String> {
        match self.peer.receive(deadline) {
            Incoming::Line(line) => Ok(self.take_line(&line)),
            Incoming::Carried(carried) => {
                self.watch.carried(&carried);
                Ok(self.take_line(&carried.line))
            }
            Incoming::Exchange(exchange) => {
                self.spoken = true;
                self.bare_refusals += u32::from(self.watch.exchanged(&exchange));
                Ok(Vec::new())
            }
            Incoming::Unterminated(bytes) => {
                self.watch.got_unterminated(&bytes);
                Ok(Vec::new())
            }
            Incoming::Silence => Err("the server stays silent".to_owned()),
            Incoming::Eof => {
                self.closed = true;
                let stderr = self.peer.stderr();
                let last = stderr.lines().last().unwrap_or_default();
                Err(format!("the server closed the connection {last}").trim_end().to_owned())
            }
        }
    }

    fn take_line(&mut self, line: &[u8]) -> Vec<Value> {
        self.spoken = true;
        let messages = self.watch.got(line);
        messages.iter().for_each(|message| self.serve(message));
        self.without_probes(messages)
    }

    /// Late answers to probes are nobody's business but the wait's that sent them.
    fn without_probes(&mut self, mut messages: Vec<Value>) -> Vec<Value> {
        messages.retain(|message| {
            let probe = self.probes.iter().position(|id| is_answer(message, id));
            probe.map(|probe| self.probes.remove(probe)).is_none()
        });
        messages
    }

    /// The next message without judging it: for floods, whose every message is like the others.
    pub fn receive_unwatched(&mut self, deadline: Instant) -> Result<Value, String> {
        let line = self.receive_unparsed(deadline)?;
        serde_json::from_slice(&line).map_err(|error| format!("a message is not JSON ({error})"))
    }

    /// The next line without even parsing it.
    pub fn receive_unparsed(&mut self, deadline: Instant) -> Result<Vec<u8>, String> {
        match self.peer.receive(deadline) {
            Incoming::Line(line) => Ok(line),
            Incoming::Carried(carried) => Ok(carried.line),
            Incoming::Exchange(_) => self.receive_unparsed(deadline),
            Incoming::Silence => Err("the server stays silent".to_owned()),
            Incoming::Unterminated(_) | Incoming::Eof => {
                self.closed = true;
                Err("the server closed the connection".to_owned())
            }
        }
    }

    /// True once the server has closed its stdout.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Answers what the server asks, so that no server waits for a client that never comes.
    fn serve(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            return;
        };
        if message["id"].is_null() {
            return;
        }
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
        if let Some((_, scripted)) = self.script.iter().find(|(known, _)| known == method) {
            let Some(scripted) = scripted.as_object() else { return };
            answer.as_object_mut().into_iter().for_each(|answer| answer.extend(scripted.clone()));
        } else if method == "ping" {
            answer["result"] = json!({});
        } else {
            answer["error"] = json!({"code": -32601, "message": "Method not found"});
        }
        self.peer.send(line(&answer));
    }
}

/// A request, or without an id a notification.
pub fn call(id: Option<Value>, method: &str, params: Option<Value>) -> Value {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), json!("2.0"));
    message.extend(id.map(|id| ("id".to_owned(), id)));
    message.insert("method".to_owned(), json!(method));
    message.extend(params.map(|params| ("params".to_owned(), params)));
    Value::Object(message)
}

/// A message as the line it travels on.
pub fn line(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// True for the response to `id`.
pub fn is_answer(message: &Value, id: &Value) -> bool {
    message.get("method").is_none() && message.get("id") == Some(id)
}
