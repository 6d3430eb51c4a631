//! How much of a long answer is given at once: so many rows, and no more bytes than a model can use.

use serde::Serialize;

/// Part of a list that may be long.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Page {
    /// Rows to leave out from the start.
    pub(crate) offset: usize,
    /// At most so many rows; a default number and a small budget of bytes if left out.
    pub(crate) limit: Option<usize>,
}

const DEFAULT_ROWS: usize = 50;
const DEFAULT_BYTES: usize = 8 << 10;
pub(crate) const MAX_ROWS: usize = 1000;
/// For those who ask for a number of rows, which may be wide ones.
const MAX_BYTES: usize = 256 << 10;

impl Page {
    pub(super) fn max_rows(self) -> usize {
        self.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS)
    }

    /// Rows that have to be known in order to give this page.
    pub(super) fn end(self) -> usize {
        self.offset.saturating_add(self.max_rows())
    }

    /// Whether another row could be given, after so many rows and bytes.
    pub(super) fn has_room(self, rows: usize, bytes: usize) -> bool {
        rows < self.max_rows() && bytes <= MAX_BYTES
    }

    /// The first of `rows`, which starts at the offset, that fit; at least one.
    pub(super) fn fitting<T: Serialize>(self, rows: Vec<T>) -> Vec<T> {
        let mut bytes_left = if self.limit.is_some() { MAX_BYTES } else { DEFAULT_BYTES };
        let mut is_first = true;
        let fits = |row: &T| {
            let len = serde_json::to_vec(row).map_or(0, |json| json.len());
            let fits = std::mem::take(&mut is_first) || len <= bytes_left;
            bytes_left = bytes_left.saturating_sub(len);
            fits
        };
        rows.into_iter().take(self.max_rows()).take_while(fits).collect()
    }
}
