//! Calls that go on after they have been answered: tasks of 2025-11-25, and of the extension of
//! 2026-07-28. One tool has them all; its argument says how it works.

use crate::ask::Tool;
use crate::catalog;
use crate::server::{Answer, CLIENT_KEY, Fault, SUBSCRIPTION_KEY, Server, fault};
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// Long enough to be seen working.
const MOMENT: Duration = Duration::from_millis(60);

pub(crate) struct Task {
    id: String,
    how: String,
    modern: bool,
    begun: Instant,
    status: &'static str,
    /// When there is something to do next.
    due: Option<Instant>,
    token: Option<Value>,
    /// How many questions have been put.
    asked: u64,
    /// The one that is open: its key, or in a session its id.
    question: Option<String>,
    outcome: Option<Result<Value, i64>>,
    /// Requests for the result.
    waiting: Vec<Value>,
}

impl Task {
    fn is_over(&self) -> bool {
        ["completed", "failed", "cancelled"].contains(&self.status)
    }

    /// How many questions it puts in all.
    fn questions(&self) -> u64 {
        match self.how.as_str() {
            "ask" => 1,
            "ask-twice" => 2,
            _ => 0,
        }
    }
}

pub(crate) fn declares(params: &Value) -> bool {
    params["_meta"][CLIENT_KEY]["extensions"].get(EXTENSION).is_some()
}

pub(crate) fn client_needed() -> Fault {
    let data = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    Fault { code: -32021, data: Some(data) }
}

fn related(task: &Task) -> Value {
    json!({RELATED: {"taskId": task.id}})
}

/// What the work comes to.
fn outcome(how: &str) -> Result<Value, i64> {
    match how {
        "brief" => Ok(json!({"content": [{"type": "text", "text": "worked"}]})),
        "break" => Err(-32603),
        "fail" => Ok(catalog::tool_error("it failed, as it always does")),
        _ => Ok(catalog::tool_error("only as a task")),
    }
}

