//! One request, one answer, in bounded time and space. octocrab holds the connection and the
//! token, and renews the token of an App; its retries and redirects are compiled out, because it
//! would repeat a POST.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use octocrab::{OctoBody, Octocrab};

use super::base_url::BaseUrl;
use super::sign_in::SignIn;

/// A page of 100 issues with long bodies stays well below.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const API_VERSION: &str = "2022-11-28";

pub(crate) struct Client {
    crab: Octocrab,
    pub(crate) base: BaseUrl,
    timeout: Duration,
}

/// What came back, whatever its status.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why nothing came back, or nothing whole.
#[derive(Debug)]
pub(crate) enum Broken {
    /// No connection: GitHub has not seen the request.
    NotSent(String),
    /// It may have been carried out.
    Lost(String),
    /// The answer is too large to be held.
    TooLarge { max_bytes: usize },
    /// The App was given no token, so the request was not sent.
    NotSignedIn(String),
}

impl Client {
    /// Must be called within the runtime.
    pub(crate) fn new(base: BaseUrl, sign_in: SignIn, timeout: Duration) -> anyhow::Result<Self> {
        let agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        let builder = Octocrab::builder()
            // octocrab's own requests, for an App's token, lack the prefix.
            .base_uri(format!("{}{}", base.origin, base.prefix))?
            .set_connect_timeout(Some(CONNECT_TIMEOUT.min(timeout)))
            .add_header(USER_AGENT, agent.to_owned())
            .add_header(ACCEPT, "application/vnd.github+json".to_owned())
            .add_header(HeaderName::from_static("x-github-api-version"), API_VERSION.to_owned());
        Ok(Self { crab: sign_in.build(builder)?, base, timeout })
    }

    /// `path` begins with a slash and is encoded already.
    pub(crate) async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Bytes>,
        etag: Option<&HeaderValue>,
    ) -> Result<Raw, Broken> {
        // Without an origin, which octocrab adds: it signs in to no other. With the prefix, which it
        // then leaves as it is.
        let uri = format!("{}{path}", self.base.prefix);
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let request = match body {
            Some(body) => {
                request.header(CONTENT_TYPE, "application/json").body(OctoBody::from(body.clone()))
            }
            None if *method == Method::GET => request.body(OctoBody::empty()),
            None => request.header(CONTENT_LENGTH, 0).body(OctoBody::empty()),
        };
        let request = request.map_err(|error| Broken::NotSent(error.to_string()))?;
        match tokio::time::timeout(self.timeout, self.send(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Broken::Lost(format!("no answer within {:?}", self.timeout))),
        }
    }

    async fn send(&self, request: Request<OctoBody>) -> Result<Raw, Broken> {
        let response = self.crab.execute(request).await.map_err(|error| {
            let text = with_sources(&error);
            match error {
                _ if is_connect(&error) => Broken::NotSent(text),
                // What GitHub says to our own requests is no error to octocrab; this is about its own.
                octocrab::Error::GitHub { source, .. } => Broken::NotSignedIn(source.message),
                _ => Broken::Lost(text),
            }
        })?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                Broken::TooLarge { max_bytes: MAX_ANSWER_BYTES }
            } else {
                Broken::Lost(with_sources(error.as_ref()))
            }
        })?;
        Ok(Raw { status: parts.status, headers: parts.headers, body: body.to_bytes() })
    }
}

impl Raw {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// octocrab's own text is no more than "Service Error"; the causes are below.
fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {}", cause.to_string().lines().next().unwrap_or_default());
        source = cause.source();
    }
    super::text::redact(&super::text::excerpt(&text, 500))
}

fn is_connect(error: &octocrab::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        let client = cause.downcast_ref::<hyper_util::client::legacy::Error>();
        if client.is_some_and(hyper_util::client::legacy::Error::is_connect) {
            return true;
        }
        source = cause.source();
    }
    false
}
