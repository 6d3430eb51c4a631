//! Requests of 2026-07-28: each stands for itself, and the status of its answer says what came of
//! it.

use super::child::{Child, Clients};
use super::front::Front;
use super::headers::Routing;
use super::reply::{self, Reply, refuse};
use crate::revision::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
use crate::web::routing::claims_modern;
use serde_json::{Value, json};
use std::sync::Arc;

const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;

pub(super) async fn answer(front: &Front, message: Value, routing: &Routing) -> Reply {
    if message.get("method").is_none() {
        return refuse(400, INVALID_REQUEST, "This is no request and no notification");
    }
    if message.get("id").is_none() {
        return reply::empty(202);
    }
    let Ok(child) = front.shared().await else {
        return refuse(502, INVALID_REQUEST, "The server cannot be started");
    };
    if let Err((code, problem)) = check(front, &child, &message, routing).await {
        return reply::json(400, &reply::error(&message["id"], code, &problem));
    }
    let is_whole = has_whole_envelope(&message);
    child.call(message, Clients::Many).answer(|response| status(response, is_whole)).await
}

/// What only the bridge can check, because the server sees no headers.
async fn check(
    front: &Front,
    child: &Arc<Child>,
    message: &Value,
    routing: &Routing,
) -> Result<(), (i64, String)> {
    if !claims_modern(message) {
        if message["method"] == "initialize" {
            let problem = "The header names a revision that has no initialize";
            return Err((HEADER_MISMATCH, problem.to_owned()));
        }
        let problem = format!("The request lacks {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}");
        return Err((INVALID_PARAMS, problem));
    }
    if !message["params"]["_meta"][PROTOCOL_VERSION].is_string() {
        // The server refuses this by itself.
        return Ok(());
    }
    let mut parameters = Vec::new();
    if message["method"] == "tools/call" {
        learn_parameters(front, child, &message["params"]["_meta"]).await;
        parameters = front.parameters.of(message["params"]["name"].as_str().unwrap_or_default());
    }
    routing.check(message, &parameters).map_err(|problem| (HEADER_MISMATCH, problem))
}

/// Reads the list of tools once, for the arguments that are to be repeated in headers.
async fn learn_parameters(front: &Front, child: &Arc<Child>, meta: &Value) {
    let learn = || async {
        let mut cursor = Value::Null;
        loop {
            let mut params = json!({"_meta": {
                PROTOCOL_VERSION: meta[PROTOCOL_VERSION],
                CLIENT_CAPABILITIES: meta[CLIENT_CAPABILITIES],
            }});
            if cursor.is_string() {
                params["cursor"] = cursor;
            }
            let request =
                json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params});
            let response = child.call(request, Clients::Many).response().await.ok_or(())?;
            response.get("result").ok_or(())?;
            front.parameters.learn(&response);
            cursor = response["result"]["nextCursor"].clone();
            if !cursor.is_string() {
                return Ok::<_, ()>(());
            }
        }
    };
    // A server that does not list its tools wants nothing repeated; the next call asks again.
    let _ = front.has_learned.get_or_try_init(learn).await;
}

fn has_whole_envelope(message: &Value) -> bool {
    let meta = &message["params"]["_meta"];
    meta[PROTOCOL_VERSION].is_string() && meta[CLIENT_CAPABILITIES].is_object()
}

fn status(response: &Value, has_whole_envelope: bool) -> u16 {
    match response["error"]["code"].as_i64() {
        Some(-32601) => 404,
        Some(-32700 | INVALID_REQUEST | HEADER_MISMATCH | -32021 | -32022) => 400,
        Some(INVALID_PARAMS) if !has_whole_envelope => 400,
        _ => 200,
    }
}
