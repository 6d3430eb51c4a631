//! Asking an authorization server: in little time, for little data, over https, and only where the
//! operator has sent us.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;

const PATIENCE: Duration = Duration::from_secs(5);

/// More than any key set or metadata document has.
const MAX_BYTES: usize = 1024 * 1024;

#[derive(Clone)]
pub(super) struct Fetch(Client);

impl Fetch {
    pub(super) fn new() -> anyhow::Result<Self> {
        // Whoever embeds us may have chosen a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(PATIENCE).redirect(Policy::none()).no_proxy();
        Ok(Self(client.build()?))
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: Url) -> anyhow::Result<T> {
        ensure!(is_safe(&url), "{url} is not https");
        self.read(self.0.get(url)).await
    }

    pub(super) async fn post_form<T: DeserializeOwned>(
        &self,
        url: Url,
        (name, secret): (&str, &str),
        form: String,
    ) -> anyhow::Result<T> {
        let request = self.0.post(url).basic_auth(name, Some(secret));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.read(request.body(form)).await
    }

    async fn read<T: DeserializeOwned>(&self, request: RequestBuilder) -> anyhow::Result<T> {
        let mut response = request.header("accept", "application/json").send().await?;
        ensure!(response.status().is_success(), "answered {}", response.status());
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            ensure!(bytes.len() + chunk.len() <= MAX_BYTES, "more than {MAX_BYTES} bytes");
            bytes.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&bytes).context("not the JSON expected")
    }
}

/// Only on this machine may tokens and keys travel in the clear.
pub(super) fn is_safe(url: &Url) -> bool {
    let is_local = || match url.host_str() {
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost"
                || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local())
}
