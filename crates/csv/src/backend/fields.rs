//! The fields of one record, each found by where it ends.

use std::ops::Range;

use memchr::memchr;

/// A view that is cheap to copy, so that a loop over fields need not ask the record again.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
    pub(super) ends: &'a [usize],
    /// From the end of a field to the start of the next.
    pub(super) gap: usize,
    /// Quotes still stand around some fields.
    pub(super) quoted: Option<&'a Doubled>,
}

/// The fields of a record that had doubled quotes inside, with single ones.
#[derive(Default)]
pub(super) struct Doubled {
    bytes: Vec<u8>,
    fields: Vec<(usize, Range<usize>)>,
}

impl<'a> Fields<'a> {
    /// `None` behind the last field.
    #[inline(always)]
    pub(super) fn get(self, index: usize) -> Option<&'a [u8]> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            None => self.start,
            Some(before) => self.ends.get(before)? + self.gap,
        };
        let field = self.bytes.get(start..end)?;
        match self.quoted {
            None => Some(field),
            Some(doubled) => doubled.unquoted(index, field),
        }
    }
}

impl Doubled {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// `inner` is what stands between the quotes around the field.
    pub(super) fn add(&mut self, index: usize, mut inner: &[u8]) {
        let start = self.bytes.len();
        while let Some((first, rest)) =
            memchr(b'"', inner).and_then(|at| inner.split_at_checked(at + 1))
        {
            self.bytes.extend_from_slice(first);
            inner = rest.get(1..).unwrap_or_default();
        }
        self.bytes.extend_from_slice(inner);
        self.fields.push((index, start..self.bytes.len()));
    }

    #[inline]
    fn unquoted<'a>(&'a self, index: usize, field: &'a [u8]) -> Option<&'a [u8]> {
        match field {
            [b'"', inner @ .., b'"'] => match self.fields.iter().find(|(place, _)| *place == index)
            {
                Some((_, range)) => self.bytes.get(range.clone()),
                None => Some(inner),
            },
            field => Some(field),
        }
    }
}
