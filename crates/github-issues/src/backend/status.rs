//! How GitHub is, and what the token may do there: the first thing to look at when nothing works.

use serde_json::Value;

use super::api::{Answer, Api};
use super::error::Error;
use super::model::{number, text};
use super::text::line;

/// Repositories that are looked at.
const MAX_REPOS: usize = 5;

/// Each part says why it is not known, if it is not.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) api: String,
    /// Whose token it is, and what kind.
    pub(crate) token: String,
    /// Of GitHub Enterprise Server; github.com has none.
    pub(crate) version: Option<String>,
    /// One line a window: `core 4999 of 5000 left until …`.
    pub(crate) windows: Vec<String>,
    /// Whether the repositories served by name can be read, or why not.
    pub(crate) repos: Vec<String>,
}

impl Api<'_> {
    pub(crate) async fn status(&self) -> Status {
        let (user, limits, meta, repos) = tokio::join!(
            self.get("/user"),
            self.get("/rate_limit"),
            self.get("/meta"),
            self.look_at_repos()
        );
        let version = meta.ok().and_then(|meta| {
            let header = meta.raw.header("x-github-enterprise-version").map(str::to_owned);
            text(&meta.value, "installed_version").or(header)
        });
        let base = &self.backend.client.base;
        Status {
            api: format!("{}{}", base.origin, base.prefix),
            token: format!("{}, {}", self.backend.token_kind, token(user)),
            version: version.map(|version| line(&version, 40)),
            windows: match limits {
                Ok(limits) => windows(&limits.value),
                Err(error) => vec![error.to_string()],
            },
            repos,
        }
    }

    async fn look_at_repos(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for repo in self.backend.policy.repos().take(MAX_REPOS) {
            let answer = match repo.path(&["issues"]) {
                Ok(path) => self.get(&format!("{path}?per_page=1")).await,
                Err(error) => Err(error),
            };
            lines.push(match answer {
                Ok(answer) => format!("{repo}: issues can be read{}", sso(&answer)),
                Err(error) => format!("{repo}: {error}"),
            });
        }
        lines
    }
}

/// GitHub leaves out what single sign-on keeps from the token, and says so in a header only.
fn sso(answer: &Answer) -> &'static str {
    match answer.raw.header("x-github-sso") {
        Some(_) => ", but not what needs single sign-on: authorize the token for the organisation",
        None => "",
    }
}

fn token(user: Result<Answer, Error>) -> String {
    match user {
        Ok(answer) => {
            let login = text(&answer.value, "login").unwrap_or_else(|| "nobody".to_owned());
            let scopes = match answer.raw.header("x-oauth-scopes") {
                Some("") => ", no scopes".to_owned(),
                Some(scopes) => format!(", scopes {}", line(scopes, 200)),
                None => String::new(),
            };
            let expires = answer.raw.header("github-authentication-token-expiration");
            let expires = expires.map(|at| format!(", until {}", line(at, 40))).unwrap_or_default();
            format!("of @{}{scopes}{expires}", line(&login, 40))
        }
        Err(error) => error.to_string(),
    }
}

fn windows(value: &Value) -> Vec<String> {
    let resources = value.get("resources").and_then(Value::as_object);
    let window = |name: &str| {
        let window = resources?.get(name)?;
        let reset = std::time::Duration::from_secs(number(window, "reset")?);
        let reset = std::time::UNIX_EPOCH.checked_add(reset)?;
        Some(format!(
            "{name}: {} of {} left until {}",
            number(window, "remaining")?,
            number(window, "limit")?,
            humantime::format_rfc3339_seconds(reset)
        ))
    };
    ["core", "search"].into_iter().filter_map(window).collect()
}
