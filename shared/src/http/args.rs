//! The flags of a server that can be reached over HTTP.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::access::{Access, Auth};
use super::{Bind, Options};

#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP options")]
pub(crate) struct HttpArgs {
    /// Serve HTTP instead of standard input and output: an address such as 127.0.0.1:8080, or
    /// unix:/path.sock. Beyond this machine only with a token
    #[arg(long, value_name = "ADDRESS")]
    http: Option<Bind>,
    /// Accept requests addressed to this host name, beside the names of this machine; may be
    /// repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    hosts: Vec<String>,
    /// Accept requests of web pages from here, such as https://app.example, beside those from this
    /// machine; may be repeated
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    origins: Vec<String>,
    /// Let in only who brings the token in this file. Also the variable MCP_AUTH_TOKEN
    #[arg(long, value_name = "FILE", requires = "http")]
    auth_token_file: Option<PathBuf>,
    /// Connections at a time; more wait
    #[arg(long, value_name = "NUMBER", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..))]
    max_http_connections: u32,
    /// Sessions at a time; one more ends the one that was idle longest
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_sessions: u32,
    /// How long a session lives on that nobody uses
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    session_idle_secs: u64,
    #[cfg(feature = "oauth")]
    #[command(flatten)]
    oauth: super::oauth::args::OAuthArgs,
}

const TOKEN_VARIABLE: &str = "MCP_AUTH_TOKEN";

impl HttpArgs {
    /// `None` if the server is to speak on its standard streams.
    pub(crate) fn options(&self) -> anyhow::Result<Option<Options>> {
        let Some(bind) = self.http.clone() else {
            return Ok(None);
        };
        let auth = self.auth()?;
        anyhow::ensure!(
            !matches!(auth, Auth::Anybody) || !bind.is_public(),
            "{bind} can be reached from other machines: give a token by --auth-token-file or \
             {TOKEN_VARIABLE}, or an authorization server"
        );
        let access = Access::new(&bind, &self.hosts, &self.origins, auth);
        Ok(Some(Options {
            bind,
            access,
            max_connections: self.max_http_connections as usize,
            max_sessions: self.max_sessions as usize,
            session_idle: Duration::from_secs(self.session_idle_secs),
        }))
    }

    fn auth(&self) -> anyhow::Result<Auth> {
        let token = self.token()?;
        #[cfg(feature = "oauth")]
        if let Some(oauth) = self.oauth.build()? {
            anyhow::ensure!(token.is_none(), "either a token of our own, or --oauth-issuer");
            return Ok(Auth::Issued(Box::new(oauth)));
        }
        Ok(token.map_or(Auth::Anybody, Auth::token))
    }

    fn token(&self) -> anyhow::Result<Option<String>> {
        let (token, from) = match &self.auth_token_file {
            Some(path) => {
                let from = format!("--auth-token-file {}", path.display());
                let text = std::fs::read_to_string(path).with_context(|| from.clone())?;
                (text, from)
            }
            None => match std::env::var(TOKEN_VARIABLE) {
                Ok(text) => (text, TOKEN_VARIABLE.to_owned()),
                Err(_) => return Ok(None),
            },
        };
        let token = token.trim();
        let is_sendable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        anyhow::ensure!(is_sendable, "{from}: a token is printable ASCII without spaces");
        Ok(Some(token.to_owned()))
    }
}
