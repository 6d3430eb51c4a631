//! The broken server over HTTP: the same server, one for each session and one for all requests of
//! the newest revision, behind a front as small as it can be.

use crate::defects::Defect;
use crate::gate::{self, MISMATCH, MODERN};
use crate::guard::Guard;
use crate::http1::{Head, Request, answer, begin, has_gone, head};
use crate::server::{CLIENT_KEY, VERSION_KEY};
use crate::streams::{Engine, Stream, locked};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(crate) struct Front {
    pub(crate) defect: Defect,
    guard: Guard,
    /// Serves the newest revision.
    modern: Arc<Engine>,
    pub(crate) sessions: Mutex<HashMap<String, Arc<Engine>>>,
    pub(crate) opened: AtomicU64,
}

/// What a connection sends and is sent.
pub(crate) type Wire = TcpStream;

pub(crate) fn serve(defect: Defect, guard: Guard) -> ExitCode {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return ExitCode::FAILURE };
    let Ok(address) = listener.local_addr() else { return ExitCode::FAILURE };
    let modern = Engine::start("modern".to_owned(), false, defect);
    let (sessions, opened) = (Mutex::default(), AtomicU64::new(0));
    let front = Arc::new(Front { defect, guard, modern, sessions, opened });
    end_when_told(Arc::clone(&front));
    defect.write(format!("http://{address}/mcp\n").as_bytes());
    for wire in listener.incoming().flatten() {
        let front = Arc::clone(&front);
        thread::spawn(move || front.connection(wire));
    }
    ExitCode::SUCCESS
}

/// After SIGTERM listen streams get their end, and a moment to send it.
fn end_when_told(front: Arc<Front>) {
    thread::spawn(move || {
        let told = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let told = told.and_then(|runtime| {
            runtime.block_on(async {
                let kind = tokio::signal::unix::SignalKind::terminate();
                tokio::signal::unix::signal(kind)?.recv().await;
                Ok(())
            })
        });
        if told.is_ok() {
            front.modern.end_listens();
            thread::sleep(Duration::from_millis(300));
            std::process::exit(0);
        }
    });
}

impl Front {
    fn connection(&self, wire: Wire) {
        let Ok(read) = wire.try_clone() else { return };
        let (mut read, mut wire) = (BufReader::new(read), wire);
        // Answers are small and come in pieces.
        let _ = wire.set_nodelay(true);
        while let Some(request) = Request::read(&mut read) {
            let kept = self.request(&request, &mut wire);
            if !kept.unwrap_or(false) {
                return;
            }
        }
    }

    /// `true` if the connection can be used again.
    fn request(&self, request: &Request, wire: &mut Wire) -> io::Result<bool> {
        if let Some(status) = gate::place(request, self.defect) {
            return refuse(wire, head(status), -32600);
        }
        if let Some(document) = self.guard.metadata(request, self.defect) {
            return self.whole(wire, head(200), &document);
        }
        let has_session = request.header("mcp-session-id");
        let has_session = has_session.is_some_and(|id| locked(&self.sessions).contains_key(id));
        if let Some(head) = self.guard.refusal(request, has_session, self.defect) {
            return refuse(wire, head, -32600);
        }
        let version = request.header("mcp-protocol-version");
        let modern = version == Some(MODERN) && !self.defect.is("modern-get");
        match (request.path.as_str(), request.method.as_str()) {
            ("/mcp", "POST") => self.post(request, wire),
            ("/mcp", "GET" | "DELETE") if modern => self.offer(wire, "POST"),
            ("/mcp", "GET") => self.get(request, wire),
            ("/mcp", "DELETE") => self.delete(request, wire),
            ("/mcp", _) => self.offer(wire, "GET, POST, DELETE"),
            ("/sse", "GET") => self.down(wire),
            ("/messages", "POST") => self.up(request, wire),
            _ => refuse(wire, head(404), -32600),
        }
    }

    fn offer(&self, wire: &mut Wire, methods: &str) -> io::Result<bool> {
        let head = head(405);
        let bare = self.defect.is("offers-nothing");
        refuse(wire, if bare { head } else { head.with("allow", methods) }, -32600)
    }

    fn post(&self, request: &Request, wire: &mut Wire) -> io::Result<bool> {
        if let Some(status) = gate::media(request, self.defect) {
            return refuse(wire, head(status), -32600);
        }
        let is_short = |body: &&Vec<u8>| body.len() < 100_000 || !self.defect.is("short-bodies");
        let Some(body) = request.body.as_ref().filter(is_short) else {
            return refuse(wire, head(413), -32600);
        };
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        if body.is_empty() {
            let nonsense = self.defect.is("nonsense-by-422");
            return refuse(wire, head(if nonsense { 422 } else { 400 }), -32700);
        }
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let meta = &message["params"]["_meta"];
        let claims = meta.get(VERSION_KEY).is_some() || meta.get(CLIENT_KEY).is_some();
        let version = request.header("mcp-protocol-version");
        if claims || version.is_some_and(|version| (MODERN.."3").contains(&version)) {
            return self.modern(request, body, &message, wire);
        }
        self.legacy(request, body, &message, wire)
    }

