//! Content blocks: what tools and prompts say to the model.
//!
//! One superset of all revisions. [`crate::wire`] turns a kind an older revision does not know
//! into one it does.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::resource::{Resource, ResourceContents};

/// One block of a tool's or a prompt's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// For whom and how important; optional.
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    /// A picture.
    Image(Media),
    /// A sound; from 2025-03-26, text before.
    Audio(Media),
    /// A resource with its contents inlined.
    Resource {
        /// The inlined contents.
        resource: ResourceContents,
        /// For whom and how important; optional.
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    /// A resource the client may read later; from 2025-06-18, text before.
    ResourceLink(Resource),
}

/// Binary content and its MIME type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// The bytes in base64.
    pub data: String,
    /// For example `image/png`.
    pub mime_type: String,
    /// For whom and how important; optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
}

/// Hints for the client about a block or a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotations {
    /// Who it is meant for; empty: anybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// 0 (optional) to 1 (required).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// ISO 8601 date and time; from 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The two sides of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or what is put in their mouth.
    User,
    /// The model.
    Assistant,
}

impl Content {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), annotations: None }
    }

    /// A picture from its raw bytes.
    pub fn image(bytes: &[u8], mime_type: &str) -> Self {
        Self::Image(Media::new(bytes, mime_type))
    }

    /// A sound from its raw bytes.
    pub fn audio(bytes: &[u8], mime_type: &str) -> Self {
        Self::Audio(Media::new(bytes, mime_type))
    }

    /// A resource with its contents inlined.
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource { resource, annotations: None }
    }

    /// The same block with `annotations` on it.
    pub fn annotated(mut self, annotations: Annotations) -> Self {
        match &mut self {
            Self::Text { annotations: slot, .. } | Self::Resource { annotations: slot, .. } => {
                *slot = Some(annotations);
            }
            Self::Image(media) | Self::Audio(media) => media.annotations = Some(annotations),
            Self::ResourceLink(resource) => resource.annotations = Some(annotations),
        }
        self
    }
}

impl Media {
    fn new(bytes: &[u8], mime_type: &str) -> Self {
        Self { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned(), annotations: None }
    }
}
