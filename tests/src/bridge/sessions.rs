//! Sessions of the revisions before 2026-07-28, each with a process of its own.

use super::child::{Child, Clients};
use super::headers::{VERSION, only};
use super::reply::{self, Events, Reply, Source, refuse};
use crate::revision::Revision;
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const SESSION: &str = "mcp-session-id";

const INVALID_REQUEST: i64 = -32600;

#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<Child>>>);

impl Sessions {
    pub(super) async fn post(
        &self,
        command: &[String],
        message: Value,
        headers: &HeaderMap,
    ) -> Reply {
        if message["method"] == "initialize" && !headers.contains_key(SESSION) {
            return self.open(command, message).await;
        }
        let child = match self.find(headers) {
            Ok((_, child)) => child,
            Err(refused) => return *refused,
        };
        if !expects_response(&message) {
            child.send(message);
            return reply::empty(202);
        }
        child.call(message, Clients::One).answer(|_| 200).await
    }

    /// A session exists once its `initialize` has succeeded.
    async fn open(&self, command: &[String], message: Value) -> Reply {
        let Ok(child) = Child::spawn(command) else {
            return refuse(502, INVALID_REQUEST, "The server cannot be started");
        };
        let mut is_open = true;
        let answered = child.call(message, Clients::One).answer(|response| {
            is_open = response.get("result").is_some();
            200
        });
        let mut reply = answered.await;
        let id = random_id();
        if let (true, Ok(value)) = (is_open, HeaderValue::from_str(&id)) {
            reply.headers_mut().insert(SESSION, value);
            self.all().insert(id, child);
        }
        reply
    }

    /// The stream of what belongs to no request.
    pub(super) fn get(&self, headers: &HeaderMap) -> Reply {
        if !reply::accepts(headers, "text/event-stream") {
            let problem = "The Accept header must list text/event-stream";
            return refuse(406, INVALID_REQUEST, problem);
        }
        match self.find(headers).map(|(_, child)| child.listen()) {
            Ok(Some(events)) => {
                reply::events(Events { first: None, rest: Source::Session(events) })
            }
            Ok(None) => refuse(409, INVALID_REQUEST, "Another connection reads this stream"),
            Err(refused) => *refused,
        }
    }

    pub(super) fn delete(&self, headers: &HeaderMap) -> Reply {
        match self.find(headers) {
            Ok((id, _)) => {
                self.all().remove(id);
                reply::empty(204)
            }
            Err(refused) => *refused,
        }
    }

    fn find<'a>(&self, headers: &'a HeaderMap) -> Result<(&'a str, Arc<Child>), Box<Reply>> {
        let refused = |status, problem| Err(Box::new(refuse(status, INVALID_REQUEST, problem)));
        if !headers.contains_key(SESSION) {
            return refused(400, "The header Mcp-Session-Id is missing; begin by initialize");
        }
        let id = only(headers, SESSION).unwrap_or_default();
        let Some(child) = self.all().get(id).cloned() else {
            return refused(404, "There is no such session");
        };
        let version = only(headers, VERSION).and_then(Revision::from_date);
        if headers.contains_key(VERSION) && version.is_none() {
            return refused(400, "The MCP-Protocol-Version is not one that exists");
        }
        Ok((id, child))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Child>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A notification and a response have no response; what is none of the three is refused by one.
fn expects_response(message: &Value) -> bool {
    if let Some(batch) = message.as_array() {
        return batch.is_empty() || batch.iter().any(expects_response);
    }
    let has = |member: &str| message.get(member).is_some();
    if has("method") { has("id") } else { !has("result") && !has("error") }
}

/// The standard library keeps its randomness to itself, but for the seeds of its hashes.
fn random_id() -> String {
    let word = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", word(), word())
}
