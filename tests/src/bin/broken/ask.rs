//! The two tools that ask the client before they answer: as requests of a session, and as
//! `input_required` results whose state is bound to the tool and its arguments.

use crate::catalog;
use crate::server::{Answer, CLIENT_KEY, Fault, Server, fault};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The one question of a call goes under this key.
const KEY: &str = "question";

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
}

impl Tool {
    pub(crate) fn named(name: &str) -> Option<Tool> {
        match name {
            "confirm" => Some(Tool::Confirm),
            "consult" => Some(Tool::Consult),
            _ => None,
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Tool::Confirm => "elicitation",
            Tool::Consult => "sampling",
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
        if modern {
            return self.ask_by_result(tool, params);
        }
        let session = self.session.as_ref()?;
        let exists = tool == Tool::Consult || session.version.as_str() >= "2025-06-18";
        let declared = session.client.get(tool.capability()).is_some();
        if !exists || !declared && !self.defect.is("asks-strangers") {
            return Some(Ok(catalog::tool_error("this client cannot be asked")));
        }
        self.questions += 1;
        let question = json!(format!("ask-{}", self.questions));
        let mut request = self.question(tool);
        request["jsonrpc"] = json!("2.0");
        request["id"] = question.clone();
        self.defect.print(&request);
        self.pending.push(Pending { call: id.clone(), question, tool });
        None
    }

    fn ask_by_result(&self, tool: Tool, params: &Value) -> Option<Answer> {
        let capability = tool.capability();
        let declared = params["_meta"][CLIENT_KEY].get(capability).is_some();
        if !declared && !self.defect.is("asks-strangers") {
            let data = json!({"requiredCapabilities": {capability: {}}});
            return Some(Err(Fault { code: -32021, data: Some(data) }));
        }
        let state = json!(self.state(params));
        let given = params.get("requestState");
        if given.is_some_and(|given| *given != state) && !self.defect.is("trusts-states") {
            return Some(Err(fault(-32602)));
        }
        match params["inputResponses"].get(KEY) {
            Some(response) => self.judge(tool, response).map(Ok),
            None if given.is_some() && self.defect.is("never-asks-again") => {
                Some(Err(fault(-32602)))
            }
            None => Some(Ok(self.input_required(tool, state))),
        }
    }

    fn input_required(&self, tool: Tool, state: Value) -> Value {
        let mut result = json!({
            "resultType": "input_required",
            "inputRequests": {KEY: self.question(tool)},
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

    /// What a retry must repeat unchanged.
    fn state(&self, params: &Value) -> String {
        let mut hasher = DefaultHasher::new();
        if !self.defect.is("unbound-states") {
            params["name"].to_string().hash(&mut hasher);
            params["arguments"].to_string().hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    fn question(&self, tool: Tool) -> Value {
        if tool == Tool::Consult {
            let content = json!({"type": "text", "text": "What is it?"});
            let messages = json!([{"role": "user", "content": content}]);
            let params = json!({"messages": messages, "maxTokens": 100});
            return json!({"method": "sampling/createMessage", "params": params});
        }
        let field = match self.defect.is("nested-form") {
            true => json!({"type": "object", "properties": {}}),
            false => json!({"type": "boolean"}),
        };
        let schema = json!({"type": "object", "properties": {"sure": field}});
        let mut params = json!({"message": "Are you sure?", "requestedSchema": schema});
        if self.defect.is("asks-by-url") {
            params["mode"] = json!("url");
        }
        json!({"method": "elicitation/create", "params": params})
    }

    /// The client's answer to a question of a session.
    pub(crate) fn answered(&mut self, message: &Value) {
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

    fn judge(&self, tool: Tool, response: &Value) -> Option<Value> {
        let text = match tool {
            Tool::Confirm => {
                let sure = response["content"]["sure"].as_bool();
                sure.filter(|_| response["action"] == "accept").map(|sure| format!("sure: {sure}"))
            }
            Tool::Consult => response["content"]["text"].as_str().map(str::to_owned),
        };
        let text = if self.defect.is("ignores-answers") { Some("done".to_owned()) } else { text };
        match text {
            Some(text) => Some(json!({"content": [{"type": "text", "text": text}]})),
            None if self.defect.is("hangs-on-decline") && response["action"] == "decline" => None,
            None => Some(catalog::tool_error("no answer that is of use")),
        }
    }
}
