//! One message on its way: what it is, and how long the next one waits for it.

use super::dispatch::Shared;
use super::routing;
use crate::clock::PATIENCE;
use crate::peer::Sent;
use serde_json::Value;
use std::time::Duration;

/// For the response to a request, which may take its time: less than a slow call does.
const ORDER_PATIENCE: Duration = Duration::from_millis(250);
/// Where the next message needs what the response says.
pub(super) const HEAD_PATIENCE: Duration = PATIENCE;
/// What takes longer to send than to serve.
const LONG_BYTES: usize = 1 << 20;

pub(super) struct Post {
    pub(super) line: Vec<u8>,
    pub(super) message: Value,
    pub(super) sent: Sent,
}

impl Post {
    pub(super) fn new(shared: &Shared, line: Vec<u8>) -> Post {
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let has_id = message["id"].is_string() || message["id"].is_i64() || message["id"].is_u64();
        let sent = match message["method"].as_str() {
            Some(method) if has_id => {
                let modern = routing::is_modern(shared.revision, &shared.session(), &message);
                Sent::Request { method: method.to_owned(), modern }
            }
            Some(_) if message.get("id").is_none() => Sent::Other,
            None if has_id && message.get("result").is_some() != message.get("error").is_some() => {
                Sent::Other
            }
            _ => Sent::Garbage,
        };
        Post { line, message, sent }
    }

    /// The id of a request, as text.
    pub(super) fn id(&self) -> Option<String> {
        matches!(self.sent, Sent::Request { .. }).then(|| self.message["id"].to_string())
    }

    /// How long the next message waits for the head of the response.
    pub(super) fn patience(&self) -> Duration {
        match &self.sent {
            Sent::Request { method, .. } if method == "initialize" => HEAD_PATIENCE,
            // These are answered at once, or never.
            Sent::Other | Sent::Garbage => HEAD_PATIENCE,
            _ if self.line.len() > LONG_BYTES => HEAD_PATIENCE,
            _ => ORDER_PATIENCE,
        }
    }
}
