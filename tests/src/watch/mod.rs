//! Watches every message of one connection and notes each broken rule.
//!
//! Many requirements are about *every* message, whatever it answers. They are judged here, over
//! the traffic all checks cause together, and reported as one row each at the end.
//!
//! Reading order: this file keeps what has been asked; `shape.rs` judges one message alone,
//! `result.rs` what a result may hold, `notice.rs` what may arrive unasked,
//! `http.rs` how HTTP carries it.

mod shape;
mod result;
mod notice;
mod http;

use crate::findings::Findings;
use crate::revision::{self, Revision};
use crate::schema::Schemas;
use crate::transcript::shown;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Longer lines of ours are not worth parsing to know what they ask.
const PARSED_BYTES: usize = 1 << 20;

/// The state of one connection that the rules need.
pub struct Watch {
    revision: Revision,
    findings: Findings,
    schemas: Option<Arc<Schemas>>,
    asked: HashMap<String, Asked>,
    tokens: HashMap<String, Token>,
    listens: HashMap<String, Listen>,
    server_ids: HashSet<String>,
    subscribed: HashSet<String>,
    session_capabilities: Option<Value>,
    /// What this client declared in `initialize`.
    client_capabilities: Value,
    session_level: Option<usize>,
    discovered_capabilities: Option<Value>,
    sent_unreadable: bool,
    /// The ids of pages the client was asked to open.
    elicitations: HashSet<String>,
    /// Of the events of streams.
    event_ids: HashSet<String>,
}

/// One request of ours.
struct Asked {
    revision: Revision,
    method: String,
    /// Answers still owed; an id that was wrongly used twice is owed two.
    owed: u32,
    log_level: Option<usize>,
    token: Option<String>,
    /// Whether its sender takes a task for an answer (2026-07-28).
    takes_tasks: bool,
    /// The uri or level that takes effect once the server has answered.
    argument: Option<String>,
}

struct Token {
    last: f64,
    open: bool,
}

/// One `subscriptions/listen` stream.
struct Listen {
    filter: Value,
    acknowledged: bool,
}

impl Watch {
    pub fn new(revision: Revision, findings: Findings, schemas: Option<Arc<Schemas>>) -> Watch {
        Watch {
            revision,
            findings,
            schemas,
            asked: HashMap::new(),
            tokens: HashMap::new(),
            listens: HashMap::new(),
            server_ids: HashSet::new(),
            subscribed: HashSet::new(),
            session_capabilities: None,
            client_capabilities: Value::Null,
            session_level: None,
            discovered_capabilities: None,
            sent_unreadable: false,
            elicitations: HashSet::new(),
            event_ids: HashSet::new(),
        }
    }

    /// What the server declared, by `initialize` or, without a session, by `server/discover`.
    pub fn capabilities(&self) -> Option<&Value> {
        if self.revision.is_modern() {
            return self.discovered_capabilities.as_ref();
        }
        self.session_capabilities.as_ref()
    }

    /// Notes a message the engine meant to be correct, and holds it to the schema as well.
    pub fn sent(&mut self, message: &Value) {
        let revision = self.revision_of(message);
        if let Some(schemas) = &self.schemas {
            self.findings.judged("W-002");
            if let Err(fault) = schemas.check_call(revision, message) {
                self.findings.fault("W-002", format!("{fault}: {}", shown_value(message)));
            }
        }
        self.register(message);
    }

