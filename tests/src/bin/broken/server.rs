//! The protocol, all five revisions of it, as briefly as it can be done correctly.

use crate::ask::Pending;
use crate::catalog;
use crate::defects::{Defect, Outgoing};
use crate::tasks::{self, EXTENSION, Task};
use crate::work::{Job, SHARED};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) struct Server {
    pub(crate) defect: Defect,
    pub(crate) session: Option<Session>,
    pub(crate) listens: Vec<(Value, Value)>,
    pub(crate) jobs: Vec<Job>,
    /// Calls that wait for the client.
    pub(crate) pending: Vec<Pending>,
    pub(crate) tasks: Vec<Task>,
    /// How many tasks there have been.
    pub(crate) begun: u64,
    /// How many questions were put, for their ids.
    pub(crate) questions: u64,
    /// States that have come back and are good for one retry.
    pub(crate) spent: HashSet<String>,
    batch: Option<Vec<Value>>,
}

pub(crate) struct Session {
    pub(crate) version: String,
    /// The capabilities of the client.
    pub(crate) client: Value,
    pub(crate) level: usize,
    pub(crate) subscribed: Vec<String>,
}

/// An error on its way to the client.
pub(crate) struct Fault {
    pub(crate) code: i64,
    pub(crate) data: Option<Value>,
}

pub(crate) type Answer = Result<Value, Fault>;

impl Server {
    pub(crate) fn new(defect: Defect) -> Server {
        Server {
            defect,
            session: None,
            listens: Vec::new(),
            jobs: Vec::new(),
            pending: Vec::new(),
            tasks: Vec::new(),
            begun: 0,
            questions: 0,
            spent: HashSet::new(),
            batch: None,
        }
    }

    pub(crate) fn refuse_line(&mut self) {
        self.refuse(None, fault(-32600), "");
    }

