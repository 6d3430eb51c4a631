//! What may be asked of GitHub, and how often: retries, redirects, rate limits, ETags.
//!
//! A read is tried three times. A write is sent once, unless GitHub has certainly not carried it
//! out: no connection, a rate limit, or a redirect to the repository's new name. PUT and DELETE
//! say how things shall be, so they may be sent again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::Value;

use super::cache::Kept;
use super::client::{Broken, Raw};
use super::error::{self, Error};
use super::governor::Limit;
use super::{Backend, text};

const TRIES: u32 = 3;
const MAX_REDIRECTS: u32 = 3;

/// Who is told that a call waits.
pub(crate) trait Observer: Send + Sync {
    /// `why` is for people; both numbers only grow.
    fn waiting(&self, done_secs: u64, total_secs: u64, why: &str);
}

/// Nobody.
impl Observer for () {
    fn waiting(&self, _: u64, _: u64, _: &str) {}
}

/// GitHub, for the time of one call.
pub(crate) struct Api<'a> {
    pub(crate) backend: &'a Backend,
    observer: &'a dyn Observer,
    /// How often a request that may be repeated is sent.
    tries: u32,
    /// Waited for rate limits so far, of what a call may wait.
    waited_ms: AtomicU64,
}

/// A good answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) value: Value,
    /// The query of the next page, verbatim: it may hold a cursor only GitHub understands.
    pub(crate) next: Option<String>,
    pub(crate) raw: Raw,
}

/// How often this request has been sent, and why again.
#[derive(Default)]
struct Tries {
    broken: u32,
    refused: u32,
    redirected: u32,
}

impl<'a> Api<'a> {
    pub(crate) fn new(backend: &'a Backend, observer: &'a dyn Observer) -> Self {
        Self { backend, observer, tries: TRIES, waited_ms: AtomicU64::new(0) }
    }