    /// Notes bytes that may be wrong on purpose.
    pub fn sent_raw(&mut self, bytes: &[u8]) {
        if bytes.len() > PARSED_BYTES {
            self.sent_unreadable(bytes);
            return;
        }
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            match serde_json::from_slice(line) {
                Ok(Value::Array(batch)) => batch.iter().for_each(|message| self.register(message)),
                Ok(message) => self.register(&message),
                Err(_) => self.sent_unreadable(line),
            }
        }
    }

    fn sent_unreadable(&mut self, line: &[u8]) {
        self.sent_unreadable = true;
        self.register(&json!({"id": leading_id(line)}));
    }

    /// Judges one line from the server and hands out the messages on it.
    pub fn got(&mut self, line: &[u8]) -> Vec<Value> {
        let messages = match shape::parse(line) {
            Ok(Value::Array(batch)) if self.revision == Revision::V2025_03_26 => batch,
            Ok(message) => vec![message],
            Err(faults) => {
                for (id, fault) in faults {
                    self.findings.fault(id, format!("{fault}: {}", shown(line)));
                }
                return Vec::new();
            }
        };
        // The last three forbid something altogether, so any message is an occasion to break them.
        for id in ["S-001", "S-070", "S-071", "S-037", "S-061", "S-073"] {
            self.findings.judged(id);
        }
        for message in &messages {
            self.judge(message);
        }
        messages
    }

    /// Judges what the server left behind without a newline.
    pub fn got_unterminated(&mut self, bytes: &[u8]) {
        let fault = format!("the last message has no newline: {}", shown(bytes));
        self.findings.fault("S-070", fault);
    }

    fn judge(&mut self, message: &Value) {
        if shape::has_meta(message) {
            self.findings.judged("S-018");
        }
        for (id, fault) in shape::faults(message) {
            self.fault(id, fault, message);
        }
        if message["method"].is_string() {
            self.judge_call(message);
        } else if message.get("result").is_some() || message.get("error").is_some() {
            self.judge_response(message);
        }
    }

    fn judge_call(&mut self, message: &Value) {
        let is_request = message.get("id").is_some();
        if let Some(schemas) = &self.schemas {
            self.findings.judged("W-001");
            if let Err(fault) = schemas.check_call(self.revision, message) {
                self.fault("W-001", fault, message);
            }
        }
        if is_request {
            self.judge_server_request(message);
        } else {
            self.findings.judged("S-007");
            self.judge_notification(message);
        }
    }

    fn judge_response(&mut self, message: &Value) {
        for id in ["S-002", "S-003"] {
            self.findings.judged(id);
        }
        let key = key_of(&message["id"]);
        let unreadable = self.sent_unreadable && message.get("error").is_some();
        let Some(asked) = self.asked.get_mut(&key) else {
            let idless_error = message["id"].is_null() && message.get("error").is_some();
            if !idless_error && !unreadable {
                self.fault("S-002", "answers an id that was never sent".to_owned(), message);
            }
            self.judge_answer_schema(self.revision, "", message);
            return;
        };
        let (revision, method) = (asked.revision, asked.method.clone());
        let takes_tasks = asked.takes_tasks;
        if asked.owed == 0 && !unreadable {
            self.fault("S-002", "answers the same request again".to_owned(), message);
        } else {
            asked.owed = asked.owed.saturating_sub(1);
        }
        self.settle(&key, message);
        self.judge_answer_schema(revision, &method, message);
        let faults = result::faults(revision, &method, takes_tasks, message, &self.findings);
        for (id, fault) in faults {
            self.fault(id, fault, message);
        }
    }

    fn judge_answer_schema(&mut self, revision: Revision, method: &str, message: &Value) {
        let Some(schemas) = &self.schemas else { return };
        self.findings.judged("W-001");
        let negotiated =
            message["result"]["protocolVersion"].as_str().and_then(Revision::from_date);
        let revision =
            if method == "initialize" { negotiated.unwrap_or(revision) } else { revision };
        if let Err(fault) = schemas.check_response(revision, method, message) {
            self.fault("W-001", fault, message);
        }
    }

    /// Draws the consequences of an answer: what it declared, switched on or ended.
    fn settle(&mut self, key: &str, message: &Value) {
        let Some(asked) = self.asked.get(key) else {
            return;
        };
        if let Some(token) = asked.token.as_ref().and_then(|token| self.tokens.get_mut(token)) {
            // A token is a task's for as long as that lives; how long, S-218 knows.
            token.open = asked.owed > 0 || message["result"]["task"].is_object();
        }
        if message.get("result").is_none() {
            return;
        }
        let capabilities = || message["result"].get("capabilities").cloned();
        let argument = asked.argument.clone();
        match asked.method.as_str() {
            "initialize" => self.session_capabilities = capabilities(),
            "server/discover" => self.discovered_capabilities = capabilities(),
            "resources/subscribe" => self.subscribed.extend(argument),
            "resources/unsubscribe" => {
                argument.map(|uri| self.subscribed.remove(&uri));
            }
            "logging/setLevel" => self.session_level = argument.and_then(|level| rank(&level)),
            _ => {}
        }
    }

    fn register(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        if message["id"].is_null() || is_response {
            return;
        }
        if method == "initialize" {
            self.client_capabilities = params["capabilities"].clone();
        }
        let key = key_of(&message["id"]);
        let token = params["_meta"].get("progressToken").map(key_of);
        if let Some(token) = &token {
            self.tokens.insert(token.clone(), Token { last: f64::NEG_INFINITY, open: true });
        }
        if method == "subscriptions/listen" {
            let filter = params["notifications"].clone();
            self.listens.insert(key.clone(), Listen { filter, acknowledged: false });
        }
        let owed = self.asked.get(&key).map_or(0, |asked| asked.owed) + 1;
        let argument = params["uri"].as_str().or(params["level"].as_str());
        // Of two requests under one id nobody can say which one an answer belongs to.
        let method = if owed > 1 { "" } else { method };
        let asked = Asked {
            revision: self.revision_of(message),
            method: method.to_owned(),
            owed,
            log_level: params["_meta"][revision::LOG_LEVEL].as_str().and_then(rank),
            token,
            takes_tasks: params["_meta"][revision::CLIENT_CAPABILITIES]["extensions"]
                .get("io.modelcontextprotocol/tasks")
                .is_some(),
            argument: argument.map(str::to_owned),
        };
        self.asked.insert(key, asked);
    }

    /// The rules a message of ours puts its answer under: each message speaks for itself.
    fn revision_of(&self, message: &Value) -> Revision {
        if !self.revision.is_modern() {
            return self.revision;
        }
        let claims = message["params"]["_meta"].get(revision::PROTOCOL_VERSION).is_some();
        let is_call = message.get("id").is_some();
        match message["method"].as_str() {
            _ if claims => Revision::V2026_07_28,
            Some("initialize" | "ping" | "notifications/initialized") => Revision::V2025_11_25,
            _ if is_call && self.session_capabilities.is_some() => Revision::V2025_11_25,
            _ => self.revision,
        }
    }

    fn fault(&self, id: &'static str, fault: String, message: &Value) {
        self.findings.fault(id, format!("{fault}: {}", shown_value(message)));
    }
}

/// The id a server may have read from a line that is not JSON to its end.
fn leading_id(line: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(line.get(..100).unwrap_or(line));
    let (_, id) = head.split_once("\"id\":")?;
    id.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// An id or token as a map key that keeps `1` and `"1"` apart.
fn key_of(id: &Value) -> String {
    id.to_string()
}

fn shown_value(message: &Value) -> String {
    shown(message.to_string().as_bytes())
}

/// The severity of a log level, least severe first.
fn rank(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// All log levels, least severe first.
pub const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
