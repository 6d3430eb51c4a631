//! What may arrive from the server without being an answer.

use crate::revision::{Revision, SUBSCRIPTION_ID};
use crate::watch::{Listen, Watch, key_of, rank};
use serde_json::{Value, json};

/// Notifications a server may send, with the first revision that has them.
const NOTIFICATIONS: &[(&str, Revision)] = &[
    ("notifications/cancelled", Revision::V2024_11_05),
    ("notifications/progress", Revision::V2024_11_05),
    ("notifications/message", Revision::V2024_11_05),
    ("notifications/resources/updated", Revision::V2024_11_05),
    ("notifications/resources/list_changed", Revision::V2024_11_05),
    ("notifications/tools/list_changed", Revision::V2024_11_05),
    ("notifications/prompts/list_changed", Revision::V2024_11_05),
    ("notifications/tasks/status", Revision::V2025_11_25),
    ("notifications/elicitation/complete", Revision::V2025_11_25),
];

impl Watch {
    pub(super) fn judge_notification(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        if !self.revision.is_modern() {
            let known = NOTIFICATIONS
                .iter()
                .any(|(name, since)| *name == method && *since <= self.revision);
            self.require("S-033", known, "a notification this revision does not have", message);
        }
        match method {
            "notifications/progress" => self.judge_progress(message),
            "notifications/message" => self.judge_log(message),
            "notifications/cancelled" => self.judge_cancelled(message),
            "notifications/subscriptions/acknowledged" => self.judge_acknowledged(message),
            "notifications/elicitation/complete" => {
                let id = key_of(&message["params"]["elicitationId"]);
                let known = self.elicitations.contains(&id);
                self.require("S-194", known, "this client was not asked under that id", message);
            }
            "notifications/resources/updated" => self.judge_change(message, "subscribe"),
            "notifications/tasks" => self.judge_listened(message),
            _ if method.ends_with("/list_changed") => self.judge_change(message, "listChanged"),
            _ => {}
        }
    }

    /// A server may ask for what the client declared, and in the newest revision for nothing at
    /// all. `ping` needs no declaration.
    pub(super) fn judge_server_request(&mut self, message: &Value) {
        if self.revision.is_modern() && self.session_capabilities.is_none() {
            self.fault("S-061", "the server sent a request".to_owned(), message);
            return;
        }
        let elicitation = &message["params"]["elicitationId"];
        if elicitation.is_string() {
            self.findings.judged("S-194");
            self.elicitations.insert(key_of(elicitation));
        }
        let id = &message["id"];
        let fresh = self.server_ids.insert(key_of(id));
        let valid = id.is_string() || id.is_i64() || id.is_u64();
        self.require("S-008", valid && fresh, "its id is invalid or was used before", message);
        let offered = match message["method"].as_str() {
            Some("elicitation/create") => self.client_capabilities["elicitation"].is_object(),
            Some("sampling/createMessage") => self.client_capabilities["sampling"].is_object(),
            Some("roots/list") => self.client_capabilities["roots"].is_object(),
            method => method == Some("ping"),
        };
        self.require("S-034", offered, "asks for what the client did not declare", message);
        let token = message["params"]["_meta"].get("progressToken");
        let valid = token.is_none_or(|token| token.is_string() || token.is_i64() || token.is_u64());
        self.require("S-038", valid, "its progress token is neither string nor integer", message);
    }

    fn judge_progress(&mut self, message: &Value) {
        let params = &message["params"];
        let value = params["progress"].as_f64().unwrap_or(f64::NAN);
        let Some(token) = self.tokens.get_mut(&key_of(&params["progressToken"])) else {
            self.fault("S-177", "progress for a token no request gave".to_owned(), message);
            return;
        };
        let (open, rises) = (token.open, value > token.last);
        token.last = value;
        self.require("S-177", open, "progress after its request was answered", message);
        self.require("S-176", rises, "progress that does not rise", message);
        self.judge_untagged(message);
    }

    fn judge_log(&mut self, message: &Value) {
        self.judge_untagged(message);
        let level = message["params"]["level"].as_str().and_then(rank);
        if let Some(capabilities) = self.capabilities() {
            let declared = capabilities.get("logging").is_some();
            self.require("S-167", declared, "logs without the `logging` capability", message);
        }
        if self.session_capabilities.is_some() {
            if let Some(least) = self.session_level {
                let loud = level.is_some_and(|level| level >= least);
                self.require("S-171", loud, "a log below the level that was set", message);
            }
            return;
        }
        let running = self.asked.values().filter(|asked| asked.owed > 0);
        let least = running.filter_map(|asked| asked.log_level).min();
        self.require("S-168", least.is_some(), "a log no running request asked for", message);
        if let Some(least) = least {
            let loud = level.is_some_and(|level| level >= least);
            self.require("S-169", loud, "a log below the level its request asked for", message);
        }
    }