    /// Takes the first answer, whatever it is: for finding out how GitHub is.
    pub(crate) fn impatient(self) -> Self {
        Self { tries: 1, ..self }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Error> {
        self.request(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        self.request(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        self.request(Method::PATCH, path, Some(body)).await
    }

    /// A body that has been looked at for secrets already.
    pub(crate) async fn patch_scanned(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        self.backend.policy.check_write(path, None)?;
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        if method != Method::GET {
            self.backend.policy.check_write(path, body)?;
        }
        self.send(method, path, body).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        let is_write = method != Method::GET;
        let body = body.map(|body| Bytes::from(body.to_string()));
        let may_repeat = !matches!(method, Method::POST | Method::PATCH);
        let mut path = path.to_owned();
        let mut tries = Tries::default();
        loop {
            self.wait_before(&path, is_write).await?;
            let kept = (!is_write).then(|| self.backend.cache.get(&path)).flatten();
            let etag = kept.as_ref().map(|kept| &kept.etag);
            let sent = self.backend.client.exchange(&method, &path, body.as_ref(), etag).await;
            let raw = match sent {
                Ok(raw) => raw,
                Err(broken) => {
                    self.pause_after(broken, may_repeat, &mut tries).await?;
                    continue;
                }
            };
            self.backend.governor.note(&path, &raw);
            if let Some(limit) = self.backend.governor.limit(&raw, tries.refused) {
                tries.refused += 1;
                self.wait(limit, tries.refused >= self.tries).await?;
                continue;
            }
            match raw.status {
                StatusCode::NOT_MODIFIED if let Some(kept) = kept => {
                    return self.answer(&path, from_cache(&kept, raw));
                }
                status if status.is_success() => {
                    self.keep(&method, &path, &raw);
                    return self.answer(&path, raw);
                }
                StatusCode::NOT_FOUND if method == Method::DELETE && tries.broken > 0 => {
                    return Ok(Answer { value: Value::Null, next: None, raw });
                }
                StatusCode::NOT_MODIFIED => {
                    return Err(Error::Unreadable { cause: format!("{path}: 304 unasked") });
                }
                status if status.is_redirection() => {
                    path = self.redirected(&raw, is_write, &mut tries)?;
                }
                status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
                    let broken = Broken::Lost(format!("{status} for {method} {path}"));
                    self.pause_after(broken, may_repeat, &mut tries).await?;
                }
                _ => {
                    let is_enterprise = !self.backend.client.base.prefix.is_empty();
                    return Err(explain(&method, &path, &raw, is_enterprise));
                }
            }
        }
    }

    /// Waits until the request may be sent.
    async fn wait_before(&self, path: &str, is_write: bool) -> Result<(), Error> {
        if let Some(limit) = self.backend.governor.before(path) {
            self.wait(limit, false).await?;
        }
        if is_write {
            tokio::time::sleep_until(self.backend.governor.write_turn()).await;
        }
        Ok(())
    }

    /// Pauses before another try, or says why there is none.
    async fn pause_after(
        &self,
        broken: Broken,
        may_repeat: bool,
        tries: &mut Tries,
    ) -> Result<(), Error> {
        tries.broken += 1;
        let (is_safe, error) = match broken {
            Broken::NotSent(cause) => (true, Error::Unreachable { cause }),
            Broken::Lost(cause) if may_repeat => (true, Error::Unreachable { cause }),
            Broken::Lost(cause) => (false, Error::Unconfirmed { cause }),
            Broken::TooLarge { max_bytes } => (false, Error::TooLarge { max_bytes }),
            Broken::NotSignedIn(message) => {
                (false, Error::NotSignedIn { message: text::redact(&text::line(&message, 200)) })
            }
        };
        if !is_safe || tries.broken >= self.tries {
            return Err(error);
        }
        let pause = self.backend.governor.pauses.retry * 2_u32.pow(tries.broken - 1);
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Waits for a rate limit while the client sees how long, or says when it will be open.
    async fn wait(&self, limit: Limit, is_last: bool) -> Result<(), Error> {
        let before = Duration::from_millis(self.waited_ms.load(Ordering::Relaxed));
        let total = before.saturating_add(limit.wait);
        if is_last || total > self.backend.max_wait {
            let retry_at = SystemTime::now().checked_add(limit.wait);
            let retry_at = retry_at.unwrap_or_else(SystemTime::now);
            return Err(Error::RateLimited { kind: limit.kind, retry_at });
        }
        self.waited_ms.fetch_add(millis(limit.wait), Ordering::Relaxed);
        let why = format!("waiting for GitHub's rate limit ({})", limit.kind);
        let mut left = limit.wait;
        while !left.is_zero() {
            self.observer.waiting((total - left).as_secs(), total.as_secs(), &why);
            let step = left.min(Duration::from_secs(1));
            tokio::time::sleep(step).await;
            left -= step;
        }
        Ok(())
    }

    /// The path a redirect leads to, if it is one to follow: below the same base, and for a write
    /// one that keeps method and body.
    fn redirected(&self, raw: &Raw, is_write: bool, tries: &mut Tries) -> Result<String, Error> {
        tries.redirected += 1;
        let keeps_method =
            matches!(raw.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let follows = tries.redirected <= MAX_REDIRECTS && (!is_write || keeps_method);
        let to =
            raw.header("location").and_then(|location| self.backend.client.base.below(location));
        to.filter(|_| follows).ok_or(Error::Moved)
    }

    fn keep(&self, method: &Method, path: &str, raw: &Raw) {
        if let (&Method::GET, StatusCode::OK, Some(etag)) =
            (method, raw.status, raw.headers.get(http::header::ETAG))
        {
            let kept =
                Kept { etag: etag.clone(), headers: raw.headers.clone(), body: raw.body.clone() };
            self.backend.cache.put(path, kept);
        }
    }

    fn answer(&self, path: &str, raw: Raw) -> Result<Answer, Error> {
        let value = if raw.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&raw.body)
                .map_err(|error| Error::Unreadable { cause: format!("{path}: {error}") })?
        };
        let next = self.next_query(&raw);
        Ok(Answer { value, next, raw })
    }

    /// The query of `Link: <…>; rel="next"`.
    fn next_query(&self, raw: &Raw) -> Option<String> {
        let links = raw.header("link")?;
        let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
        let url = next.split_once('<')?.1.split_once('>')?.0;
        let path = self.backend.client.base.below(url)?;
        path.split_once('?').map(|(_, query)| query.to_owned())
    }
}

impl Answer {
    /// GitHub's clock, which is the one its timestamps are by.
    pub(crate) fn time(&self) -> SystemTime {
        let date = self.raw.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
        date.unwrap_or_else(SystemTime::now)
    }

    pub(crate) fn items(&self) -> &[Value] {
        self.value.as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

fn from_cache(kept: &Kept, fresh: Raw) -> Raw {
    let mut headers = kept.headers.clone();
    headers.extend(fresh.headers);
    Raw { status: StatusCode::OK, headers, body: kept.body.clone() }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A refusal, in words.
fn explain(method: &Method, path: &str, raw: &Raw, is_enterprise: bool) -> Error {
    let message = error::message(&raw.body);
    match raw.status {
        StatusCode::UNAUTHORIZED => Error::Unauthorized,
        StatusCode::NOT_FOUND => {
            let path = path.split('?').next().unwrap_or_default();
            let what = text::excerpt(&format!("{method} {path}"), 200);
            let mut hint = hint(raw);
            if is_enterprise && is_new(path) {
                hint.push_str(" This Enterprise Server may be too old for it.");
            }
            Error::NotFound { what, hint }
        }
        StatusCode::FORBIDDEN => Error::Forbidden { message, hint: hint(raw) },
        StatusCode::GONE => Error::Gone { message },
        StatusCode::UNPROCESSABLE_ENTITY => Error::Invalid { message },
        status => Error::Refused { status: status.as_u16(), message },
    }
}

/// What Enterprise Servers have learnt after 3.17, as far as it is asked for here.
fn is_new(path: &str) -> bool {
    ["/sub_issue", "/sub_issues", "/parent", "/pin"].iter().any(|end| path.ends_with(end))
        || path.contains("/dependencies/")
}

/// What GitHub says about the token: which permission is needed, and single sign-on.
fn hint(raw: &Raw) -> String {
    let mut hint = String::new();
    let says =
        |name: &str| raw.header(name).map(|text| text::line(text, 120)).filter(|t| !t.is_empty());
    if let Some(needed) = says("x-accepted-github-permissions") {
        hint.push_str(&format!(" The token needs the permission {needed}."));
    }
    if let (Some(needed), Some(has)) = (says("x-accepted-oauth-scopes"), says("x-oauth-scopes")) {
        hint.push_str(&format!(" It needs one of the scopes {needed}; it has {has}."));
    }
    if says("x-github-sso").is_some() {
        hint.push_str(" The organisation wants single sign-on: authorize the token for it.");
    }
    hint
}
