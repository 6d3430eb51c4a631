//! The protocol, all five revisions of it, as briefly as it can be done correctly.

use crate::catalog;
use crate::defects::{Defect, Outgoing};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) struct Server {
    defect: Defect,
    session: Option<Session>,
    listens: Vec<(Value, Value)>,
    jobs: Vec<Job>,
    batch: Option<Vec<Value>>,
}

struct Session {
    version: String,
    level: usize,
    subscribed: Vec<String>,
}

/// One running `count`.
struct Job {
    id: Value,
    modern: bool,
    step: u64,
    steps: u64,
    tick: Duration,
    due: Instant,
    token: Option<Value>,
    level: Option<usize>,
}

/// An error on its way to the client.
struct Fault {
    code: i64,
    data: Option<Value>,
}

type Answer = Result<Value, Fault>;

impl Server {
    pub(crate) fn new(defect: Defect) -> Server {
        Server {
            defect,
            session: None,
            listens: Vec::new(),
            jobs: Vec::new(),
            batch: None,
        }
    }

    pub(crate) fn refuse_line(&mut self) {
        self.refuse(None, fault(-32600), "");
    }

    pub(crate) fn serve_line(&mut self, line: &[u8]) {
        let line = line
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(line)
            .trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Err(_) => self.refuse(None, fault(-32700), ""),
            Ok(Value::Array(batch)) if self.accepts(&batch) => {
                self.batch = Some(Vec::new());
                batch
                    .into_iter()
                    .for_each(|message| self.serve(message, true));
                let answers = self.batch.take().unwrap_or_default();
                if !answers.is_empty() {
                    self.defect.print(&Value::Array(answers));
                }
            }
            Ok(message) => self.serve(message, false),
        }
    }

    fn accepts(&self, batch: &[Value]) -> bool {
        let current = self
            .session
            .as_ref()
            .is_some_and(|s| s.version == "2025-03-26");
        let modern = batch
            .iter()
            .any(|message| claims_modern(&message["params"]));
        self.defect
            .accepts_batch(current && !modern && !batch.is_empty(), batch)
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
            None if message.contains_key("result") || message.contains_key("error") => return,
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
                let result = if modern {
                    completed(method, result)
                } else {
                    result
                };
                self.answer(
                    json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    method,
                );
            }
        }
    }

    fn in_flight(&self, id: &Value) -> bool {
        self.jobs.iter().any(|job| job.id == *id) || self.listens.iter().any(|(open, _)| open == id)
    }

    fn notice(&mut self, method: &str, params: &Value) {
        if method == "notifications/cancelled" && self.defect.heeds_cancel() {
            let id = &params["requestId"];
            self.jobs.retain(|job| job.id != *id);
            self.listens.retain(|(open, _)| open != id);
        }
    }

    fn legacy(&mut self, id: &Value, method: &str, params: &Value) -> Option<Answer> {
        match method {
            "initialize" => return Some(self.initialize(params)),
            "ping" => return Some(Ok(json!({}))),
            _ => {}
        }
        let known = [
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
        ];
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
        let version = LEGACY
            .iter()
            .find(|known| **known == version)
            .unwrap_or(&newest);
        let session = Session {
            version: (*version).to_owned(),
            level: 1,
            subscribed: Vec::new(),
        };
        self.session = Some(session);
        let info = json!({"name": "broken", "version": "1.0.0"});
        Ok(json!({
            "protocolVersion": version,
            "capabilities": catalog::capabilities(),
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
            return Some(Err(Fault {
                code: -32022,
                data: Some(data),
            }));
        }
        match method {
            "server/discover" => Some(Ok(json!({
                "supportedVersions": [MODERN],
                "capabilities": catalog::capabilities(),
            }))),
            "subscriptions/listen" => self.listen(id, &params["notifications"]).err().map(Err),
            _ => self.shared(id, method, params, true),
        }
    }

    fn listen(&mut self, id: &Value, filter: &Value) -> Result<(), Fault> {
        if !filter.is_object() {
            return Err(fault(-32602));
        }
        let uris = &filter["resourceSubscriptions"];
        let granted = if uris.is_array() {
            json!({"resourceSubscriptions": uris})
        } else {
            json!({})
        };
        self.listens.push((id.clone(), granted.clone()));
        let params = json!({"notifications": granted, "_meta": {SUBSCRIPTION_KEY: id}});
        self.notify("notifications/subscriptions/acknowledged", params, true);
        Ok(())
    }

    /// The methods all revisions have.
    fn shared(&mut self, id: &Value, method: &str, params: &Value, modern: bool) -> Option<Answer> {
        if method.ends_with("/list") && !params["cursor"].is_null() && SHARED.contains(&method) {
            return Some(Err(fault(-32602)));
        }
        Some(match method {
            "tools/list" => Ok(json!({"tools": catalog::tools()})),
            "resources/list" => Ok(json!({"resources": catalog::resources()})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": catalog::templates()})),
            "prompts/list" => Ok(json!({"prompts": catalog::prompts()})),
            "resources/read" => self.read(params, modern),
            "prompts/get" => prompt(params),
            "completion/complete" => complete(params),
            "tools/call" => return self.call(id, params, modern),
            _ => Err(fault(-32601)),
        })
    }

    fn read(&self, params: &Value, modern: bool) -> Answer {
        let uri = params["uri"].as_str().ok_or(fault(-32602))?;
        if uri == catalog::COUNTER {
            let text = self.jobs.len().to_string();
            return Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}));
        }
        let code = if modern { -32602 } else { -32002 };
        Err(Fault {
            code,
            data: Some(json!({"uri": uri})),
        })
    }

    fn call(&mut self, id: &Value, params: &Value, modern: bool) -> Option<Answer> {
        let arguments = &params["arguments"];
        if !arguments.is_object() && !arguments.is_null() {
            return Some(Err(fault(-32602)));
        }
        let number = |name: &str| arguments[name].as_f64();
        match params["name"].as_str() {
            Some("add") => {
                let [Some(a), Some(b)] = [number("a"), number("b")] else {
                    let missing = if number("a").is_none() { "a" } else { "b" };
                    return Some(Ok(catalog::tool_error(&format!(
                        "`{missing}` must be a number"
                    ))));
                };
                Some(Ok(catalog::tool_result(json!({"sum": a + b}))))
            }
            Some("count") => {
                let whole =
                    |name: &str| arguments[name].as_u64().filter(|n| (1..=3600).contains(n));
                let [Some(steps), Some(tick_ms)] = [whole("steps"), whole("tick_ms")] else {
                    return Some(Ok(catalog::tool_error("`steps` must be from 1 to 3600")));
                };
                self.start(id, params, steps, Duration::from_millis(tick_ms), modern);
                None
            }
            Some("fail") => Some(Ok(catalog::tool_error("it failed, as it always does"))),
            _ => Some(Err(fault(-32602))),
        }
    }

    fn start(&mut self, id: &Value, params: &Value, steps: u64, tick: Duration, modern: bool) {
        let session_level = self.session.as_ref().map(|session| session.level);
        let level = if modern {
            rank(&params["_meta"][LEVEL_KEY])
        } else {
            session_level
        };
        let token = params["_meta"].get("progressToken").cloned();
        let due = Instant::now() + tick;
        self.jobs.push(Job {
            id: id.clone(),
            modern,
            step: 0,
            steps,
            tick,
            due,
            token,
            level,
        });
        self.log(level, modern, "counting");
        self.changed();
    }

    pub(crate) fn next_due(&self) -> Option<Duration> {
        let due = self.jobs.iter().map(|job| job.due).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Advances every job whose tick has come.
    pub(crate) fn run_due(&mut self) {
        let now = Instant::now();
        let (mut due, rest): (Vec<Job>, Vec<Job>) = std::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|job| job.due <= now);
        self.jobs = rest;
        for job in &mut due {
            job.step += 1;
            job.due += job.tick;
            if let Some(token) = &job.token {
                let params =
                    json!({"progressToken": token, "progress": job.step, "total": job.steps});
                self.notify("notifications/progress", params, job.modern);
            }
        }
        let (finished, running): (Vec<Job>, Vec<Job>) =
            due.into_iter().partition(|job| job.step == job.steps);
        self.jobs.extend(running);
        for job in finished {
            self.log(job.level, job.modern, "counted");
            self.changed();
            let result = catalog::tool_result(json!({"steps": job.steps}));
            let result = if job.modern {
                completed("tools/call", result)
            } else {
                result
            };
            self.answer(
                json!({"jsonrpc": "2.0", "id": job.id, "result": result}),
                "tools/call",
            );
        }
    }

    fn log(&mut self, level: Option<usize>, modern: bool, text: &str) {
        if level.is_some_and(|level| level <= 1) || self.defect.logs_always() {
            self.notify(
                "notifications/message",
                json!({"level": "info", "data": text}),
                modern,
            );
        }
    }

    /// The counter has changed: tells the session and every stream that asked.
    fn changed(&mut self) {
        let uri = catalog::COUNTER;
        let method = "notifications/resources/updated";
        let wanted = |session: &Session| session.subscribed.iter().any(|known| known == uri);
        if self.session.as_ref().is_some_and(wanted) || self.defect.updates_always() {
            self.notify(method, json!({"uri": uri}), false);
        }
        for (id, granted) in self.listens.clone() {
            let uris = granted["resourceSubscriptions"].as_array();
            if uris.is_some_and(|uris| uris.contains(&json!(uri))) {
                let params = json!({"uri": uri, "_meta": {SUBSCRIPTION_KEY: id}});
                self.notify(method, params, true);
            }
        }
    }

    fn notify(&mut self, method: &str, params: Value, modern: bool) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.defect.send(Outgoing {
            message,
            method,
            modern,
        });
    }

    fn refuse(&mut self, id: Option<Value>, fault: Fault, method: &str) {
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), json!("2.0"));
        let old = self
            .session
            .as_ref()
            .is_some_and(|session| session.version.as_str() < "2025-11-25");
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

    fn answer(&mut self, message: Value, method: &str) {
        match &mut self.batch {
            Some(batch) => batch.push(message),
            None => self.defect.send(Outgoing {
                message,
                method,
                modern: self.session.is_none(),
            }),
        }
    }
}