    /// A server may only cancel what it asked for itself, or end a listen stream.
    fn judge_cancelled(&mut self, message: &Value) {
        let key = key_of(&message["params"]["requestId"]);
        if self.revision.is_modern() {
            let listening = self.listens.contains_key(&key);
            self.require("S-073", listening, "cancels what is no listen stream", message);
        } else {
            let own = self.server_ids.contains(&key);
            self.require("S-037", own, "cancels what the server did not ask for", message);
        }
    }

    fn judge_acknowledged(&mut self, message: &Value) {
        let Some(listen) = self.listens.get_mut(&key_of(tag(message))) else {
            self.fault("S-133", "an acknowledgement of no listen stream".to_owned(), message);
            return;
        };
        let first = !std::mem::replace(&mut listen.acknowledged, true);
        let granted = &message["params"]["notifications"];
        let asked = is_subset(granted, &listen.filter);
        self.require("S-130", first, "a listen stream is acknowledged again", message);
        self.require("S-132", asked, "acknowledges what was not asked for", message);
        self.require("S-133", true, "", message);
    }

    fn judge_change(&mut self, message: &Value, capability: &str) {
        let tag = tag(message);
        if self.revision.is_modern() && (self.session_capabilities.is_none() || !tag.is_null()) {
            self.judge_listened(message);
            return;
        }
        let method = message["method"].as_str().unwrap_or_default();
        let area = method.split('/').nth(1).unwrap_or_default();
        let declared =
            self.session_capabilities.as_ref().is_some_and(|all| all[area][capability] == true);
        self.require("S-034", declared, "notifies of what it did not declare", message);
        if capability == "subscribe" {
            let uri = message["params"]["uri"].as_str().unwrap_or_default();
            let wanted = self.subscribed.iter().any(|known| uri.starts_with(known.as_str()));
            self.require("S-159", wanted, "an update of what is not subscribed", message);
        }
    }

    fn judge_listened(&mut self, message: &Value) {
        let Some(listen) = self.listens.get(&key_of(tag(message))) else {
            self.fault("S-133", "a change without the id of its listen stream".to_owned(), message);
            return;
        };
        let (acknowledged, covered) = (listen.acknowledged, covers(listen, message));
        self.require("S-133", true, "", message);
        self.require("S-130", acknowledged, "a change before the acknowledgement", message);
        self.require("S-132", covered, "a change its stream did not ask for", message);
    }

    fn judge_untagged(&mut self, message: &Value) {
        if self.revision.is_modern() {
            let untagged = tag(message).is_null();
            self.require("S-134", untagged, "progress or log on a listen stream", message);
        }
    }

    fn require(&self, id: &'static str, holds: bool, fault: &str, message: &Value) {
        self.findings.judged(id);
        if !holds {
            self.fault(id, fault.to_owned(), message);
        }
    }
}

fn tag(message: &Value) -> &Value {
    &message["params"]["_meta"][SUBSCRIPTION_ID]
}

fn covers(listen: &Listen, message: &Value) -> bool {
    let filter = &listen.filter;
    match message["method"].as_str() {
        Some("notifications/tools/list_changed") => filter["toolsListChanged"] == true,
        Some("notifications/prompts/list_changed") => filter["promptsListChanged"] == true,
        Some("notifications/resources/list_changed") => filter["resourcesListChanged"] == true,
        Some("notifications/resources/updated") => {
            let uri = message["params"]["uri"].as_str().unwrap_or_default();
            let wanted = filter["resourceSubscriptions"].as_array().into_iter().flatten();
            wanted.filter_map(Value::as_str).any(|known| uri.starts_with(known))
        }
        Some("notifications/tasks") => {
            let wanted = filter["taskIds"].as_array();
            wanted.is_some_and(|wanted| wanted.contains(&message["params"]["taskId"]))
        }
        _ => false,
    }
}

fn is_subset(granted: &Value, asked: &Value) -> bool {
    let none = json!([]);
    granted.as_object().into_iter().flatten().all(|(key, value)| match value {
        Value::Bool(false) => true,
        Value::Array(uris) => {
            let asked = asked[key].as_array().or(none.as_array());
            uris.iter().all(|uri| asked.is_some_and(|asked| asked.contains(uri)))
        }
        other => asked[key] == *other,
    })
}
