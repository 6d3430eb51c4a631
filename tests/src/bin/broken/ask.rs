//! The two tools that ask the client before they answer: as requests of a session, and as
//! `input_required` results whose state is bound to the tool and its arguments.

use crate::catalog;
use crate::server::{Answer, CLIENT_KEY, Fault, Server, fault};
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The one question of a call goes under this key.
const KEY: &str = "question";

/// More open questions than a server would keep that keeps them.
const KEPT: u64 = 200;

/// A call that waits for the client.
pub(crate) struct Pending {
    pub(crate) call: Value,
    question: Value,
    tool: Tool,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    Confirm,
    Consult,
    /// Both of them at once.
    Confer,
    Visit,
}

impl Tool {
    pub(crate) fn named(name: &str) -> Option<Tool> {
        match name {
            "confirm" => Some(Tool::Confirm),
            "consult" => Some(Tool::Consult),
            "confer" => Some(Tool::Confer),
            "visit" => Some(Tool::Visit),
            _ => None,
        }
    }

    fn capability(self) -> Value {
        match self {
            Tool::Visit => json!({"elicitation": {"url": {}}}),
            Tool::Consult => json!({"sampling": {}}),
            Tool::Confirm | Tool::Confer => json!({"elicitation": {}}),
        }
    }

    fn is_declared(self, capabilities: &Value) -> bool {
        match self {
            Tool::Visit => capabilities["elicitation"].get("url").is_some(),
            Tool::Consult => capabilities.get("sampling").is_some(),
            Tool::Confirm | Tool::Confer => capabilities.get("elicitation").is_some(),
        }
    }

    /// What it asks, by key.
    fn parts(self) -> Vec<(&'static str, Tool)> {
        match self {
            Tool::Confer => vec![("sure", Tool::Confirm), ("what", Tool::Consult)],
            one => vec![(KEY, one)],
        }
    }
}

impl Server {
    /// `None` if the answer comes later, or never.
    pub(crate) fn ask(
        &mut self,
        id: &Value,
        tool: Tool,
        params: &Value,
        modern: bool,
    ) -> Option<Answer> {
        if !params["arguments"]["number"].is_u64() {
            return Some(Ok(catalog::tool_error("`number` must be a whole number")));
        }
        self.questions += 1;
        if modern {
            return self.ask_by_result(tool, params);
        }
        let session = self.session.as_ref()?;
        let exists = match tool {
            Tool::Consult => true,
            Tool::Confirm => session.version.as_str() >= "2025-06-18",
            Tool::Visit => session.version.as_str() >= "2025-11-25",
            Tool::Confer => false,
        };
        let declared = tool.is_declared(&session.client);
        if !exists || !declared && !self.defect.is("asks-strangers") {
            return Some(Ok(catalog::tool_error("this client cannot be asked")));
        }
        let question = json!(format!("ask-{}", self.questions));
        let mut request = self.question(tool);
        request["jsonrpc"] = json!("2.0");
        request["id"] = question.clone();
        if tool == Tool::Visit {
            request["params"]["elicitationId"] = question.clone();
        }
        self.defect.print(&request);
        if tool == Tool::Visit && self.defect.is("completes-strangers") {
            let params = json!({"elicitationId": "a-stranger"});
            self.notify("notifications/elicitation/complete", params, false);
        }
        self.pending.push(Pending { call: id.clone(), question, tool });
        None
    }

    fn ask_by_result(&mut self, tool: Tool, params: &Value) -> Option<Answer> {
        let declared = tool.is_declared(&params["_meta"][CLIENT_KEY]);
        if !declared && !self.defect.is("asks-strangers") {
            let data = json!({"requiredCapabilities": tool.capability()});
            return Some(Err(Fault { code: -32021, data: Some(data) }));
        }
        if self.defect.is("keeps-questions") && self.questions > KEPT {
            return Some(Err(fault(-32603)));
        }
        let responses = params.get("inputResponses");
        let given = params.get("requestState");
        let opened = given.map(|given| self.opened(params, given));
        let mut known = match opened {
            Some(Some(known)) => known,
            Some(None) if !self.defect.is("trusts-states") => return Some(Err(fault(-32602))),
            None if responses.is_some() && self.defect.is("needs-states") => {
                return Some(Err(fault(-32602)));
            }
            _ => json!({}),
        };
        // Answers to a call that says so count once.
        if let Some(given) = given.filter(|_| params["arguments"]["once"] == true)
            && !self.spent.insert(given.to_string())
            && !self.defect.is("reuses-states")
        {
            return Some(Err(fault(-32602)));
        }
        for (key, _) in tool.parts() {
            if let Some(response) = responses.and_then(|responses| responses.get(key)) {
                known[key] = response.clone();
            }
        }
        let open = tool.parts().into_iter().filter(|(key, _)| known.get(key).is_none());
        let open: Vec<_> = open.collect();
        if open.is_empty() {
            return self.judge_all(tool, &known).map(Ok);
        }
        if given.is_some() && self.defect.is("never-asks-again") {
            return Some(Err(fault(-32602)));
        }
        if self.defect.is("forgets-answers") {
            known = json!({});
        }
        Some(Ok(self.input_required(&open, self.state(params, &known))))
    }

