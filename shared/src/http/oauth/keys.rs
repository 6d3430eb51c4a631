//! Tokens that are signed (JWT), checked by the public keys of the authorization server.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use reqwest::Url;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Rejected;
use super::fetch::Fetch;
use crate::principal::Principal;

/// Keys are asked for again after this long.
const KEPT: Duration = Duration::from_secs(600);

/// A token with an unknown key may be the first after a rotation, or be made to keep us busy.
const LEAST_PAUSE: Duration = Duration::from_secs(5);

/// How far clocks may be apart.
const SKEW_SECS: u64 = 60;

/// Signatures whose check needs no secret. With any other, a key that is public could be taken for
/// a secret one.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

pub(super) struct Keys {
    fetch: Fetch,
    issuer: Url,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    keys: Arc<Vec<Jwk>>,
    asked: Option<Instant>,
}

/// What a token says of itself.
#[derive(Deserialize)]
struct Claims {
    sub: Option<String>,
    client_id: Option<String>,
    scope: Option<String>,
    scp: Option<Scopes>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

/// Where an authorization server keeps its keys (RFC 8414).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Keys {
    pub(super) fn new(fetch: Fetch, issuer: Url) -> Self {
        Self { fetch, issuer, known: Mutex::default() }
    }

    pub(super) async fn verify(
        &self,
        token: &str,
        issuer: &str,
        audience: &str,
    ) -> Result<Principal, Rejected> {
        let header = decode_header(token).map_err(|_| Rejected::Invalid)?;
        let is_access_token = header.typ.as_deref().is_none_or(|typ| {
            ["jwt", "at+jwt", "application/at+jwt"].contains(&typ.to_ascii_lowercase().as_str())
        });
        if !ALGORITHMS.contains(&header.alg) || !is_access_token {
            return Err(Rejected::Invalid);
        }
        let key = self.key(&header).await?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = SKEW_SECS;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // An issuer is a URL; some end it with a slash and some do not.
        validation.set_issuer(&[issuer, &format!("{issuer}/")]);
        validation.set_audience(&[audience, &format!("{audience}/")]);
        let decoded = decode::<Claims>(token, &key, &validation).map_err(|error| {
            tracing::debug!("a token is refused: {error}");
            Rejected::Invalid
        })?;
        principal(decoded.claims)
    }

    /// The key a token names, if it is one for the token's algorithm.
    async fn key(&self, header: &Header) -> Result<DecodingKey, Rejected> {
        let mut found = find(&self.keys(false).await?, header);
        if found.is_none() {
            found = find(&self.keys(true).await?, header);
        }
        found.ok_or(Rejected::Invalid)
    }

    async fn keys(&self, is_unknown: bool) -> Result<Arc<Vec<Jwk>>, Rejected> {
        let mut known = self.known.lock().await;
        let age = known.asked.map(|asked| asked.elapsed());
        let is_due = age.is_none_or(|age| age > KEPT || is_unknown && age > LEAST_PAUSE);
        if is_due {
            known.asked = Some(Instant::now());
            match self.ask().await {
                Ok(keys) => known.keys = Arc::new(keys),
                Err(error) => {
                    tracing::warn!("the keys of {}: {error:#}", self.issuer);
                    if known.keys.is_empty() {
                        known.asked = None;
                        return Err(Rejected::Unknown);
                    }
                }
            }
        }
        Ok(Arc::clone(&known.keys))
    }

    async fn ask(&self) -> anyhow::Result<Vec<Jwk>> {
        let issuer = self.issuer.as_str().trim_end_matches('/');
        for place in places(&self.issuer) {
            let Ok(metadata) = self.fetch.get::<Metadata>(place).await else {
                continue;
            };
            let named = metadata.issuer.trim_end_matches('/');
            ensure!(named == issuer, "the metadata is of another issuer: {named}");
            let keys: JwkSet = self.fetch.get(metadata.jwks_uri.parse()?).await?;
            return Ok(keys.keys);
        }
        None.context("no metadata at any of its well-known places")
    }
}

/// Where the metadata of an issuer may be, in the order in which clients look.
fn places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let paths = [
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ];
    let place = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(place).collect()
}

fn find(keys: &[Jwk], header: &Header) -> Option<DecodingKey> {
    let is_named = |key: &&Jwk| match (&header.kid, &key.common.key_id) {
        (Some(wanted), Some(id)) => wanted == id,
        // Without a name only a single key can be meant.
        (None, _) => keys.len() == 1,
        (Some(_), None) => false,
    };
    let key = keys.iter().filter(is_named).find(|key| is_for(key, header.alg))?;
    DecodingKey::from_jwk(key).ok()
}

fn is_for(key: &Jwk, algorithm: Algorithm) -> bool {
    let is_of_kind = match algorithm {
        Algorithm::ES256 | Algorithm::ES384 => {
            matches!(key.algorithm, AlgorithmParameters::EllipticCurve(_))
        }
        Algorithm::EdDSA => matches!(key.algorithm, AlgorithmParameters::OctetKeyPair(_)),
        _ => matches!(key.algorithm, AlgorithmParameters::RSA(_)),
    };
    let named = key.common.key_algorithm.map(|named| named.to_string());
    is_of_kind && named.is_none_or(|named| named == format!("{algorithm:?}"))
}

fn principal(claims: Claims) -> Result<Principal, Rejected> {
    let name = claims.sub.or(claims.client_id).filter(|name| !name.is_empty());
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    let scopes = match (claims.scope, claims.scp) {
        (Some(text), _) | (None, Some(Scopes::Text(text))) => words(text),
        (None, Some(Scopes::List(list))) => list,
        (None, None) => Vec::new(),
    };
    Ok(Principal { name: name.ok_or(Rejected::Invalid)?, scopes })
}
