//! OAuth 2.1, the part of a resource server: tokens are checked, never made. What an authorization
//! server does (login, consent, issuing tokens) is its own.
//!
//! Reading order: [`args`] (what the operator says), this file (who may do what), [`keys`] or
//! [`introspection`] (whether a token is good), [`fetch`] (how either asks).

pub(super) mod args;
mod fetch;
mod introspection;
mod keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use super::Front;
use super::reply::{self, Refused};
use super::route::Caller;
use crate::jsonrpc::{Line, Message, parse_message};
use crate::params::Params;
use crate::principal::Principal;
use introspection::Introspection;
use keys::Keys;

/// Where clients look for the document that says who issues tokens for this server (RFC 9728).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

pub(crate) struct OAuth {
    issuer: String,
    /// This server, as tokens name it.
    resource: String,
    metadata_url: String,
    /// Scopes every request needs.
    scopes: Vec<String>,
    /// Scopes a call of a tool needs beside.
    tool_scopes: BTreeMap<String, Vec<String>>,
    verifier: Verifier,
}

enum Verifier {
    Keys(Keys),
    Introspection(Introspection),
}

/// Why a token does not let its bearer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// Broken, expired, of somebody else, for somebody else: the client is not told which.
    Invalid,
    /// The authorization server does not answer; the token may be good.
    Unknown,
}

impl OAuth {
    /// Whose token it is.
    pub(super) async fn principal(&self, token: &str) -> Result<Arc<Principal>, Rejected> {
        let claims = match &self.verifier {
            Verifier::Keys(keys) => keys.verify(token, &self.issuer, &self.resource).await?,
            Verifier::Introspection(asked) => asked.verify(token, &self.resource).await?,
        };
        Ok(Arc::new(claims))
    }

    /// The scopes a request needs and this principal lacks; `tool` is set for a call of one.
    pub(super) fn lacks(&self, principal: &Principal, tool: Option<&str>) -> bool {
        self.needed(tool).any(|scope| !principal.scopes.iter().any(|given| given == scope))
    }

    fn needed<'a>(&'a self, tool: Option<&'a str>) -> impl Iterator<Item = &'a String> {
        let of_tool = tool.and_then(|tool| self.tool_scopes.get(tool));
        self.scopes.iter().chain(of_tool.into_iter().flatten())
    }

    /// What a client is told that has no token, or not the right one.
    pub(super) fn challenge(&self, error: Option<&str>, tool: Option<&str>) -> String {
        let mut challenge = format!("Bearer resource_metadata=\"{}\"", self.metadata_url);
        let scopes: Vec<&str> = self.needed(tool).map(String::as_str).collect();
        if !scopes.is_empty() {
            challenge += &format!(", scope=\"{}\"", scopes.join(" "));
        }
        if let Some(error) = error {
            challenge += &format!(", error=\"{error}\"");
        }
        challenge
    }

    /// The document at [`METADATA_PATH`].
    pub(super) fn metadata(&self) -> Value {
        let mut document = json!({
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
        });
        if let (false, Some(document)) = (self.scopes.is_empty(), document.as_object_mut()) {
            document.insert("scopes_supported".to_owned(), json!(self.scopes));
        }
        document
    }
}

/// Whether the token allows what a message asks for, before anything is done about it.
pub(super) fn check_scopes(front: &Front, caller: &Caller, line: &Line<'_>) -> Result<(), Refused> {
    let (Some(oauth), Some(principal)) = (front.access.oauth(), &caller.principal) else {
        return Ok(());
    };
    let check = |message: &Message<'_>| {
        let tool = tool_of(message);
        if !oauth.lacks(principal, tool.as_deref()) {
            return Ok(());
        }
        let challenge = oauth.challenge(Some("insufficient_scope"), tool.as_deref());
        Err(reply::refuse(403, "The token does not allow this").with(WWW_AUTHENTICATE, challenge))
    };
    match line {
        Line::Single(Ok(message)) => check(message),
        Line::Single(Err(_)) => Ok(()),
        Line::Batch(elements) => {
            let messages = elements.iter().filter_map(|raw| parse_message(raw.get()).ok());
            messages.into_iter().try_for_each(|message| check(&message))
        }
    }
}

/// The tool a message calls.
fn tool_of(message: &Message<'_>) -> Option<String> {
    let Message::Request { method, params, .. } = message else {
        return None;
    };
    if method != "tools/call" {
        return None;
    }
    let name = Params::read(*params).ok()?.name?;
    serde_json::from_str(name.get()).ok()
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