    fn modern(
        &self,
        request: &Request,
        body: &[u8],
        message: &Value,
        wire: &mut Wire,
    ) -> io::Result<bool> {
        if self.defect.is("minds-sessions") && request.header("mcp-session-id").is_some() {
            return refuse(wire, head(404), -32600);
        }
        if is_response(message) {
            if self.defect.is("accepts-garbage") {
                return self.accept(wire);
            }
            return refuse(wire, head(400), -32600);
        }
        if is_notice(message) {
            return self.accept(wire);
        }
        let meta = &message["params"]["_meta"];
        let whole = meta[VERSION_KEY].is_string() && meta[CLIENT_KEY].is_object();
        let unknown = self.defect.is("another-ladder") && message["method"] == "no/such";
        let contradicts = gate::contradicts(request, message, self.defect);
        if whole && !unknown && message["method"].is_string() && contradicts {
            let status = if self.defect.is("mismatch-by-200") { 200 } else { 400 };
            let error = json!({"code": MISMATCH, "message": "the headers say something else"});
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return self.whole(wire, head(status), &answer);
        }
        // Without an envelope it is one of the newest revision all the same, and incomplete.
        let mut claimed = message.clone();
        if claimed["params"].is_object() || claimed.get("params").is_none() && claimed.is_object() {
            claimed["params"]["_meta"][VERSION_KEY] = meta[VERSION_KEY].clone();
        }
        let line = if whole { body.to_vec() } else { claimed.to_string().into_bytes() };
        let line = if message.is_null() { body.to_vec() } else { line };
        let engine = Arc::clone(&self.modern);
        let stream = engine.ask(line, true);
        let status = |code: i64| match code {
            -32601 if self.defect.is("unknown-by-200") => 200,
            -32022 if self.defect.is("unsupported-by-200") => 200,
            -32021 if self.defect.is("incapable-by-200") => 200,
            -32601 => 404,
            -32602 if whole => 200,
            -32600 if message["id"].is_u64() && whole => 200,
            _ => 400,
        };
        let mut start = head(200);
        if self.defect.is("names-sessions") {
            start = start.with("mcp-session-id", "modern-session");
        }
        self.stream(wire, &engine, &stream, start, status, true)
    }

    /// The first message of a stream as JSON if it is the last, else all of them as events.
    pub(crate) fn stream(
        &self,
        wire: &mut Wire,
        engine: &Engine,
        stream: &Arc<Stream>,
        start: Head,
        status: impl Fn(i64) -> u16,
        modern: bool,
    ) -> io::Result<bool> {
        let Some((first, is_last)) = wait(stream, wire) else {
            if modern && !self.defect.is("hears-no-hanging-up") {
                engine.cancel(stream);
            }
            return Ok(false);
        };
        if !is_last {
            return self.events(wire, engine, stream, start, 0, modern);
        }
        let code = first["error"]["code"].as_i64();
        let status = code.map_or(200, status);
        self.whole(wire, Head { status, ..start }, &first)
    }

    pub(crate) fn events(
        &self,
        wire: &mut Wire,
        engine: &Engine,
        stream: &Arc<Stream>,
        start: Head,
        mut place: usize,
        modern: bool,
    ) -> io::Result<bool> {
        let mut start = start.with("content-type", "text/event-stream");
        if !self.defect.is("cached-streams") {
            start = start.with("cache-control", "no-cache");
        }
        begin(wire, start)?;
        let number = if self.defect.is("reuses-event-ids") { 1 } else { stream.number };
        let newest = *locked(&engine.version) == "2025-11-25";
        if newest && place == 0 && number > 0 && !self.defect.is("no-priming") {
            write!(wire, "id: {number}-primed\ndata: \n\n")?;
        }
        loop {
            match stream.at(place) {
                Some((message, is_last)) => {
                    let id = if modern { String::new() } else { format!("id: {number}-{place}\n") };
                    if write!(wire, "{id}event: message\ndata: {message}\n\n").is_err() {
                        break;
                    }
                    place += 1;
                    stream.read.store(place, Ordering::SeqCst);
                    if is_last {
                        return Ok(false);
                    }
                }
                None if stream.is_over.load(Ordering::SeqCst) => return Ok(false),
                None if has_gone(wire) => break,
                None => {}
            }
        }
        let cancels = modern && !self.defect.is("hears-no-hanging-up");
        if cancels || !modern && stream.number > 0 && self.defect.is("hanging-up-cancels") {
            engine.cancel(stream);
        }
        if modern && self.defect.is("ends-all-listens") {
            engine.end_listens();
        }
        Ok(false)
    }

    pub(crate) fn accept(&self, wire: &mut Wire) -> io::Result<bool> {
        let body: &[u8] = if self.defect.is("chatty-202") { b"Accepted" } else { b"" };
        answer(wire, head(202), body).map(|()| true)
    }

    pub(crate) fn whole(&self, wire: &mut Wire, head: Head, message: &Value) -> io::Result<bool> {
        let plain = self.defect.is("plain-text") && message["result"]["tools"].is_array();
        let media_type = if plain { "text/plain" } else { "application/json" };
        let head = head.with("content-type", media_type);
        answer(wire, head, message.to_string().as_bytes()).map(|()| true)
    }
}

/// The first message of a stream, however long it takes; `None` once nobody waits for it.
pub(crate) fn wait(stream: &Stream, wire: &Wire) -> Option<(Value, bool)> {
    loop {
        if let Some(first) = stream.at(0) {
            return Some(first);
        }
        if stream.is_over.load(Ordering::SeqCst) || has_gone(wire) {
            return None;
        }
    }
}

pub(crate) fn refuse(wire: &mut Wire, head: Head, code: i64) -> io::Result<bool> {
    let error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": "refused"}});
    let head = head.with("content-type", "application/json");
    answer(wire, head, error.to_string().as_bytes()).map(|()| true)
}

pub(crate) fn is_notice(message: &Value) -> bool {
    message["method"].is_string() && message.get("id").is_none()
}

pub(crate) fn is_response(message: &Value) -> bool {
    message.get("method").is_none()
        && (message.get("result").is_some() || message.get("error").is_some())
}