impl Server {
    fn is_2025_11(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.version == "2025-11-25")
    }

    /// A call of the tool that works, as a task if it can be one.
    pub(crate) fn work(&mut self, params: &Value, modern: bool) -> Answer {
        let how = params["arguments"]["how"].as_str().unwrap_or("brief").to_owned();
        let token = params["_meta"].get("progressToken").cloned();
        let wanted = match modern {
            true => declares(params) || self.defect.is("tasks-for-strangers"),
            false => self.is_2025_11() && params.get("task").is_some(),
        };
        if wanted {
            return Ok(self.begin(how, token, modern));
        }
        if params["name"] == "must" && modern {
            return Err(client_needed());
        }
        if params["name"] == "must" && self.is_2025_11() {
            return Err(fault(-32601));
        }
        if let Some(token) = token {
            let params = json!({"progressToken": token, "progress": 1});
            self.notify("notifications/progress", params, modern);
        }
        outcome(&how).map_err(fault)
    }

    fn begin(&mut self, how: String, token: Option<Value>, modern: bool) -> Value {
        self.begun += 1;
        let random = || RandomState::new().hash_one(self.begun);
        let id = match self.defect.is("guessable-tasks") {
            true => format!("task-{:016}", self.begun),
            false => format!("{:016x}{:016x}", random(), random()),
        };
        let status = if self.defect.is("submitted-tasks") { "submitted" } else { "working" };
        let due = (how != "endless").then(|| Instant::now() + MOMENT);
        let task = Task {
            id,
            how,
            modern,
            begun: Instant::now(),
            status,
            due,
            token,
            asked: 0,
            question: None,
            outcome: None,
            waiting: Vec::new(),
        };
        let mut shown = self.shown(&task);
        self.tasks.push(task);
        if modern {
            shown["resultType"] = json!("task");
            return shown;
        }
        json!({ "task": shown })
    }

    fn shown(&self, task: &Task) -> Value {
        let time = "2026-11-30T12:00:00Z";
        let mut shown = json!({"taskId": task.id, "status": task.status, "createdAt": time});
        if !self.defect.is("undated-tasks") {
            shown["lastUpdatedAt"] = json!(time);
        }
        shown[if task.modern { "ttlMs" } else { "ttl" }] = Value::Null;
        if !task.modern {
            return shown;
        }
        match &task.outcome {
            Some(Ok(_)) if self.defect.is("withheld-results") => {}
            Some(Ok(result)) => shown["result"] = result.clone(),
            Some(Err(code)) => shown["error"] = json!({"code": code, "message": "refused"}),
            None => {}
        }
        if let Some(key) = &task.question {
            shown["inputRequests"] = json!({ key: self.question(Tool::Confirm) });
        }
        shown
    }

    /// A method of tasks. `None` if it is answered later.
    pub(crate) fn about_task(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        modern: bool,
    ) -> Option<Answer> {
        let is_known = match method {
            "tasks/get" | "tasks/cancel" => modern || self.is_2025_11(),
            "tasks/update" => modern,
            _ => self.is_2025_11() && !modern,
        };
        if !is_known {
            return Some(Err(fault(-32601)));
        }
        if modern && !declares(params) && !self.defect.is("tasks-for-anyone") {
            return Some(Err(client_needed()));
        }
        if method == "tasks/list" {
            let unlisted = usize::from(self.defect.is("unlisted-tasks"));
            let tasks = self.tasks.iter().rev().skip(unlisted).map(|task| self.shown(task));
            return Some(Ok(json!({"tasks": tasks.collect::<Vec<_>>()})));
        }
        let late = |task: &Task| {
            self.defect.is("late-tasks") && task.how == "brief" && task.begun.elapsed() < MOMENT
        };
        let found = |task: &Task| params["taskId"] == *task.id && !late(task);
        let Some(place) = self.tasks.iter().position(found) else {
            return Some(self.unknown_task(params, modern));
        };
        match method {
            "tasks/get" => Some(Ok(self.get(place))),
            "tasks/cancel" => Some(self.cancel_task(place)),
            "tasks/update" => Some(Ok(self.update(place, &params["inputResponses"]))),
            _ => self.result(place, id),
        }
    }

    fn unknown_task(&self, params: &Value, modern: bool) -> Answer {
        let id = params["taskId"].as_str().unwrap_or_default();
        let found = self.defect.is("guessable-tasks") && id.starts_with("task-");
        if !found && !self.defect.is("any-task") {
            return Err(fault(-32602));
        }
        let ttl = if modern { "ttlMs" } else { "ttl" };
        let time = "2026-11-30T12:00:00Z";
        Ok(json!({
            "taskId": id, "status": "working", "createdAt": time, "lastUpdatedAt": time, ttl: null,
        }))
    }

    fn get(&mut self, place: usize) -> Value {
        let task = &self.tasks[place];
        let mut shown = self.shown(task);
        if self.defect.is("reviving-tasks") && task.asked == 99 {
            shown["status"] = json!("working");
        }
        if self.defect.is("tasks-in-tasks") {
            shown["resultType"] = json!("task");
        }
        let is_over = task.is_over();
        if is_over && self.defect.is("progress-after-tasks") {
            self.progress(place, 2);
        }
        if is_over && self.defect.is("reviving-tasks") {
            self.tasks[place].asked = 99;
        }
        shown
    }

    fn cancel_task(&mut self, place: usize) -> Answer {
        let task = &mut self.tasks[place];
        let (was_over, modern) = (task.is_over(), task.modern);
        if !was_over || self.defect.is("cancels-the-dead") {
            (task.status, task.due, task.question) = ("cancelled", None, None);
            task.outcome = None;
            self.ended(place);
        }
        match modern {
            true if self.defect.is("talkative-tasks") => Ok(self.shown(&self.tasks[place])),
            true => Ok(json!({})),
            false if was_over && !self.defect.is("cancels-the-dead") => Err(fault(-32602)),
            false => Ok(self.shown(&self.tasks[place])),
        }
    }

    fn update(&mut self, place: usize, responses: &Value) -> Value {
        let key = self.tasks[place].question.clone();
        if let Some(response) = key.and_then(|key| responses.get(key)) {
            self.go_on(place, &response.clone());
        }
        json!({})
    }

    fn result(&mut self, place: usize, id: &Value) -> Option<Answer> {
        let task = &mut self.tasks[place];
        if !task.is_over() && self.defect.is("hasty-results") {
            let content = json!({"content": [], "_meta": related(task)});
            return Some(Ok(content));
        }
        task.waiting.push(id.clone());
        if task.is_over() {
            self.ended(place);
        }
        None
    }

    /// The client's answer to the question that is open.
    fn go_on(&mut self, place: usize, response: &Value) {
        let judged = self.judge(Tool::Confirm, response);
        let task = &mut self.tasks[place];
        task.question = None;
        task.status = "working";
        task.due = Some(Instant::now() + MOMENT);
        if task.asked >= task.questions() {
            task.due = None;
            self.finish(place, judged.ok_or(-32603));
        }
    }

    /// Whether a response was to a question of a task.
    pub(crate) fn answers_task(&mut self, message: &Value) -> bool {
        let asks = |task: &Task| !task.modern && task.question.as_deref() == message["id"].as_str();
        let place = self.tasks.iter().position(|task| task.question.is_some() && asks(task));
        place.inspect(|place| self.go_on(*place, &message["result"])).is_some()
    }

    pub(crate) fn task_due(&self) -> Option<Instant> {
        self.tasks.iter().filter_map(|task| task.due).min()
    }

    pub(crate) fn run_due_tasks(&mut self) {
        let now = Instant::now();
        for place in 0..self.tasks.len() {
            let task = &mut self.tasks[place];
            if task.due.is_none_or(|due| due > now) {
                continue;
            }
            task.due = None;
            if task.asked < task.questions() {
                self.ask_in_task(place);
            } else {
                let outcome = outcome(&task.how);
                self.progress(place, 1);
                self.finish(place, outcome);
            }
        }
    }

    fn progress(&mut self, place: usize, progress: u64) {
        let task = &self.tasks[place];
        let Some(token) = task.token.clone().filter(|_| !task.modern) else { return };
        let params = json!({"progressToken": token, "progress": progress, "_meta": related(task)});
        if !self.defect.is("silent-tasks") {
            self.notify("notifications/progress", params, false);
        }
    }

    fn ask_in_task(&mut self, place: usize) {
        self.questions += 1;
        let number = self.questions;
        let mut request = self.question(Tool::Confirm);
        let reuses = self.defect.is("reuses-keys");
        let task = &mut self.tasks[place];
        task.asked += 1;
        task.status = "input_required";
        let key = if reuses && task.modern { "ask".to_owned() } else { format!("ask-{number}") };
        task.question = Some(key.clone());
        if !task.modern {
            request["jsonrpc"] = json!("2.0");
            request["id"] = json!(key);
            if !self.defect.is("stray-questions") {
                request["params"]["_meta"] = related(task);
            }
            self.defect.print(&request);
        }
    }

    fn finish(&mut self, place: usize, outcome: Result<Value, i64>) {
        let reported = matches!(&outcome, Ok(result) if result["isError"] == true);
        let task = &mut self.tasks[place];
        let fails = outcome.is_err() || reported && !task.modern;
        task.status = if fails { "failed" } else { "completed" };
        task.outcome = Some(outcome);
        if reported && task.modern && self.defect.is("failing-tools") {
            (task.status, task.outcome) = ("failed", Some(Err(-32603)));
        }
        self.ended(place);
    }

    /// Tells everybody who waits for the end of a task.
    fn ended(&mut self, place: usize) {
        let task = &mut self.tasks[place];
        let (waiting, outcome) = (std::mem::take(&mut task.waiting), task.outcome.clone());
        let (id, modern, meta) = (json!(task.id), task.modern, related(task));
        for request in waiting {
            match outcome.clone().unwrap_or(Err(-32600)) {
                Err(code) => self.refuse(Some(request), fault(code), "tasks/result"),
                Ok(mut result) => {
                    if !self.defect.is("stray-results") {
                        result["_meta"] = meta.clone();
                    }
                    if self.defect.is("other-results") {
                        result["content"] = json!([{"type": "text", "text": "other"}]);
                    }
                    let answer = json!({"jsonrpc": "2.0", "id": request, "result": result});
                    self.answer(answer, "tasks/result");
                }
            }
        }
        let told = |granted: &Value| {
            granted["taskIds"].as_array().is_some_and(|ids| ids.contains(&id))
                || self.defect.is("tells-of-any-task") && granted["taskIds"].is_array()
        };
        let listens = self.listens.iter().filter(|(_, granted)| modern && told(granted));
        let listens: Vec<Value> = listens.map(|(listen, _)| listen.clone()).collect();
        for listen in listens {
            let mut params = self.shown(&self.tasks[place]);
            params["_meta"] = json!({ SUBSCRIPTION_KEY: listen });
            self.notify("notifications/tasks", params, true);
        }
    }
}
