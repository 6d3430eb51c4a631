//! Resources: their descriptions, their contents, and what a server says when it registers one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::content::Annotations;
use crate::error::Error;

/// What a resource or template handler returns.
pub type ResourceResult<T = Vec<ResourceContents>> = Result<T, Error>;

/// A resource as `resources/list` and resource links describe it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// RFC 3986 URI.
    pub uri: String,
    /// Short name for programs.
    pub name: String,
    /// Name for people; from 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One sentence for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// MIME type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Size of the raw contents in bytes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// For whom and how important; optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
}

/// The contents of one resource: text, or bytes in base64.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// The URI these contents belong to.
    pub uri: String,
    /// MIME type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text or the bytes.
    #[serde(flatten)]
    pub body: Body,
}

/// Most resources have one part; a handler may return it as it is.
impl From<ResourceContents> for Vec<ResourceContents> {
    fn from(contents: ResourceContents) -> Self {
        vec![contents]
    }
}

/// Text or bytes, never both.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// UTF-8 text.
    Text(String),
    /// Bytes in base64.
    Blob(String),
}

impl ResourceContents {
    /// Text contents.
    pub fn text(uri: impl Into<String>, mime_type: &str, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: Some(mime_type.to_owned()),
            body: Body::Text(text.into()),
        }
    }

    /// Binary contents from their raw bytes.
    pub fn blob(uri: impl Into<String>, mime_type: &str, bytes: &[u8]) -> Self {
        let body = Body::Blob(STANDARD.encode(bytes));
        Self { uri: uri.into(), mime_type: Some(mime_type.to_owned()), body }
    }

    /// A value as pretty-printed JSON text.
    pub fn json(uri: impl Into<String>, value: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Error::internal(&error))?;
        Ok(Self::text(uri, "application/json", text))
    }
}

/// What a server says about a resource or a template when it registers it.
#[derive(Debug, Clone, Default)]
pub struct ResourceOptions {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) cache: CacheHint,
}

impl ResourceOptions {
    /// `name` is short and for programs, for example `countdowns`.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Name for people.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// One sentence for the model. A template takes the doc comment of its parameters if this
    /// is not set.
    pub fn description(mut self, description: &str) -> Self {
        self.description = Some(description.to_owned());
        self
    }

    /// MIME type, for example `application/json`.
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.mime_type = Some(mime_type.to_owned());
        self
    }

    /// How long the contents may be kept (2026-07-28).
    pub fn cache(mut self, cache: CacheHint) -> Self {
        self.cache = cache;
        self
    }
}

/// How long a client may keep an answer, and for whom (2026-07-28, `ttlMs` and `cacheScope`).
/// The default is not to keep it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheHint {
    /// Milliseconds the answer stays fresh; 0: ask again each time.
    pub ttl_ms: u64,
    /// The answer is the same for every user, so a proxy may share it.
    pub public: bool,
}
