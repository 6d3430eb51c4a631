//! The sessions behind the front: over Streamable HTTP, and the stream and path of 2024-11-05.

use crate::front::{Front, Wire, is_notice, is_response, refuse, wait};
use crate::gate;
use crate::http1::{Request, answer, begin, has_gone, head};
use crate::streams::{Engine, locked};
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Front {
    pub(crate) fn legacy(
        &self,
        request: &Request,
        body: &[u8],
        message: &Value,
        wire: &mut Wire,
    ) -> io::Result<bool> {
        let opens = message["method"] == "initialize" && message.get("id").is_some();
        if opens && request.header("mcp-session-id").is_none() {
            return self.open(body, message, wire);
        }
        let engine = match self.session(request) {
            Ok(engine) => engine,
            Err(_) if self.defect.is("accepts-garbage") && is_notice(message) => {
                return self.accept(wire);
            }
            Err(status) => return refuse(wire, head(status), -32600),
        };
        if is_notice(message) || is_response(message) {
            engine.tell(body.to_vec());
            return self.accept(wire);
        }
        if self.defect.is("one-at-a-time") && engine.calls() > 0 {
            return refuse(wire, head(503), -32600);
        }
        let is_message = message["jsonrpc"] == "2.0" && message["method"].is_string();
        let nonsense = if self.defect.is("nonsense-by-422") { 422 } else { 400 };
        let array = message.is_array();
        let status = |_: i64| match () {
            () if array && self.defect.is("arrays-by-200") => 200,
            () if is_message && self.defect.is("errors-by-400") => 400,
            () if is_message || array && *locked(&engine.version) == "2025-03-26" => 200,
            () if array || !message.is_null() => 400,
            () => nonsense,
        };
        let is_told = |one: &Value| is_notice(one) || is_response(one);
        if message.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_told)) {
            engine.tell(body.to_vec());
            return self.accept(wire);
        }
        let stream = engine.ask(body.to_vec(), false);
        self.stream(wire, &engine, &stream, head(200), status, false)
    }

    fn open(&self, body: &[u8], message: &Value, wire: &mut Wire) -> io::Result<bool> {
        let count = self.opened.fetch_add(1, Ordering::SeqCst);
        let random = || RandomState::new().hash_one(count);
        let id = match () {
            () if self.defect.is("counting-sessions") => format!("session-000000000{count}"),
            () if self.defect.is("blank-in-session-id") => {
                format!("{:016x} {:016x}", random(), random())
            }
            () => format!("{:016x}{:016x}", random(), random()),
        };
        let engine = Engine::start(id.clone(), false, self.defect);
        let asked = message["params"]["protocolVersion"].as_str().unwrap_or_default();
        asked.clone_into(&mut locked(&engine.version));
        let stream = engine.ask(body.to_vec(), false);
        let Some((answer, _)) = wait(&stream, wire) else { return Ok(false) };
        let mut start = head(200);
        if answer.get("result").is_some() {
            locked(&self.sessions).insert(id.clone(), engine);
            start = start.with("mcp-session-id", id);
        }
        self.whole(wire, start, &answer)
    }

    fn session(&self, request: &Request) -> Result<Arc<Engine>, u16> {
        let Some(id) = request.header("mcp-session-id") else {
            return Err(if self.defect.is("sessionless-by-404") { 404 } else { 400 });
        };
        let sessions = locked(&self.sessions);
        let any = sessions.values().next().filter(|_| self.defect.is("any-session"));
        let engine = Arc::clone(sessions.get(id).or(any).ok_or(404u16)?);
        let known = ["2025-03-26", "2025-06-18", "2025-11-25"];
        match request.header("mcp-protocol-version") {
            Some(version) if !known.contains(&version) && !self.defect.is("any-version") => {
                Err(400)
            }
            None if self.defect.is("demands-version")
                && locked(&engine.version).as_str() >= "2025-06-18" =>
            {
                Err(400)
            }
            _ => Ok(engine),
        }
    }

    pub(crate) fn get(&self, request: &Request, wire: &mut Wire) -> io::Result<bool> {
        if self.defect.is("get-elsewhere") {
            return refuse(wire, head(404), -32600);
        }
        if self.defect.is("get-json") {
            return self.whole(wire, head(200), &json!({}));
        }
        if !gate::accepts(request, "text/event-stream") && !self.defect.is("any-accept") {
            return refuse(wire, head(406), -32600);
        }
        let engine = match self.session(request) {
            Ok(engine) => engine,
            Err(status) => return refuse(wire, head(status), -32600),
        };
        let Some(last) = request.header("last-event-id") else {
            let stream = Arc::clone(&engine.standing);
            if stream.has_reader.swap(true, Ordering::SeqCst) {
                return refuse(wire, head(409), -32600);
            }
            let place = stream.read.load(Ordering::SeqCst);
            let sent = self.events(wire, &engine, &stream, head(200), place, false);
            stream.has_reader.store(false, Ordering::SeqCst);
            return sent;
        };
        let parsed = last.split_once('-');
        let parsed = parsed.and_then(|(n, place)| Some((n.parse().ok()?, place.parse().ok()?)));
        let (number, place): (u64, usize) = parsed.unwrap_or((0, 0));
        let number = number + u64::from(self.defect.is("replays-another"));
        match engine.stream(number) {
            None => refuse(wire, head(400), -32600),
            Some(_) if self.defect.is("forgets-events") => refuse(wire, head(400), -32600),
            Some(stream) => self.events(wire, &engine, &stream, head(200), place + 1, false),
        }
    }

    pub(crate) fn delete(&self, request: &Request, wire: &mut Wire) -> io::Result<bool> {
        match self.session(request) {
            Err(status) => refuse(wire, head(status), -32600),
            Ok(engine) => {
                if !self.defect.is("undead-sessions") {
                    locked(&self.sessions).remove(&engine.id);
                }
                engine.standing.end();
                answer(wire, head(204), b"").map(|()| true)
            }
        }
    }

    pub(crate) fn down(&self, wire: &mut Wire) -> io::Result<bool> {
        let id = format!("{:016x}", RandomState::new().hash_one(0));
        let engine = Engine::start(id.clone(), true, self.defect);
        locked(&self.sessions).insert(id.clone(), Arc::clone(&engine));
        begin(wire, head(200).with("content-type", "text/event-stream"))?;
        if self.defect.is("late-endpoint") {
            write!(wire, "event: message\ndata: \n\n")?;
        }
        write!(wire, "event: endpoint\ndata: /messages?sessionId={id}\n\n")?;
        let name = if self.defect.is("named-events") { "mcp" } else { "message" };
        let mut place = 0;
        while !has_gone(wire) {
            if let Some((message, _)) = engine.standing.at(place) {
                if write!(wire, "event: {name}\ndata: {message}\n\n").is_err() {
                    break;
                }
                place += 1;
            }
        }
        if !self.defect.is("pair-lives-on") {
            locked(&self.sessions).remove(&id);
        }
        Ok(false)
    }

    pub(crate) fn up(&self, request: &Request, wire: &mut Wire) -> io::Result<bool> {
        let id = request.query.strip_prefix("sessionId=").unwrap_or_default();
        let engine = locked(&self.sessions).get(id).cloned();
        match (engine, &request.body) {
            (Some(engine), Some(body)) => {
                engine.tell(body.clone());
                let status = if self.defect.is("sent-by-500") { 500 } else { 202 };
                answer(wire, head(status), b"Accepted").map(|()| true)
            }
            (Some(_), None) => {
                // The stream is where it is answered, if anywhere.
                answer(
                    wire,
                    head(413),
                    b"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"too long\"}}",
                )
                .map(|()| true)
            }
            (None, _) if self.defect.is("sent-to-nobody") => {
                answer(wire, head(202), b"").map(|()| true)
            }
            (None, _) => refuse(wire, head(404), -32600),
        }
    }
}
