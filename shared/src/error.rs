//! Failures, each with two texts: one for the model on the wire, one for the log.
//!
//! There is no conversion from "any error": a server writes `impl From<its::Error> for ToolError`
//! once and decides there what a stranger may read, so driver messages and paths cannot leak
//! through a `?`.

use std::borrow::Cow;
use std::fmt;

/// What a tool returns.
pub type ToolResult<T> = Result<T, ToolError>;

/// A failed tool call. The client gets a result with `isError: true`, so that the model can read
/// the text and try again.
#[derive(Debug)]
pub struct ToolError {
    message: String,
    cause: Option<String>,
    request: Option<Box<Error>>,
}

impl ToolError {
    /// `message` says what went wrong and what to try next. It goes to the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, request: None }
    }

    /// Fails the request itself instead: the client gets an error in place of a result, and the
    /// model nothing.
    pub fn request(error: Error) -> Self {
        Self { request: Some(Box::new(error)), ..Self::new("") }
    }

    pub(crate) fn into_request_error(self) -> Result<Error, Self> {
        match self.request {
            Some(error) => Ok(*error),
            None => Err(self),
        }
    }

    /// Adds the cause, which goes to the log and nowhere else.
    pub fn caused_by(mut self, cause: &(impl fmt::Debug + ?Sized)) -> Self {
        self.cause = Some(format!("{cause:?}"));
        self
    }

    /// The text for the model.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// A failed request that is not a tool call. It carries no error code: which number a revision
/// uses for it is known to `wire` alone.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The method does not exist in the revision spoken, or the server does not offer it.
    MethodNotFound(String),
    /// The request itself is out of place, for example a second `initialize`.
    InvalidRequest(Cow<'static, str>),
    /// A parameter is missing, of the wrong type, or names something unknown.
    InvalidParams(Cow<'static, str>),
    /// The request lacks the `_meta` members that every request of 2026-07-28 carries.
    MissingEnvelope(Vec<&'static str>),
    /// The headers of the HTTP request say something else than the request itself (2026-07-28).
    HeaderMismatch(String),
    /// The request asks for a revision this server does not speak.
    UnsupportedVersion(String),
    /// No resource has this URI.
    ResourceNotFound(String),
    /// The client has not declared a capability the answer depends on, given in the shape a
    /// client declares it.
    MissingCapability(serde_json::Value),
    /// A limit of this server is reached; the text says which and what to do.
    Refused(&'static str),
    /// More calls than the server takes in a second.
    RateLimited {
        /// Not before this time is a call let through again.
        retry_after: std::time::Duration,
    },
    /// The request took longer than the server lets one take.
    TimedOut(String),
    /// Something on our side failed. The text goes to the log; the wire says "Internal error".
    Internal(String),
}

impl Error {
    /// A parameter is wrong; `message` says which and what was expected.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::InvalidParams(message.into())
    }

    /// No resource has this URI.
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        Self::ResourceNotFound(uri.into())
    }

    /// Something on our side failed; only the log sees `cause`.
    pub fn internal(cause: &(impl fmt::Debug + ?Sized)) -> Self {
        Self::Internal(format!("{cause:?}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MethodNotFound(method) => write!(f, "Method not found: {method}"),
            Self::InvalidRequest(message) | Self::InvalidParams(message) => f.write_str(message),
            Self::MissingEnvelope(keys) => {
                write!(f, "The request's `_meta` must hold {}", keys.join(" and "))
            }
            Self::UnsupportedVersion(version) => {
                write!(f, "Unsupported protocol version: {version}")
            }
            Self::ResourceNotFound(uri) => write!(f, "Resource not found: {uri}"),
            Self::MissingCapability(capabilities) => {
                write!(f, "The client must declare the capability {capabilities}")
            }
            Self::Refused(message) => f.write_str(message),
            Self::HeaderMismatch(message) => f.write_str(message),
            Self::TimedOut(message) => f.write_str(message),
            Self::RateLimited { retry_after } => {
                write!(f, "Too many calls; try again in {} ms", retry_after.as_millis() + 1)
            }
            Self::Internal(_) => f.write_str("Internal error"),
        }
    }
}

impl std::error::Error for Error {}
