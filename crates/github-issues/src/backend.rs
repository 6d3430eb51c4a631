//! GitHub's issues. Knows nothing of MCP.
//!
//! Reading order: `base_url` and `place` (where requests may go), `policy` (which are allowed),
//! `client` (one request), `governor` and `cache` (how often), `api` (what may be asked),
//! `model` (what comes back), then what is done with it: `pages`,
//! `issues`, `edit` and
//! `bodies`, `catalog`, `names`, `once`, `status`, `text`.

mod api;
mod base_url;
mod bodies;
mod cache;
mod catalog;
mod client;
mod error;
mod governor;
mod issues;
mod names;
mod once;
mod pages;
mod place;
mod policy;
mod status;

pub(crate) mod edit;
pub(crate) mod model;
pub(crate) mod text;

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use anyhow::Context;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Mutex, OnceCell};

pub(crate) use api::{Api, Observer};
pub(crate) use bodies::Edited;
pub(crate) use error::Error;
pub(crate) use governor::Pauses;
pub(crate) use once::NewIssue;
pub(crate) use pages::{Cursor, Listed, Room};
pub(crate) use place::{Repo, query};
pub(crate) use policy::Policy;

use crate::config::Config;

/// What the handlers share.
pub(crate) struct Backend {
    client: client::Client,
    pub(crate) policy: Policy,
    governor: governor::Governor,
    cache: cache::Cache,
    pub(crate) token_kind: &'static str,
    /// How long one call may wait for rate limits.
    max_wait: Duration,
    /// Who the token belongs to, once asked; `None` where GitHub does not say.
    me: OnceCell<Option<String>>,
    pub(crate) shown: bodies::Shown,
    /// Held while something is created, so that the same call twice at once creates once.
    creating: Mutex<()>,
    /// Makes marks nobody outside can guess.
    key: RandomState,
}

impl Backend {
    /// Must be called within the runtime. Errors are for the operator.
    pub(crate) fn open(config: &Config, pauses: Pauses) -> anyhow::Result<Self> {
        let base = base_url::BaseUrl::parse(&config.api_url, config.allow_http)
            .context("--api-url cannot be used")?;
        let token = token(config)?;
        let token_kind = status::token_kind(token.as_ref().map(ExposeSecret::expose_secret));
        let timeout = Duration::from_secs(config.request_timeout_secs);
        Ok(Self {
            client: client::Client::new(base, token, timeout)?,
            policy: Policy::new(config)?,
            token_kind,
            governor: governor::Governor::new(pauses),
            cache: cache::Cache::default(),
            max_wait: Duration::from_secs(config.max_wait_secs),
            me: OnceCell::new(),
            shown: bodies::Shown::default(),
            creating: Mutex::default(),
            key: RandomState::new(),
        })
    }

    pub(crate) fn api<'a>(&'a self, observer: &'a dyn Observer) -> Api<'a> {
        Api::new(self, observer)
    }

    /// A short mark for a text: the same each time, and not to be guessed from outside.
    pub(crate) fn mark(&self, text: &str) -> String {
        format!("{:016x}", self.key.hash_one(text))
    }
}

/// The token from the file or the environment; `None` for a client nobody has signed in.
fn token(config: &Config) -> anyhow::Result<Option<SecretString>> {
    let text = match &config.token_file {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .with_context(|| format!("--token-file {}", path.display()))?,
        ),
        None => ["GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty())),
    };
    let Some(text) = text else { return Ok(None) };
    let token = text.trim();
    // The token itself stays out of the error.
    anyhow::ensure!(
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "the token is empty or holds characters no token has"
    );
    Ok(Some(token.to_owned().into()))
}