    pub(crate) fn serve_line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Err(_) => self.refuse(None, fault(-32700), ""),
            Ok(Value::Array(batch)) if self.accepts(&batch) => {
                self.batch = Some(Vec::new());
                batch.into_iter().for_each(|message| self.serve(message, true));
                let answers = self.batch.take().unwrap_or_default();
                if !answers.is_empty() {
                    self.defect.print(&Value::Array(answers));
                }
            }
            Ok(message) => self.serve(message, false),
        }
    }

    fn accepts(&self, batch: &[Value]) -> bool {
        let current = self.session.as_ref().is_some_and(|s| s.version == "2025-03-26");
        let modern = batch.iter().any(|message| claims_modern(&message["params"]));
        self.defect.accepts_batch(current && !modern && !batch.is_empty(), batch)
    }

    fn serve(&mut self, message: Value, batched: bool) {
        let Value::Object(message) = message else {
            return self.refuse(None, fault(-32600), "");
        };
        let id = match message.get("id") {
            None => None,
            Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Some(id.clone()),
            Some(id) if self.defect.tolerates_id(id) => Some(id.clone()),
            Some(_) => return self.refuse(None, fault(-32600), ""),
        };
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let method = match message.get("method") {
            None if message.contains_key("result") || message.contains_key("error") => {
                return self.answered(&Value::Object(message));
            }
            Some(Value::String(method)) if message.get("jsonrpc") == Some(&json!("2.0")) => method,
            _ => return self.refuse(id, fault(-32600), ""),
        };
        let Some(id) = id else {
            return self.notice(method, &params);
        };
        if !params.is_object() || self.in_flight(&id) || batched && method == "initialize" {
            return self.refuse(Some(id), fault(-32600), method);
        }
        let modern = claims_modern(&params);
        let answer = match modern {
            true => self.modern(&id, method, &params),
            false => self.legacy(&id, method, &params),
        };
        match answer {
            None => {}
            Some(Err(fault)) => self.refuse(Some(id), fault, method),
            Some(Ok(result)) => {
                let result = if modern { completed(method, result) } else { result };
                self.answer(json!({"jsonrpc": "2.0", "id": id, "result": result}), method);
            }
        }
    }

    fn in_flight(&self, id: &Value) -> bool {
        self.jobs.iter().any(|job| job.id == *id)
            || self.pending.iter().any(|open| open.call == *id)
            || self.listens.iter().any(|(open, _)| open == id)
    }

    fn notice(&mut self, method: &str, params: &Value) {
        if method == "notifications/cancelled" && self.defect.heeds_cancel() {
            let id = &params["requestId"];
            let running = self.jobs.len();
            self.jobs.retain(|job| job.id != *id);
            if self.jobs.len() < running {
                self.changed();
            }
            self.listens.retain(|(open, _)| open != id);
            self.cancel_question(id);
        }
    }

    fn legacy(&mut self, id: &Value, method: &str, params: &Value) -> Option<Answer> {
        match method {
            "initialize" => return Some(self.initialize(params)),
            "ping" => return Some(Ok(json!({}))),
            _ => {}
        }
        let known = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
        if self.session.is_none() {
            let known = known.contains(&method) || SHARED.contains(&method);
            return Some(Err(fault(if known { -32602 } else { -32601 })));
        }
        let uri = params["uri"].as_str().map(str::to_owned);
        let session = self.session.as_mut()?;
        Some(match method {
            "logging/setLevel" => match rank(&params["level"]) {
                Some(level) => {
                    session.level = level;
                    Ok(json!({}))
                }
                None => Err(fault(-32602)),
            },
            "resources/subscribe" | "resources/unsubscribe" => {
                let Some(uri) = uri else {
                    return Some(Err(fault(-32602)));
                };
                session.subscribed.retain(|known| *known != uri);
                if method == "resources/subscribe" {
                    session.subscribed.push(uri);
                }
                Ok(json!({}))
            }
            _ => return self.shared(id, method, params, false),
        })
    }

    fn initialize(&mut self, params: &Value) -> Answer {
        let version = params["protocolVersion"].as_str().ok_or(fault(-32602))?;
        if self.session.is_some() {
            return Err(fault(-32600));
        }
        let newest = LEGACY.last().copied().unwrap_or_default();
        let version = LEGACY.iter().find(|known| **known == version).unwrap_or(&newest);
        self.session = Some(Session {
            version: (*version).to_owned(),
            client: params["capabilities"].clone(),
            level: 1,
            subscribed: Vec::new(),
        });
        let mut capabilities = catalog::capabilities();
        if *version == "2025-11-25" && !self.defect.is("hides-tasks") {
            capabilities["tasks"] =
                json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        }
        let info = json!({"name": "broken", "version": "1.0.0"});
        Ok(json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": info,
        }))
    }

    fn modern(&mut self, id: &Value, method: &str, params: &Value) -> Option<Answer> {
        let meta = &params["_meta"];
        let level = meta.get(LEVEL_KEY);
        let Some(version) = meta[VERSION_KEY].as_str() else {
            return Some(Err(fault(-32602)));
        };
        if !meta[CLIENT_KEY].is_object() || level.is_some_and(|level| rank(level).is_none()) {
            return Some(Err(fault(-32602)));
        }
        if version != MODERN {
            let data = json!({"supported": [MODERN], "requested": version});
            return Some(Err(Fault { code: -32022, data: Some(data) }));
        }
        match method {
            "server/discover" => {
                let mut capabilities = catalog::capabilities();
                if !self.defect.is("hides-tasks") {
                    capabilities["extensions"] = json!({ EXTENSION: {} });
                }
                Some(Ok(json!({"supportedVersions": [MODERN], "capabilities": capabilities})))
            }
            "subscriptions/listen" => self.listen(id, params).err().map(Err),
            _ => self.shared(id, method, params, true),
        }
    }

    fn listen(&mut self, id: &Value, params: &Value) -> Result<(), Fault> {
        let filter = &params["notifications"];
        if !filter.is_object() {
            return Err(fault(-32602));
        }
        let uris = &filter["resourceSubscriptions"];
        let mut granted =
            if uris.is_array() { json!({"resourceSubscriptions": uris}) } else { json!({}) };
        if filter["taskIds"].is_array() {
            if !tasks::declares(params) && !self.defect.is("tasks-for-anyone") {
                return Err(tasks::client_needed());
            }
            granted["taskIds"] = filter["taskIds"].clone();
        }
        self.listens.push((id.clone(), granted.clone()));
        let params = json!({"notifications": granted, "_meta": {SUBSCRIPTION_KEY: id}});
        self.notify("notifications/subscriptions/acknowledged", params, true);
        Ok(())
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value, modern: bool) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.defect.send(Outgoing { message, method, modern });
    }

    pub(crate) fn refuse(&mut self, id: Option<Value>, fault: Fault, method: &str) {
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), json!("2.0"));
        let old =
            self.session.as_ref().is_some_and(|session| session.version.as_str() < "2025-11-25");
        match id {
            Some(id) => message.insert("id".to_owned(), id),
            None if old => message.insert("id".to_owned(), Value::Null),
            None => None,
        };
        let mut error = json!({"code": fault.code, "message": "refused"});
        if let (Some(data), Value::Object(error)) = (fault.data, &mut error) {
            error.insert("data".to_owned(), data);
        }
        message.insert("error".to_owned(), error);
        self.answer(Value::Object(message), method);
    }

    pub(crate) fn answer(&mut self, message: Value, method: &str) {
        match &mut self.batch {
            Some(batch) => batch.push(message),
            None => self.defect.send(Outgoing { message, method, modern: self.session.is_none() }),
        }
    }
}

fn claims_modern(params: &Value) -> bool {
    let meta = &params["_meta"];
    meta.get(VERSION_KEY).is_some() || meta.get(CLIENT_KEY).is_some()
}

/// Adds what every result of the newest revision carries.
pub(crate) fn completed(method: &str, mut result: Value) -> Value {
    if let Value::Object(members) = &mut result {
        members.entry("resultType").or_insert_with(|| json!("complete"));
        let cacheable = method.ends_with("/list") || method == "resources/read";
        if cacheable || method == "server/discover" {
            members.insert("ttlMs".to_owned(), json!(0));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    result
}

pub(crate) fn rank(level: &Value) -> Option<usize> {
    LEVELS.iter().position(|known| level == known)
}

pub(crate) fn fault(code: i64) -> Fault {
    Fault { code, data: None }
}
