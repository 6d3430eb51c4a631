//! Tokens that only the authorization server can read: it is asked about each (RFC 7662).

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Url;
use serde::Deserialize;
use tokio::time::Instant;

use super::Rejected;
use super::fetch::Fetch;
use crate::lock::lock;
use crate::principal::Principal;
use crate::seal::digest;

/// How long a token that is good is believed to be so. Revoked ones live on for as long.
const BELIEVED: Duration = Duration::from_secs(30);

/// Tokens remembered.
const MAX_TOKENS: usize = 10_000;

pub(super) struct Introspection {
    fetch: Fetch,
    url: Url,
    name: String,
    secret: String,
    /// By the digest of the token, so that a dump of memory holds none.
    known: Mutex<HashMap<String, (Principal, Instant)>>,
}

/// What the authorization server says of a token.
#[derive(Deserialize)]
struct Answer {
    active: bool,
    sub: Option<String>,
    client_id: Option<String>,
    username: Option<String>,
    scope: Option<String>,
    aud: Option<Audience>,
    exp: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Introspection {
    pub(super) fn new(fetch: Fetch, url: Url, name: &str, secret: &str) -> Self {
        let (name, secret) = (name.to_owned(), secret.to_owned());
        Self { fetch, url, name, secret, known: Mutex::default() }
    }

    pub(super) async fn verify(&self, token: &str, audience: &str) -> Result<Principal, Rejected> {
        let key = digest(token.as_bytes());
        if let Some((principal, until)) = lock(&self.known).get(&key)
            && *until > Instant::now()
        {
            return Ok(principal.clone());
        }
        let form = format!("token={}&token_type_hint=access_token", encoded(token));
        let credentials = (self.name.as_str(), self.secret.as_str());
        let asked = self.fetch.post_form(self.url.clone(), credentials, form).await;
        let answer: Answer = asked.map_err(|error| {
            tracing::warn!("{}: {error:#}", self.url);
            Rejected::Unknown
        })?;
        let (principal, life) = judge(answer, audience).ok_or(Rejected::Invalid)?;
        let mut known = lock(&self.known);
        if known.len() >= MAX_TOKENS {
            known.clear();
        }
        known.insert(key, (principal.clone(), Instant::now() + life.min(BELIEVED)));
        Ok(principal)
    }
}

/// Whose token it is, and how long it has to live; `None` if it is not good here.
fn judge(answer: Answer, audience: &str) -> Option<(Principal, Duration)> {
    let is_ours = |named: &String| named.trim_end_matches('/') == audience;
    let is_for_us = match &answer.aud {
        Some(Audience::One(named)) => is_ours(named),
        Some(Audience::Several(named)) => named.iter().any(is_ours),
        None => false,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let life = match answer.exp {
        Some(expires) => Duration::from_secs(expires).checked_sub(now)?,
        None => BELIEVED,
    };
    if !answer.active || !is_for_us {
        return None;
    }
    let name = answer.sub.or(answer.username).or(answer.client_id)?;
    let scopes = answer.scope.unwrap_or_default();
    let scopes = scopes.split_whitespace().map(str::to_owned).collect();
    Some((Principal { name, scopes }, life))
}

/// A token in a form: what is not a letter or a digit is written by its number.
fn encoded(token: &str) -> String {
    let mut text = String::new();
    for byte in token.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}
