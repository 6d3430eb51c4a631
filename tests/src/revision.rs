//! The five revisions of the protocol, and the envelope each of them puts around a message.
//!
//! Written from the specification alone: nothing here is shared with the servers under test.

use serde_json::{Map, Value, json};
use std::fmt;

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// One dated revision. The order is the order of publication, so `<` reads "older than".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// Every revision, oldest first.
pub const ALL: &[Revision] = &[V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];
/// The revisions that open a session with `initialize`.
pub const LEGACY: &[Revision] = &[V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];
/// The revisions in which every request describes itself.
pub const MODERN: &[Revision] = &[V2026_07_28];
pub const SINCE_2025_03: &[Revision] = &[V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];
pub const SINCE_2025_06: &[Revision] = &[V2025_06_18, V2025_11_25, V2026_07_28];
pub const SINCE_2025_11: &[Revision] = &[V2025_11_25, V2026_07_28];
pub const BEFORE_2025_06: &[Revision] = &[V2024_11_05, V2025_03_26];
/// The revisions whose sessions go over Streamable HTTP.
pub const STREAMABLE: &[Revision] = &[V2025_03_26, V2025_06_18, V2025_11_25];
pub const MIDDLE: &[Revision] = &[V2025_06_18, V2025_11_25];
pub const ONLY_2024_11: &[Revision] = &[V2024_11_05];
pub const ONLY_2025_03: &[Revision] = &[V2025_03_26];
pub const ONLY_2025_11: &[Revision] = &[V2025_11_25];

impl Revision {
    pub fn date(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    /// The one-letter name the case files use, `A` for the oldest.
    pub fn letter(self) -> char {
        match self {
            V2024_11_05 => 'A',
            V2025_03_26 => 'B',
            V2025_06_18 => 'C',
            V2025_11_25 => 'D',
            V2026_07_28 => 'E',
        }
    }

    pub fn from_date(date: &str) -> Option<Revision> {
        ALL.iter().copied().find(|revision| revision.date() == date)
    }

    pub fn from_letter(letter: char) -> Option<Revision> {
        ALL.iter().copied().find(|revision| revision.letter() == letter)
    }

    pub fn is_modern(self) -> bool {
        self == V2026_07_28
    }

    /// A request any server must answer at once and that changes nothing: the engine's probe for
    /// "is the connection alive", and the marker behind which nothing may still be outstanding.
    pub fn harmless_method(self) -> &'static str {
        if self.is_modern() { "server/discover" } else { "ping" }
    }

    /// The `_meta` object a request of this revision carries.
    pub fn meta(self) -> Value {
        if !self.is_modern() {
            return json!({});
        }
        json!({
            PROTOCOL_VERSION: self.date(),
            CLIENT_CAPABILITIES: {},
            CLIENT_INFO: {"name": "conformance", "version": "1.0.0"},
        })
    }

    /// `params` with this revision's envelope merged in; keys the caller set win.
    pub fn envelope(self, params: Value) -> Option<Value> {
        if !self.is_modern() {
            return (!params.is_null()).then_some(params);
        }
        let mut params = match params {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            other => return Some(other),
        };
        let Value::Object(mut meta) = self.meta() else {
            return Some(Value::Object(params));
        };
        if let Some(Value::Object(own)) = params.remove("_meta") {
            meta.extend(own);
        }
        params.insert("_meta".to_owned(), Value::Object(meta));
        Some(Value::Object(params))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.date())
    }
}

/// The parameters of `initialize`, asking for `version`, which need not be one that exists.
pub fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "conformance", "version": "1.0.0"},
    })
}
