//! GitHub's issues. Knows nothing of MCP.
//!
//! Reading order: `base_url` and `place` (where requests may go), `policy` (which are allowed),
//! `sign_in` and `client` (one request), `governor` and `cache` (how often), `api` (what may be
//! asked), `model` (what comes back), then what is done with it: `pages`, `issues`, `edit` and
//! `bodies`, `catalog`, `names`, `people`, `once`, `relations`, `triage`, `status`, `text`.

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
mod people;
mod place;
mod policy;
mod relations;
mod sign_in;
mod status;
mod triage;

pub(crate) mod edit;
pub(crate) mod model;
pub(crate) mod text;

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::{Mutex, OnceCell};

pub(crate) use api::{Api, Observer};
pub(crate) use bodies::Edited;
pub(crate) use error::Error;
pub(crate) use governor::Pauses;
pub(crate) use once::NewIssue;
pub(crate) use pages::{Cursor, Listed, Room};
pub(crate) use place::{Repo, query};
pub(crate) use policy::Policy;
pub(crate) use triage::{Change, Plan};

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
    pub(crate) plans: triage::Plans,
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
        let sign_in = sign_in::SignIn::open(config)?;
        let token_kind = sign_in.kind();
        let timeout = Duration::from_secs(config.request_timeout_secs);
        Ok(Self {
            client: client::Client::new(base, sign_in, timeout)?,
            policy: Policy::new(config)?,
            token_kind,
            governor: governor::Governor::new(pauses),
            cache: cache::Cache::default(),
            max_wait: Duration::from_secs(config.max_wait_secs),
            me: OnceCell::new(),
            shown: bodies::Shown::default(),
            plans: triage::Plans::default(),
            creating: Mutex::default(),
            key: RandomState::new(),
        })
    }

    pub(crate) fn api<'a>(&'a self, observer: &'a dyn Observer) -> Api<'a> {
        Api::new(self, observer)
    }

    /// How long to wait between two looks at what somebody has subscribed to.
    pub(crate) fn poll_interval(&self) -> Duration {
        self.governor.poll_interval()
    }

    /// A short mark for a text: the same each time, and not to be guessed from outside.
    pub(crate) fn mark(&self, text: &str) -> String {
        format!("{:016x}", self.key.hash_one(text))
    }
}
