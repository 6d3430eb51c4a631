//! What is found in the parts of a file, or in several files that are one table, put together.

use schemars::JsonSchema;
use serde::Serialize;

use super::Records;
use crate::backend::Error;
use crate::backend::oddities::is_zero;

impl Records {
    /// For a part of a file: what comes before its first record belongs to the part before.
    pub(in crate::backend) fn skip_to_first(&mut self) -> Result<bool, Error> {
        let is_record = self.skip_blank_lines()?;
        self.blank_lines = 0;
        self.line_mark.set((self.record_start, 1));
        Ok(is_record)
    }

    /// Adds what was found in a part of the file behind so many lines.
    pub(in crate::backend) fn append(&mut self, part: &Self, lines_before: u64) {
        self.line_ends.lf += part.line_ends.lf;
        self.line_ends.crlf += part.line_ends.crlf;
        self.line_ends.cr += part.line_ends.cr;
        self.blank_lines += part.blank_lines;
        let unterminated = part.unterminated.map(|line| line + lines_before);
        self.unterminated = self.unterminated.or(unterminated);
        self.source.note_invalid(part.source.first_invalid());
    }

    /// Goes on with another file of the same table, whose lines count on.
    pub(in crate::backend) fn continue_in(&mut self, mut next: Self, lines_before: u64) {
        let (place, line) = next.line_mark.get();
        next.line_mark.set((place, line + lines_before));
        next.lines_before = lines_before;
        next.refills += self.refills;
        next.append(self, 0);
        *self = next;
    }
}

/// How many records end in each way; a last record without an end is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LineEnds {
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) lf: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) crlf: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) cr: u64,
}
