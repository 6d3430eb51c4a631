//! The methods that mean the same in every revision, and the one tool that takes its time.

use crate::ask::Tool;
use crate::catalog;
use crate::server::{
    Answer, Fault, LEVEL_KEY, SUBSCRIPTION_KEY, Server, Session, completed, fault, rank,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const SHARED: [&str; 8] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

fn is_list(method: &str) -> bool {
    method.ends_with("/list") && (SHARED.contains(&method) || method == "tasks/list")
}

/// One running `count`.
pub(crate) struct Job {
    pub(crate) id: Value,
    modern: bool,
    step: u64,
    steps: u64,
    tick: Duration,
    due: Instant,
    token: Option<Value>,
    level: Option<usize>,
}

impl Server {
    /// The methods all revisions have.
    pub(crate) fn shared(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        modern: bool,
    ) -> Option<Answer> {
        if is_list(method) && !params["cursor"].is_null() {
            return Some(Err(fault(-32602)));
        }
        if method.starts_with("tasks/") {
            return self.about_task(id, method, params, modern);
        }
        Some(match method {
            "tools/list" => Ok(json!({"tools": catalog::tools()})),
            "resources/list" => Ok(json!({"resources": catalog::resources()})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": catalog::templates()})),
            "prompts/list" => Ok(json!({"prompts": catalog::prompts()})),
            "resources/read" => self.read(params, modern),
            "prompts/get"
                if params.get("requestState").is_some() && !self.defect.is("states-anywhere") =>
            {
                Err(fault(-32602))
            }
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
        if uri == catalog::PAGE {
            let plain = self.defect.is("plain-pages");
            let kind = if plain { "text/html" } else { catalog::PAGE_TYPE };
            let text = "<!DOCTYPE html><html><title>Counter</title></html>";
            return Ok(json!({"contents": [{"uri": uri, "mimeType": kind, "text": text}]}));
        }
        let code = if modern { -32602 } else { -32002 };
        Err(Fault { code, data: Some(json!({"uri": uri})) })
    }

    fn call(&mut self, id: &Value, params: &Value, modern: bool) -> Option<Answer> {
        let arguments = &params["arguments"];
        if !arguments.is_object() && !arguments.is_null() {
            return Some(Err(fault(-32602)));
        }
        let number = |name: &str| arguments[name].as_f64();
        match params["name"].as_str() {
            Some("add") => {
                let lax = self.defect.is("lax-arguments").then_some(0.0);
                let [Some(a), Some(b)] = [number("a").or(lax), number("b").or(lax)] else {
                    let missing = if number("a").is_none() { "a" } else { "b" };
                    return Some(Ok(catalog::tool_error(&format!("`{missing}` must be a number"))));
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
            Some("work" | "must") => Some(self.work(params, modern)),
            Some("fail") => Some(Ok(catalog::tool_error("it failed, as it always does"))),
            name => match name.and_then(Tool::named) {
                Some(tool) => self.ask(id, tool, params, modern),
                None => Some(Err(fault(-32602))),
            },
        }
    }

    fn start(&mut self, id: &Value, params: &Value, steps: u64, tick: Duration, modern: bool) {
        let session_level = self.session.as_ref().map(|session| session.level);
        let level = if modern { rank(&params["_meta"][LEVEL_KEY]) } else { session_level };
        let token = params["_meta"].get("progressToken").cloned();
        let due = Instant::now() + tick;
        self.jobs.push(Job { id: id.clone(), modern, step: 0, steps, tick, due, token, level });
        self.log(level, modern, "counting");
        self.changed();
    }

    pub(crate) fn next_due(&self) -> Option<Duration> {
        let jobs = self.jobs.iter().map(|job| job.due);
        let due = jobs.chain(self.task_due()).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Advances every job whose tick has come.
    pub(crate) fn run_due(&mut self) {
        self.run_due_tasks();
        let now = Instant::now();
        let (mut due, rest): (Vec<Job>, Vec<Job>) =
            std::mem::take(&mut self.jobs).into_iter().partition(|job| job.due <= now);
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
            let result = if job.modern { completed("tools/call", result) } else { result };
            self.answer(json!({"jsonrpc": "2.0", "id": job.id, "result": result}), "tools/call");
        }
    }

    fn log(&mut self, level: Option<usize>, modern: bool, text: &str) {
        if level.is_some_and(|level| level <= 1) || self.defect.logs_always() {
            self.notify("notifications/message", json!({"level": "info", "data": text}), modern);
        }
    }

    /// The counter has changed: tells the session and every stream that asked.
    pub(crate) fn changed(&mut self) {
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
