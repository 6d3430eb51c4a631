//! The JSON-RPC 2.0 envelope: one line of bytes in, one typed message or one refusal out.
//!
//! Nothing here knows MCP. Parameters stay raw (`&RawValue`) and borrowed until the one type
//! that understands them parses them, so a message is never turned into a tree on its way.

use std::borrow::{Borrow, Cow};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::salvage;

/// JSON-RPC error codes, those of the base protocol and those MCP adds.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL_ERROR: i32 = -32603;
    /// Stateful revisions only; 2026-07-28 answers `INVALID_PARAMS`.
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    /// 2026-07-28 over HTTP only.
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    /// 2026-07-28 only.
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    /// 2026-07-28 only.
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
}

/// A request id as the JSON token it arrived as, so that it is echoed exactly: integers beyond
/// 2^53 keep every digit. Strings are re-encoded, so equal ids are equal tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// A string or an integer is an id; `null`, fractions and everything else are not.
    pub(crate) fn parse(raw: &'a str) -> Option<Self> {
        match raw.as_bytes().first()? {
            b'"' if raw.contains('\\') => {
                let text: String = serde_json::from_str(raw).ok()?;
                Some(Self(Cow::Owned(serde_json::to_string(&text).ok()?)))
            }
            b'"' => Some(Self(Cow::Borrowed(raw))),
            b'-' | b'0'..=b'9' if !raw.contains(['.', 'e', 'E']) => Some(Self(Cow::Borrowed(raw))),
            _ => None,
        }
    }

    /// For what is written like an answer and is none.
    pub(crate) fn none() -> Self {
        Self(Cow::Borrowed("null"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }
}

/// Lets tables keyed by an owned id be searched with a borrowed one.
impl Borrow<str> for Id<'static> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One well-formed message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: Id<'a>, method: Cow<'a, str>, params: Option<&'a RawValue> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Response(Response<'a>),
}

/// An answer to a request of ours.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) id: Id<'a>,
    /// The result, or the error object.
    pub(crate) outcome: Result<&'a RawValue, &'a RawValue>,
}

/// Why a message was refused before anybody looked at its method. `id` is set when the message
/// was a request whose id could still be read: its sender is waiting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) id: Option<Id<'static>>,
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
}

impl Refusal {
    fn new(id: Option<Id<'_>>, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { id: id.map(Id::into_owned), code, message: message.into() }
    }

    /// Bytes that are not JSON: the id is looked for token by token.
    pub(crate) fn unreadable(line: &[u8], message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(salvage::request_id(line), code::PARSE_ERROR, message)
    }

    /// A line over the size limit, of which only the salvaged id is left.
    pub(crate) fn too_long(id: Option<Id<'static>>, max_bytes: usize) -> Self {
        let message = format!("The message is longer than the limit of {max_bytes} bytes");
        Self::new(id, code::INVALID_REQUEST, message)
    }

    fn too_deep(line: &[u8], max_depth: usize) -> Self {
        let message = format!("The message is nested deeper than the limit of {max_depth} levels");
        Self::new(salvage::request_id(line), code::INVALID_REQUEST, message)
    }

    pub(crate) fn batch(message: &'static str) -> Self {
        Self::new(None, code::INVALID_REQUEST, message)
    }
}

/// What a line holds: one message, or a batch whose elements are parsed one by one.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    Single(Result<Message<'a>, Refusal>),
    Batch(Vec<&'a RawValue>),
}

/// Parses one line (without its newline) that is nested no deeper than `max_depth`.
pub(crate) fn parse_line(line: &[u8], max_depth: usize) -> Line<'_> {
    let Ok(text) = std::str::from_utf8(line) else {
        return Line::Single(Err(Refusal::unreadable(line, "The message is not valid UTF-8")));
    };
    if is_deeper_than(max_depth, line) {
        return Line::Single(Err(Refusal::too_deep(line, max_depth)));
    }
    if text.trim_ascii_start().starts_with('[') {
        return match serde_json::from_str(text) {
            Ok(elements) => Line::Batch(elements),
            Err(error) => {
                Line::Single(Err(Refusal::new(None, code::PARSE_ERROR, not_json(&error))))
            }
        };
    }
    Line::Single(parse_message(text))
}

/// Whether lists and objects are nested deeper than `max_depth` levels.
fn is_deeper_than(max_depth: usize, line: &[u8]) -> bool {
    // Nearly every message has fewer brackets than it may have levels.
    if memchr::memchr2_iter(b'{', b'[', line).nth(max_depth).is_none() {
        return false;
    }
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' if depth == max_depth => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Parses one message: the whole line, or one element of a batch.
pub(crate) fn parse_message(text: &str) -> Result<Message<'_>, Refusal> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            // Valid JSON of the wrong shape; `error` names the member at fault.
            let message = format!("Not a JSON-RPC message: {error}");
            Refusal::new(salvage::request_id(text.as_bytes()), code::INVALID_REQUEST, message)
        } else {
            Refusal::unreadable(text.as_bytes(), not_json(&error))
        }
    })?;
    envelope.into_message()
}

fn not_json(error: &serde_json::Error) -> String {
    format!("The message is not valid JSON: {error}")
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Keeps an explicit `null` apart from an absent member.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    raw: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(raw).map(Some)
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, Refusal> {
        let id = self.id.and_then(|raw| Id::parse(raw.get()));
        let refuse =
            |id: Option<Id<'a>>, code, message: &'static str| Err(Refusal::new(id, code, message));
        let Some(method) = self.method else {
            return self.into_response(id);
        };
        if self.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return refuse(id, code::INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
        }
        let Ok(Text(method)) = serde_json::from_str(method.get()) else {
            return refuse(id, code::INVALID_REQUEST, "`method` must be a string");
        };
        if self.result.is_some() || self.error.is_some() {
            return refuse(id, code::INVALID_REQUEST, "A request has no `result` or `error`");
        }
        match (self.id, id) {
            (None, _) => Ok(Message::Notification { method, params: self.params }),
            (Some(_), None) => {
                refuse(None, code::INVALID_REQUEST, "`id` must be a string or an integer")
            }
            (Some(_), Some(id)) => match self.params.map(|raw| raw.get().as_bytes().first()) {
                None | Some(Some(b'{')) => Ok(Message::Request { id, method, params: self.params }),
                Some(Some(b'[')) => refuse(
                    Some(id),
                    code::INVALID_PARAMS,
                    "`params` must be an object, not an array",
                ),
                Some(_) => refuse(Some(id), code::INVALID_REQUEST, "`params` must be an object"),
            },
        }
    }

    fn into_response(self, id: Option<Id<'a>>) -> Result<Message<'a>, Refusal> {
        let outcome = match (self.result, self.error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error),
            // Whoever sent this may have meant a response: an id we echo could be taken for the
            // answer to a request of theirs.
            (Some(_), Some(_)) => {
                return Err(Refusal::new(None, code::INVALID_REQUEST, "Both `result` and `error`"));
            }
            (None, None) => {
                return Err(Refusal::new(id, code::INVALID_REQUEST, "`method` is missing"));
            }
        };
        match id {
            Some(id) => Ok(Message::Response(Response { id, outcome })),
            None => Err(Refusal::new(
                None,
                code::INVALID_REQUEST,
                "A response needs the `id` it answers",
            )),
        }
    }
}

/// A string, borrowed from the input where it holds no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// What a parser says without where: "at line 1 column 8" counts bytes of a part of the message
/// that its sender never saw by itself.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}
