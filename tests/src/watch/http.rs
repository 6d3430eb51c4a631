//! What every response of HTTP is held to: its status, its media type, and which stream carries
//! what.

use crate::peer::{Carried, Exchange, Sent, Stream};
use crate::revision::Revision;
use crate::transcript::shown;
use crate::watch::{Watch, key_of, shown_value};
use serde_json::Value;

impl Watch {
    /// Notes that a request was given up: nothing more is owed.
    pub fn given_up(&mut self, id: &Value) {
        let key = key_of(id);
        self.listens.remove(&key);
        if let Some(asked) = self.asked.get_mut(&key) {
            asked.owed = 0;
        }
    }

    /// Judges how HTTP answered; `true` if it refused by a status alone.
    pub fn exchanged(&mut self, exchange: &Exchange) -> bool {
        let Exchange { sent, status, content_type, body, .. } = exchange;
        let body = body.as_deref();
        let message: Value =
            body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let code = message["error"]["code"].as_i64();
        if let Some(session) = &exchange.session {
            let visible = session.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
            let fault = || format!("the session id is {session:?}");
            self.expect("S-091", visible && !session.is_empty(), fault);
        }
        match sent {
            Sent::Other if *status < 300 && self.revision != Revision::V2024_11_05 => {
                let fault = || {
                    let body = shown(body.unwrap_or_default());
                    format!("an accepted notification or response is answered {status} {body}")
                };
                self.expect("S-083", *status == 202 && body.is_none_or(<[u8]>::is_empty), fault);
            }
            Sent::Request { method, modern } if self.revision != Revision::V2024_11_05 => {
                let known = ["application/json", "text/event-stream"];
                let fault = || format!("{method} is answered {status} as {content_type:?}");
                self.expect("S-085", known.contains(&content_type.as_str()), fault);
                if *modern {
                    self.judge_modern(exchange, code);
                }
            }
            Sent::Get => {
                let fault = || format!("GET is answered {status} as {content_type:?}");
                let stream = *status == 200 && content_type == "text/event-stream";
                self.expect("S-086", stream || *status == 405, fault);
            }
            _ => {}
        }
        *status >= 400 && message.is_null() && self.revision != Revision::V2024_11_05
    }

    fn judge_modern(&mut self, exchange: &Exchange, code: Option<i64>) {
        let Exchange { status, session, .. } = exchange;
        self.expect("S-125", session.is_none(), || format!("a session is named: {session:?}"));
        let due = match code {
            Some(-32601) => Some(("S-112", 404)),
            Some(-32020) => Some(("S-110", 400)),
            Some(-32022) => Some(("S-111", 400)),
            Some(-32021) => Some(("S-055", 400)),
            _ => None,
        };
        if let Some((id, due)) = due {
            let fault = || format!("an error {} has status {status}", code.unwrap_or_default());
            self.expect(id, *status == due, fault);
        }
    }

    /// Judges which stream carries a message.
    pub fn carried(&mut self, carried: &Carried) {
        let message: Value = serde_json::from_slice(&carried.line).unwrap_or_default();
        if let Some(id) = &carried.event_id {
            let fresh = self.event_ids.insert(id.clone());
            self.expect("S-089", fresh, || format!("the event id {id} comes again"));
        }
        match &carried.stream {
            Stream::Standing => {
                let answers = message.get("method").is_none();
                let fault = || format!("an answer by GET: {}", shown_value(&message));
                self.expect("S-087", !answers, fault);
            }
            Stream::Down => {
                let named = carried.event.as_deref().unwrap_or("message");
                self.expect("S-107", named == "message", || format!("an event {named:?}"));
            }
            Stream::Post(Some(id)) => self.judge_belonging(id, &message),
            Stream::Post(None) => {}
        }
    }

    /// What comes before the answer to a request is about that request.
    fn judge_belonging(&mut self, id: &Value, message: &Value) {
        if !self.asked.get(&key_of(id)).is_some_and(|asked| asked.revision.is_modern()) {
            return;
        }
        let is_request = message["method"].is_string() && message.get("id").is_some();
        let fault = || format!("a request of the server: {}", shown_value(message));
        self.expect("S-123", !is_request, fault);
        let about = match message["method"].as_str() {
            Some("notifications/progress") => {
                let token = key_of(&message["params"]["progressToken"]);
                self.asked.get(&key_of(id)).and_then(|asked| asked.token.clone()) == Some(token)
            }
            Some("notifications/message") => {
                self.asked.get(&key_of(id)).is_some_and(|asked| asked.log_level.is_some())
            }
            Some(_) => true,
            None => message["id"] == *id || message["id"].is_null(),
        };
        let fault = || format!("on the stream of {id}: {}", shown_value(message));
        self.expect("S-122", about, fault);
    }

    fn expect(&mut self, id: &'static str, holds: bool, fault: impl FnOnce() -> String) {
        self.findings.judged(id);
        if !holds {
            self.findings.fault(id, fault());
        }
    }
}
