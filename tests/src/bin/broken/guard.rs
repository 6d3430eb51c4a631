//! Who is let in where a token is demanded.

use crate::defects::Defect;
use crate::http1::{Head, Request, head};
use serde_json::{Value, json};
use std::io::Write;

const METADATA: &str = "/.well-known/oauth-protected-resource";

#[derive(Default)]
pub(crate) struct Guard {
    /// `None` lets everybody in, or with an issuer nobody.
    token: Option<String>,
    has_issuer: bool,
}

impl Guard {
    /// What the arguments after the defect say; `None` if they make no sense.
    pub(crate) fn of(arguments: &[String]) -> Option<Guard> {
        match arguments {
            [] => Some(Guard::default()),
            // Its states are bound to no key.
            [flag, _] if flag == "--state-key-file" => Some(Guard::default()),
            [flag, file] if flag == "--auth-token-file" => {
                let token = std::fs::read_to_string(file).ok()?.trim().to_owned();
                Some(Guard { token: Some(token), has_issuer: false })
            }
            [flag] if flag == "--oauth" => Some(Guard { token: None, has_issuer: true }),
            _ => None,
        }
    }

    /// What everybody may read.
    pub(crate) fn metadata(&self, request: &Request, defect: Defect) -> Option<Value> {
        if !self.has_issuer || !request.path.starts_with(METADATA) {
            return None;
        }
        let issuers = if defect.is("no-issuers") { json!([]) } else { json!(["https://as.test"]) };
        Some(json!({"resource": "http://mcp.test/mcp", "authorization_servers": issuers}))
    }

    /// The answer to a request that is not let in.
    pub(crate) fn refusal(
        &self,
        request: &Request,
        has_session: bool,
        defect: Defect,
    ) -> Option<Head> {
        if self.token.is_none() && !self.has_issuer {
            return None;
        }
        let given = request.header("authorization");
        if defect.is("logs-tokens") {
            // Nobody reads it but the engine, which keeps the end of it.
            let _ = writeln!(std::io::stderr(), "{} by {given:?}", request.method);
        }
        if self.lets_in(request, has_session, defect) {
            return None;
        }
        let mut challenge = "Bearer".to_owned();
        if self.has_issuer && !defect.is("no-pointer") {
            challenge += &format!(" resource_metadata=\"http://mcp.test{METADATA}\"");
        } else if given.is_some() && !defect.is("speechless-401") {
            challenge += " error=\"invalid_token\"";
        }
        let status = if defect.is("unauthorized-by-403") { 403 } else { 401 };
        Some(head(status).with("www-authenticate", challenge))
    }

    fn lets_in(&self, request: &Request, has_session: bool, defect: Defect) -> bool {
        let Some(token) = self.token.as_deref() else { return false };
        let mut all = request.all("authorization");
        let (given, more) = (all.next().unwrap_or_default(), all.next().is_some());
        let (scheme, given) = given.split_once(' ').unwrap_or_default();
        let fits = given == token
            || defect.is("tokens-by-half") && !given.is_empty() && token.starts_with(given);
        let is_bearer = scheme.eq_ignore_ascii_case("bearer") || defect.is("any-scheme");
        fits && is_bearer && !more
            || defect.is("any-token") && !given.is_empty() && !more
            || defect.is("token-in-query") && request.query.ends_with(token)
            || defect.is("open-get") && request.method == "GET" && request.path == "/mcp"
            || defect.is("open-pair") && request.path == "/sse"
            || defect.is("open-messages") && request.path == "/messages"
            || defect.is("sessions-are-tokens") && has_session
    }
}
