//! How this server proves who it is: a token, or the key of a GitHub App, for which octocrab asks a
//! token that lasts an hour, and the next one when it is needed.

use anyhow::Context;
use octocrab::{DefaultOctocrabBuilderConfig, NoAuth, NoSvc, NotLayerReady};
use octocrab::{Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret, SecretString};

use crate::config::Config;

pub(crate) enum SignIn {
    Nobody,
    Token(SecretString),
    #[cfg(feature = "github-app")]
    App {
        id: u64,
        installation: u64,
        key: octocrab::auth::EncodingKey,
    },
}

impl SignIn {
    /// What the flags and the environment say. Errors hold neither token nor key.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        #[cfg(feature = "github-app")]
        if let (Some(id), Some(installation), Some(path)) =
            (config.app_id, config.app_installation_id, &config.app_key_file)
        {
            let pem = std::fs::read(path)
                .with_context(|| format!("--app-key-file {}", path.display()))?;
            // The cause could quote the key.
            let key = octocrab::auth::EncodingKey::from_rsa_pem(&pem)
                .ok()
                .with_context(|| format!("{} holds no RSA key in PEM", path.display()))?;
            return Ok(Self::App { id, installation, key });
        }
        Ok(token(config)?.map_or(Self::Nobody, Self::Token))
    }

    /// For people: what kind it is, by how a token begins. Nothing of it is shown.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nobody => "no token",
            Self::Token(token) => token_kind(token.expose_secret()),
            #[cfg(feature = "github-app")]
            Self::App { .. } => "GitHub App installation",
        }
    }

    /// A client that is signed in. Sends nothing yet.
    pub(crate) fn build(self, builder: Builder) -> anyhow::Result<Octocrab> {
        Ok(match self {
            Self::Nobody => builder.build()?,
            Self::Token(token) => builder.personal_token(token).build()?,
            #[cfg(feature = "github-app")]
            Self::App { id, installation, key } => {
                builder.app(id.into(), key).build()?.installation(installation.into())?
            }
        })
    }
}

type Builder = OctocrabBuilder<NoSvc, DefaultOctocrabBuilderConfig, NoAuth, NotLayerReady>;

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

fn token_kind(token: &str) -> &'static str {
    let kinds = [
        ("github_pat_", "fine-grained personal token"),
        ("ghp_", "classic personal token"),
        ("gho_", "OAuth token"),
        ("ghu_", "GitHub App user token"),
        ("ghs_", "GitHub App installation token"),
    ];
    kinds.iter().find(|(prefix, _)| token.starts_with(prefix)).map_or("token", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_how_it_begins() {
        for (token, kind) in [
            ("github_pat_11A", "fine-grained personal token"),
            ("ghp_x", "classic personal token"),
            ("gho_x", "OAuth token"),
            ("ghu_x", "GitHub App user token"),
            ("ghs_x", "GitHub App installation token"),
            ("0123456789abcdef", "token"),
        ] {
            let sign_in = SignIn::Token(token.to_owned().into());
            assert_eq!(sign_in.kind(), kind);
        }
    }
}
