//! Keeps the texts of a column, for answers that no running total gives.
//!
//! They say how many bytes they hold, so that a scan can stay within its memory, and then go on as an
//! estimate that is called one.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::exact;
use super::report;

/// Different texts and how often each occurs, or an estimate of how many there are.
pub(super) enum Texts {
    Counted(Counts),
    Estimated(HyperLogLog),
}

/// The texts stand one behind the other, which takes little memory and gives it back at once.
#[derive(Default)]
pub(super) struct Counts {
    bytes: Vec<u8>,
    table: HashTable<Counted>,
    hasher: RandomState,
}

struct Counted {
    text: Range<usize>,
    count: u64,
}

impl Default for Texts {
    fn default() -> Self {
        Self::Counted(Counts::default())
    }
}

impl Texts {
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        self.add_times(text, 1);
    }

    /// `later` has given nothing up.
    pub(super) fn append(&mut self, later: Self) {
        if let Self::Counted(later) = later {
            later.iter().for_each(|(text, count)| self.add_times(text, count));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Counted(counts) => counts.bytes.capacity() + counts.table_bytes(),
            Self::Estimated(_) => HyperLogLog::REGISTERS,
        }
    }

    pub(super) fn is_estimate(&self) -> bool {
        matches!(self, Self::Estimated(_))
    }

    /// An estimate would take less memory.
    pub(super) fn can_be_estimated(&self) -> bool {
        !self.is_estimate() && self.bytes() > HyperLogLog::REGISTERS
    }

    /// Frees the texts.
    pub(super) fn estimate(&mut self) {
        if let Self::Counted(counts) = self {
            let mut sketch = HyperLogLog::default();
            counts.iter().for_each(|(text, _)| sketch.add(text));
            *self = Self::Estimated(sketch);
        }
    }

    pub(super) fn distinct(&self, is_value: impl Fn(&[u8]) -> bool) -> report::Number {
        match self {
            Self::Counted(counts) => {
                let count = counts.iter().filter(|(text, _)| is_value(text)).count();
                report::Number::exact(exact::from_count(count as u64))
            }
            Self::Estimated(sketch) => report::Number::inexact(
                exact::from_count(sketch.count()),
                "HyperLogLog, p=14: standard error 0.8 %",
            ),
        }
    }

    /// The most frequent text, the smaller one where two are as frequent; `None` without texts, or
    /// once they have been freed.
    pub(super) fn mode(&self, is_value: impl Fn(&[u8]) -> bool) -> Option<(&[u8], u64)> {
        let Self::Counted(counts) = self else {
            return None;
        };
        let values = counts.iter().filter(|(text, _)| is_value(text));
        values.max_by_key(|(text, count)| (*count, Reverse(*text)))
    }

    #[inline]
    fn add_times(&mut self, text: &[u8], times: u64) {
        match self {
            Self::Counted(counts) => *counts.count_of(text) += times,
            Self::Estimated(sketch) => sketch.add(text),
        }
    }
}

impl Counts {
    /// What a table takes that is about to grow: itself, and another of twice the size.
    fn table_bytes(&self) -> usize {
        /// More texts than come between two looks at the memory.
        const SOON: usize = 1 << 16;
        let is_growing = self.table.capacity() - self.table.len() < SOON.min(self.table.len());
        self.table.allocation_size() * if is_growing { 3 } else { 1 }
    }

    #[inline]
    fn count_of(&mut self, text: &[u8]) -> &mut u64 {
        let Self { bytes, table, hasher } = self;
        let hash = hasher.hash_one(text);
        let is_same = |counted: &Counted| bytes.get(counted.text.clone()) == Some(text);
        let rehash = |counted: &Counted| {
            hasher.hash_one(bytes.get(counted.text.clone()).unwrap_or_default())
        };
        let start = bytes.len();
        let text_range = start..start + text.len();
        let entry = table.entry(hash, is_same, rehash);
        let is_new = matches!(entry, Entry::Vacant(_));
        let counted = entry.or_insert(Counted { text: text_range, count: 0 }).into_mut();
        if is_new {
            bytes.extend_from_slice(text);
        }
        &mut counted.count
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let text = |counted: &Counted| self.bytes.get(counted.text.clone()).unwrap_or_default();
        self.table.iter().map(move |counted| (text(counted), counted.count))
    }
}

/// Counts different texts in 16 KiB, whatever their number.
pub(super) struct HyperLogLog {
    registers: Vec<u8>,
    hasher: RandomState,
}

impl Default for HyperLogLog {
    fn default() -> Self {
        Self { registers: vec![0; Self::REGISTERS], hasher: RandomState::default() }
    }
}

impl HyperLogLog {
    const PRECISION: u32 = 14;
    const REGISTERS: usize = 1 << Self::PRECISION;

    pub(super) fn add(&mut self, text: &[u8]) {
        let hash = self.hasher.hash_one(text);
        let place = usize::try_from(hash >> (u64::BITS - Self::PRECISION)).unwrap_or_default();
        // The lowest bit stands in for the end, so that a rank is never beyond the hash.
        let rank = ((hash << Self::PRECISION) | 1 << (Self::PRECISION - 1)).leading_zeros() + 1;
        if let Some(register) = self.registers.get_mut(place) {
            *register = (*register).max(u8::try_from(rank).unwrap_or(u8::MAX));
        }
    }

    pub(super) fn count(&self) -> u64 {
        let registers = Self::REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|rank| 0.5f64.powi(i32::from(*rank))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let zeros = self.registers.iter().filter(|rank| **rank == 0).count() as f64;
        // The raw estimate is biased while registers are empty.
        let estimate = if raw <= 2.5 * registers && zeros > 0.0 {
            registers * (registers / zeros).ln()
        } else {
            raw
        };
        estimate.round() as u64
    }
}
