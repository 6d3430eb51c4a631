//! GitHub's rate limits: what is left of each window, and what an answer says about waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use tokio::time::Instant;

use super::client::Raw;
use crate::config::Config;

/// However seldom GitHub wants to be polled, subscriptions are not forgotten.
const MAX_POLL_SECS: u64 = 3600;

/// The pauses between tries. Tests make them short.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    /// Between two writes; GitHub asks for a second.
    pub(crate) between_writes: Duration,
    /// Before the second try of a read; doubled for the third.
    pub(crate) retry: Duration,
    /// After a secondary limit that names no time; doubled each time.
    pub(crate) secondary: Duration,
    /// Between two looks at what somebody has subscribed to.
    pub(crate) poll: Duration,
}

impl Pauses {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            between_writes: Duration::from_millis(config.write_pause_ms),
            retry: Duration::from_millis(500),
            secondary: Duration::from_secs(60),
            poll: Duration::from_secs(config.poll_secs),
        }
    }
}

/// One of GitHub's windows, as its headers last said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset: SystemTime,
}

/// Wait this long, for this reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) kind: &'static str,
    pub(crate) wait: Duration,
}

#[derive(Debug)]
pub(crate) struct Governor {
    pub(crate) pauses: Pauses,
    windows: Mutex<HashMap<&'static str, Window>>,
    next_write: Mutex<Option<Instant>>,
    poll_secs: AtomicU64,
}

impl Governor {
    pub(crate) fn new(pauses: Pauses) -> Self {
        Self {
            pauses,
            windows: Mutex::default(),
            next_write: Mutex::default(),
            poll_secs: AtomicU64::new(0),
        }
    }

    /// The configured interval, or GitHub's own where it has asked for a longer one.
    pub(crate) fn poll_interval(&self) -> Duration {
        self.pauses.poll.max(Duration::from_secs(self.poll_secs.load(Ordering::Relaxed)))
    }

    /// What the request's window demands before it is sent.
    pub(crate) fn before(&self, path: &str) -> Option<Limit> {
        let name = window_name(path)?;
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(name).filter(|window| window.remaining == 0)?;
        let wait = window.reset.duration_since(SystemTime::now()).ok()?;
        Some(Limit { kind: name, wait })
    }

    /// When the next write may be sent; each caller gets a time of its own.
    pub(crate) fn write_turn(&self) -> Instant {
        let mut next = self.next_write.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let turn = next.map_or(now, |next| next.max(now));
        *next = Some(turn + self.pauses.between_writes);
        turn
    }

    /// Remembers what the headers say about the window.
    pub(crate) fn note(&self, path: &str, answer: &Raw) {
        let number = |name| answer.header(name).and_then(|text| text.parse::<u64>().ok());
        if let Some(secs) = number("x-poll-interval") {
            self.poll_secs.store(secs.min(MAX_POLL_SECS), Ordering::Relaxed);
        }
        let numbers = (
            number("x-ratelimit-limit"),
            number("x-ratelimit-remaining"),
            number("x-ratelimit-reset"),
        );
        if let (Some(name), (Some(limit), Some(remaining), Some(reset))) =
            (window_name(path), numbers)
        {
            let reset = UNIX_EPOCH.checked_add(Duration::from_secs(reset)).unwrap_or(UNIX_EPOCH);
            let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
            windows.insert(name, Window { limit, remaining, reset });
        }
    }

    /// Whether the answer is a refusal by a rate limit and not by a permission. `refusals` counts
    /// those this request had before.
    pub(crate) fn limit(&self, answer: &Raw, refusals: u32) -> Option<Limit> {
        if !matches!(answer.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
            return None;
        }
        let seconds = |name| answer.header(name).and_then(|text| text.parse::<u64>().ok());
        if let Some(wait) = seconds("retry-after") {
            return Some(Limit { kind: "secondary", wait: Duration::from_secs(wait) });
        }
        if seconds("x-ratelimit-remaining") == Some(0) {
            let reset = Duration::from_secs(seconds("x-ratelimit-reset").unwrap_or_default());
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // A clock behind GitHub's must not make this a busy loop.
            let wait = reset.saturating_sub(now).max(self.pauses.retry);
            return Some(Limit { kind: "primary", wait });
        }
        let says = String::from_utf8_lossy(&answer.body).to_lowercase();
        let is_secondary = answer.status == StatusCode::TOO_MANY_REQUESTS
            || ["secondary rate limit", "abuse detection", "rate limit exceeded"]
                .iter()
                .any(|words| says.contains(words));
        let wait = self.pauses.secondary.saturating_mul(2_u32.saturating_pow(refusals));
        is_secondary.then_some(Limit { kind: "secondary", wait })
    }
}

/// Which window a request counts against; `/rate_limit` counts against none.
fn window_name(path: &str) -> Option<&'static str> {
    match path.split(['/', '?']).nth(1) {
        Some("rate_limit") => None,
        Some("search") => Some("search"),
        Some("graphql") => Some("graphql"),
        _ => Some("core"),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Raw {
        let headers: HeaderMap = headers
            .iter()
            .map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v)))
            .collect();
        Raw { status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() }
    }

    fn pauses() -> Pauses {
        Pauses::new(&Config { write_pause_ms: 1000, poll_secs: 60, ..Config::default() })
    }

    #[test]
    fn limits_are_told_from_permissions() {
        let governor = Governor::new(pauses());
        let secondary = r#"{"message":"You have exceeded a secondary rate limit"}"#;
        for (status, headers, body, kind, wait) in [
            (403, &[("retry-after", "7")][..], "", Some("secondary"), 7),
            (429, &[("retry-after", "7")][..], "", Some("secondary"), 7),
            (403, &[("x-ratelimit-remaining", "4990")][..], secondary, Some("secondary"), 60),
            (429, &[][..], "", Some("secondary"), 60),
            (403, &[("x-ratelimit-remaining", "4990")][..], "Resource not accessible", None, 0),
            (404, &[("retry-after", "7")][..], "", None, 0),
            (200, &[("x-ratelimit-remaining", "0")][..], "", None, 0),
        ] {
            let limit = governor.limit(&answer(status, headers, body), 0);
            let expected = kind.map(|kind| Limit { kind, wait: Duration::from_secs(wait) });
            assert_eq!(limit, expected, "{status} {headers:?} {body}");
        }
        assert_eq!(governor.limit(&answer(429, &[], ""), 2).unwrap().wait.as_secs(), 240);
        let far = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999")];
        assert_eq!(governor.limit(&answer(403, &far, ""), 0).unwrap().kind, "primary");
    }

    #[test]
    fn an_empty_window_is_known_beforehand() {
        let governor = Governor::new(pauses());
        let empty = [
            ("x-ratelimit-limit", "30"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "99999999999"),
        ];
        governor.note("/search/issues?q=x", &answer(200, &empty, ""));
        assert!(governor.before("/search/issues?q=y").is_some());
        assert!(governor.before("/repos/o/r/issues").is_none());
        assert!(governor.before("/rate_limit").is_none());
        let past = [empty[0], empty[1], ("x-ratelimit-reset", "1")];
        governor.note("/search/issues?q=x", &answer(200, &past, ""));
        assert!(governor.before("/search/issues?q=y").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn writes_take_turns() {
        let governor = Governor::new(pauses());
        let (first, second) = (governor.write_turn(), governor.write_turn());
        assert_eq!(second - first, Duration::from_secs(1));
    }
}