    fn input_required(&self, open: &[(&str, Tool)], state: String) -> Value {
        let requests = open.iter().map(|(key, tool)| ((*key).to_owned(), self.question(*tool)));
        let mut result = json!({
            "resultType": "input_required",
            "inputRequests": requests.collect::<Map<_, _>>(),
            "requestState": state,
        });
        if self.defect.is("asks-the-unknown") {
            result["inputRequests"]["other"] = json!({"method": "tools/list"});
        }
        if self.defect.is("hinted-question") {
            result["ttlMs"] = json!(0);
        }
        if self.defect.is("asks-nothing") {
            return json!({"resultType": "input_required"});
        }
        result
    }

    /// What a retry must repeat unchanged: what is known, and a digest of what it belongs to.
    fn state(&self, params: &Value, known: &Value) -> String {
        let mut hasher = DefaultHasher::new();
        if !self.defect.is("unbound-states") {
            params["name"].to_string().hash(&mut hasher);
            params["arguments"].to_string().hash(&mut hasher);
        }
        if self.defect.is("states-of-one-process") {
            std::process::id().hash(&mut hasher);
        }
        let known = known.to_string();
        known.hash(&mut hasher);
        let hex: String = known.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("{:016x}{hex}", hasher.finish())
    }

    /// What a state says is known, if it is the one we would have made.
    fn opened(&self, params: &Value, state: &Value) -> Option<Value> {
        let hex = state.as_str()?.get(16..)?.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let known = serde_json::from_slice(&hex.map(byte).collect::<Option<Vec<u8>>>()?).ok()?;
        (*state == self.state(params, &known)).then_some(known)
    }

    pub(crate) fn question(&self, tool: Tool) -> Value {
        if tool == Tool::Consult {
            let content = json!({"type": "text", "text": "What is it?"});
            let messages = json!([{"role": "user", "content": content}]);
            let mut params = json!({"messages": messages, "maxTokens": 100});
            if self.defect.is("offers-tools") {
                let schema = json!({"type": "object"});
                params["tools"] = json!([{"name": "calculate", "inputSchema": schema}]);
            }
            return json!({"method": "sampling/createMessage", "params": params});
        }
        if tool == Tool::Visit {
            let url = if self.defect.is("bad-url") { "sign in" } else { "https://example.com/" };
            let params = json!({"mode": "url", "message": "Sign in.", "url": url});
            return json!({"method": "elicitation/create", "params": params});
        }
        let field = match self.defect.is("nested-form") {
            true => json!({"type": "object", "properties": {}}),
            false => json!({"type": "boolean"}),
        };
        let mut schema = json!({"type": "object", "properties": {"sure": field}});
        if self.defect.is("asks-for-secrets") {
            schema["properties"]["password"] = json!({"type": "string"});
        }
        let mut params = json!({"message": "Are you sure?", "requestedSchema": schema});
        if self.defect.is("asks-by-url") {
            params["mode"] = json!("url");
        }
        json!({"method": "elicitation/create", "params": params})
    }

    /// The client's answer to a question of a session.
    pub(crate) fn answered(&mut self, message: &Value) {
        if self.answers_task(message) {
            return;
        }
        let Some(position) = self.pending.iter().position(|open| open.question == message["id"])
        else {
            return;
        };
        let Pending { call, tool, .. } = self.pending.remove(position);
        if let Some(result) = self.judge(tool, &message["result"]) {
            self.answer(json!({"jsonrpc": "2.0", "id": call, "result": result}), "tools/call");
        }
    }

    pub(crate) fn cancel_question(&mut self, call: &Value) {
        let Some(position) = self.pending.iter().position(|open| open.call == *call) else {
            return;
        };
        self.pending.remove(position);
        if self.defect.is("answers-cancelled") {
            let result = catalog::tool_error("cancelled");
            self.answer(json!({"jsonrpc": "2.0", "id": call, "result": result}), "tools/call");
        }
    }

    /// The answers to all parts of a question, one after the other; the first that fails counts.
    fn judge_all(&self, tool: Tool, known: &Value) -> Option<Value> {
        let mut texts = Vec::new();
        for (key, part) in tool.parts() {
            let result = self.judge(part, &known[key])?;
            if result["isError"] == true {
                return Some(result);
            }
            texts.push(result["content"][0]["text"].as_str().unwrap_or_default().to_owned());
        }
        Some(json!({"content": [{"type": "text", "text": texts.join(", ")}]}))
    }

    pub(crate) fn judge(&self, tool: Tool, response: &Value) -> Option<Value> {
        let text = match tool {
            Tool::Confirm => {
                let sure = response["content"]["sure"].as_bool();
                sure.filter(|_| response["action"] == "accept").map(|sure| format!("sure: {sure}"))
            }
            Tool::Consult => response["content"]["text"].as_str().map(str::to_owned),
            Tool::Visit => (response["action"] == "accept").then(|| "visited".to_owned()),
            Tool::Confer => None,
        };
        let text = if self.defect.is("ignores-answers") { Some("done".to_owned()) } else { text };
        match text {
            Some(text) => Some(json!({"content": [{"type": "text", "text": text}]})),
            None if self.defect.is("hangs-on-decline") && response["action"] == "decline" => None,
            None => Some(catalog::tool_error("no answer that is of use")),
        }
    }
}
