//! The five revisions of the protocol, and what each of them can express.
//!
//! Every question "may this be sent to that peer?" is a method here, so that the adapters in
//! [`crate::wire`] read as statements and a sixth revision is one more column.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A published revision of the Model Context Protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Revision {
    /// The first public revision: stdio, and HTTP with a separate SSE stream.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// Streamable HTTP, JSON-RPC batches, audio, tool annotations, completions capability.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// Structured tool output, resource links, elicitation, titles; batches removed.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// Tasks, icons, URL elicitation, tools in sampling.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// Stateless: every request carries its own envelope; no handshake, no server requests.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision that begins with an `initialize` handshake.
    pub const NEWEST_STATEFUL: Self = Self::V2025_11_25;

    /// The date string used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this date string, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// What `initialize` answers to `requested`: the same revision if it has a handshake,
    /// otherwise our newest that has one. A date that knows no handshake is never agreed to.
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| !revision.is_stateless())
            .unwrap_or(Self::NEWEST_STATEFUL)
    }

    /// Requests carry their own envelope in `_meta`; there is no session.
    pub const fn is_stateless(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    pub(crate) fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(crate) fn has_tool_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(crate) fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(crate) fn has_completions_capability(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(crate) fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `structuredContent` must be an object; other values are wrapped as `{"result": …}`.
    pub(crate) fn wants_structured_object(self) -> bool {
        self < Self::V2026_07_28
    }

    pub(crate) fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    pub(crate) fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Forms and URLs are told apart; choices have titles and may be several.
    pub(crate) fn has_elicitation_modes(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Tools in sampling, and messages of several blocks.
    pub(crate) fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(crate) fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    pub(crate) fn has_last_modified(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// An error that belongs to no request leaves `id` out; older revisions say `null`.
    pub(crate) fn has_tasks(self) -> bool {
        self >= Self::V2025_11_25
    }

    #[cfg(feature = "http")]
    pub(crate) fn has_priming_events(self) -> bool {
        self == Self::V2025_11_25
    }

    pub(crate) fn omits_unknown_id(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