const SHARED: [&str; 8] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

fn claims_modern(params: &Value) -> bool {
    let meta = &params["_meta"];
    meta.get(VERSION_KEY).is_some() || meta.get(CLIENT_KEY).is_some()
}

/// Adds what every result of the newest revision carries.
fn completed(method: &str, mut result: Value) -> Value {
    if let Value::Object(members) = &mut result {
        members.insert("resultType".to_owned(), json!("complete"));
        let cacheable = method.ends_with("/list") || method == "resources/read";
        if cacheable || method == "server/discover" {
            members.insert("ttlMs".to_owned(), json!(0));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    result
}

fn prompt(params: &Value) -> Answer {
    let name = params["arguments"]["name"].as_str();
    match (params["name"].as_str(), name) {
        (Some("greet"), Some(name)) => {
            let content = json!({"type": "text", "text": format!("Greet {name}.")});
            Ok(json!({"messages": [{"role": "user", "content": content}]}))
        }
        _ => Err(fault(-32602)),
    }
}

fn complete(params: &Value) -> Answer {
    let reference = &params["ref"];
    let known = match reference["type"].as_str() {
        Some("ref/prompt") => reference["name"] == "greet",
        Some("ref/resource") => reference["uri"] == "memory:square/{number}",
        _ => false,
    };
    if !known || !params["argument"]["value"].is_string() {
        return Err(fault(-32602));
    }
    Ok(json!({"completion": {"values": ["world"], "total": 1, "hasMore": false}}))
}

fn rank(level: &Value) -> Option<usize> {
    LEVELS.iter().position(|known| level == known)
}

fn fault(code: i64) -> Fault {
    Fault { code, data: None }
}
