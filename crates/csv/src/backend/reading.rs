//! How a caller wants a file to be read, where it knows better than what the file shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Error;

/// How to read the file, instead of what is found out from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Reading {
    pub(crate) delimiter: Option<char>,
    pub(crate) header: Option<bool>,
    /// `.` or `,`
    pub(crate) decimal_mark: Option<char>,
    pub(crate) backslash_escapes: bool,
    /// Words that mean no value.
    pub(crate) null_tokens: Vec<String>,
    /// Read as numbers: $5 or 5 €, 12%, 1,234.
    pub(crate) numbers: Vec<Notation>,
    pub(crate) dates: Option<DateOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Notation {
    Currency,
    Percent,
    Thousands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DateOrder {
    Dmy,
    Mdy,
}

impl Reading {
    pub(super) fn delimiter(&self) -> Result<Option<u8>, Error> {
        let Some(delimiter) = self.delimiter else {
            return Ok(None);
        };
        match u8::try_from(delimiter) {
            Ok(byte) if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => {
                Ok(Some(byte))
            }
            _ => Err(Error::Option {
                text: "`delimiter` must be one ASCII character, no quote and no line end",
            }),
        }
    }

    pub(super) fn decimal_mark(&self) -> Result<Option<u8>, Error> {
        match self.decimal_mark {
            None => Ok(None),
            Some('.') => Ok(Some(b'.')),
            Some(',') => Ok(Some(b',')),
            Some(_) => Err(Error::Option { text: "`decimal_mark` is \".\" or \",\"" }),
        }
    }

    /// Cells need a second look.
    pub(super) fn has_rules(&self) -> bool {
        !(self.null_tokens.is_empty() && self.numbers.is_empty() && self.dates.is_none())
    }
}
