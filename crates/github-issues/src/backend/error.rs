//! Why something did not work, with the text a model reads: what happened and what to try.
//! GitHub's own words in it are shortened and cleaned; a token is in none of them.

use std::time::{Duration, SystemTime};

use super::text;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{text:?} is not a repository. Write it as `owner/name`.")]
    BadRepo { text: String },
    #[error("Say which repository: `repo` is missing, and this server serves more than one.")]
    NoRepo,
    #[error("{name:?} cannot be used as a name here.")]
    BadName { name: String },
    #[error("This server may not touch {repo}. It serves: {served}.")]
    NotServed { repo: String, served: String },
    #[error("This server may read {repo} and not change it. It may change: {writable}.")]
    NotWritable { repo: String, writable: String },
    #[error("This server is read-only; nothing was changed.")]
    ReadOnly,
    #[error("The cursor does not fit. Leave it out to start from the beginning.")]
    BadCursor,
    #[error("{0}")]
    BadArguments(String),
    #[error(
        "Nothing was sent: the text holds {kind}, and issues are read by strangers. Take it out."
    )]
    Secret { kind: &'static str },
    #[error("There is no {kind} {name:?} in {place}.{hint}")]
    UnknownName { kind: &'static str, name: String, place: String, hint: String },
    #[error(
        "GitHub does not know the token, or it has expired (401). The operator must give this server a valid one."
    )]
    Unauthorized,
    #[error(
        "GitHub gives this server's App no token ({message}). The operator must mend its installation or key; nothing was sent."
    )]
    NotSignedIn { message: String },
    #[error("GitHub knows nothing here, or the token may not see it (404): {what}.{hint}")]
    NotFound { what: String, hint: String },
    #[error("The token may not do this (403): {message}{hint}")]
    Forbidden { message: String, hint: String },
    #[error("It is gone (410): {message}. Do not try again.")]
    Gone { message: String },
    #[error("GitHub refuses it (422): {message}")]
    Invalid { message: String },
    #[error("GitHub says {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("GitHub's rate limit ({kind}) is used up; it is open again at {}. This request changed nothing; try then.", at(*retry_at))]
    RateLimited { kind: &'static str, retry_at: SystemTime },
    #[error(
        "It has moved to another address this server does not follow; ask for the repository's new name."
    )]
    Moved,
    #[error(
        "GitHub cannot be reached, or gives no answer. This request changed nothing; try again later."
    )]
    Unreachable { cause: String },
    /// A write whose answer never came: it may have happened.
    #[error("GitHub did not confirm, so it may have happened or not. Look before you try again.")]
    Unconfirmed { cause: String },
    #[error("GitHub's answer could not be read.")]
    Unreadable { cause: String },
    #[error("GitHub's answer is larger than {max_bytes} bytes. Ask for less.")]
    TooLarge { max_bytes: usize },
}

impl Error {
    /// What belongs into the log and not before a model.
    pub(crate) fn cause(&self) -> Option<&str> {
        match self {
            Self::Unreachable { cause }
            | Self::Unconfirmed { cause }
            | Self::Unreadable { cause } => Some(cause),
            _ => None,
        }
    }
}

fn at(time: SystemTime) -> String {
    // Up to the next full second, so that whoever comes then is not too early.
    humantime::format_rfc3339_seconds(time + Duration::from_millis(999)).to_string()
}

/// What GitHub says in an error body: its message and the fields at fault.
pub(crate) fn message(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
        return "no reason given".to_owned();
    };
    let word = |value: &serde_json::Value, name: &str| {
        value.get(name).and_then(serde_json::Value::as_str).map(str::to_owned)
    };
    let mut message = word(&value, "message").unwrap_or_else(|| "no reason given".to_owned());
    let details = value.get("errors").and_then(serde_json::Value::as_array);
    for detail in details.into_iter().flatten().take(5) {
        let said = word(detail, "message").or_else(|| detail.as_str().map(str::to_owned));
        let coded = || {
            let value = detail.get("value").filter(|value| !value.is_null());
            let value = value.map(|value| format!(" ({value})")).unwrap_or_default();
            Some(format!("`{}` is {}{value}", word(detail, "field")?, word(detail, "code")?))
        };
        if let Some(text) = said.or_else(coded) {
            message.push_str("; ");
            message.push_str(&text);
        }
    }
    text::redact(&text::line(&message, 400))
}
