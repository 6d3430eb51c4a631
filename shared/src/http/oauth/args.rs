//! The flags of a server that takes tokens of an authorization server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use reqwest::Url;

use super::fetch::{Fetch, is_safe};
use super::introspection::Introspection;
use super::keys::Keys;
use super::{METADATA_PATH, OAuth, Verifier};

#[derive(Debug, Args)]
#[command(next_help_heading = "OAuth options")]
pub(crate) struct OAuthArgs {
    /// Let in whoever brings a token of this authorization server: its issuer URL
    #[arg(long, value_name = "URL", requires_all = ["http", "oauth_resource"])]
    oauth_issuer: Option<Url>,
    /// What tokens call this server (their audience): the URL clients reach it at, such as
    /// https://mcp.example/mcp
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    oauth_resource: Option<Url>,
    /// A scope that every request needs; may be repeated
    #[arg(long = "oauth-scope", value_name = "SCOPE", requires = "oauth_issuer")]
    scopes: Vec<String>,
    /// A scope that calls of one tool need beside; may be repeated
    #[arg(long = "oauth-tool-scope", value_name = "TOOL=SCOPE", requires = "oauth_issuer")]
    tool_scopes: Vec<String>,
    /// Ask this endpoint about each token (RFC 7662) instead of checking its signature
    #[arg(long, value_name = "URL", requires = "oauth_client_file")]
    oauth_introspection_url: Option<Url>,
    /// The name and the secret of this server at that endpoint, as NAME:SECRET
    #[arg(long, value_name = "FILE", requires = "oauth_introspection_url")]
    oauth_client_file: Option<PathBuf>,
}

impl OAuthArgs {
    /// `None` if the operator wants no such tokens.
    pub(crate) fn build(&self) -> anyhow::Result<Option<OAuth>> {
        let (Some(issuer), Some(resource)) = (&self.oauth_issuer, &self.oauth_resource) else {
            return Ok(None);
        };
        for url in [Some(issuer), self.oauth_introspection_url.as_ref()].into_iter().flatten() {
            ensure!(is_safe(url), "{url}: https is needed beyond this machine");
        }
        ensure!(resource.fragment().is_none(), "--oauth-resource: no fragment is allowed");
        let fetch = Fetch::new()?;
        let verifier = match (&self.oauth_introspection_url, &self.oauth_client_file) {
            (Some(url), Some(path)) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("--oauth-client-file {}", path.display()))?;
                let (name, secret) =
                    text.trim().split_once(':').context("--oauth-client-file: NAME:SECRET")?;
                Verifier::Introspection(Introspection::new(fetch, url.clone(), name, secret))
            }
            _ => Verifier::Keys(Keys::new(fetch, issuer.clone())),
        };
        let mut tool_scopes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in &self.tool_scopes {
            let (tool, scope) = pair.split_once('=').context("--oauth-tool-scope TOOL=SCOPE")?;
            tool_scopes.entry(tool.to_owned()).or_default().push(scope.to_owned());
        }
        let mut metadata_url = resource.clone();
        metadata_url.set_path(&format!("{METADATA_PATH}{}", resource.path().trim_end_matches('/')));
        metadata_url.set_query(None);
        Ok(Some(OAuth {
            issuer: trimmed(issuer),
            resource: trimmed(resource),
            metadata_url: metadata_url.into(),
            scopes: self.scopes.clone(),
            tool_scopes,
            verifier,
        }))
    }
}

/// A URL without a path is written without a slash, as clients and issuers write it.
fn trimmed(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}
