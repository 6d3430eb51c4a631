//! Asking the client: elicitation, sampling, roots. One awaited call in every revision.
//!
//! In the stateful revisions a question is a request to the client ([`back_channel`]). In
//! 2026-07-28 a server asks nothing: the handler is suspended, the client gets the questions as an
//! `input_required` result with a sealed state, and its retry runs the handler again with the
//! answers known so far ([`replay`]). What is asked is the same: [`elicit`], [`sample`], [`roots`].

mod asking;
pub(crate) mod back_channel;
pub(crate) mod elicit;
mod field;
pub(crate) mod replay;
pub(crate) mod roots;
pub(crate) mod sample;
pub(crate) mod spent;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::error::{Error, ToolError};
use crate::revision::Revision;

pub(crate) use asking::identity;

/// One question, in the words of the revision it goes out in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// What the client must have declared: one or two levels of `capabilities`.
    pub(crate) needs: &'static [&'static str],
}

impl Question {
    /// Whether a client with these capabilities can answer.
    pub(crate) fn is_supported(&self, capabilities: &Map<String, Value>) -> bool {
        let mut level = Some(capabilities);
        for (depth, name) in self.needs.iter().enumerate() {
            let Some(found) = level.and_then(|level| level.get(*name)) else {
                // An empty `elicitation` means forms, and nothing else.
                return depth == 1 && *name == "form" && level.is_some_and(Map::is_empty);
            };
            level = found.as_object();
        }
        true
    }

    /// The capabilities needed, in the shape a client declares them.
    pub(crate) fn required_capabilities(&self) -> Value {
        self.needs.iter().rev().fold(json!({}), |inner, name| json!({ *name: inner }))
    }
}

/// Why a question brought no answer. A person who declines is an answer, not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The client, or the revision it speaks, has no such question. Says which.
    Unsupported(String),
    /// The client refused with an error of its own.
    Refused(String),
    /// The answer does not fit the question.
    Malformed(String),
    /// No answer came in time.
    TimedOut,
    /// The connection was closed before an answer came.
    Closed,
    /// The handler asked in a way that cannot work, for example twice under one key.
    Misused(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "This client cannot be asked: {what}."),
            Self::Refused(reason) => write!(f, "The client refused the question: {reason}"),
            Self::Malformed(reason) => {
                write!(f, "The answer to the question does not fit: {reason}.")
            }
            Self::TimedOut => f.write_str("No answer to the question came in time."),
            Self::Closed => f.write_str("The connection closed before the question was answered."),
            Self::Misused(_) => {
                f.write_str("The tool asked a question wrongly; that is a mistake in its code.")
            }
        }
    }
}

impl std::error::Error for AskError {}

impl From<AskError> for ToolError {
    fn from(error: AskError) -> Self {
        let failure = Self::new(error.to_string());
        if let AskError::Misused(_) = error { failure.caused_by(&error) } else { failure }
    }
}

impl From<AskError> for Error {
    fn from(error: AskError) -> Self {
        Self::Internal(format!("{error:?}"))
    }
}

/// The client has not said that it can answer this.
fn undeclared(question: &Question) -> AskError {
    AskError::Unsupported(format!("it has not declared {}", question.needs.join(".")))
}

fn unsupported(revision: Revision, what: &str) -> AskError {
    AskError::Unsupported(format!("revision {revision} has no {what}"))
}
