//! Keeps the texts of a column, for answers that no running total gives.
//!
//! They say how many bytes they hold, so that a scan can stay within its memory, and then go on as an
//! estimate that is called one.

use std::cmp::Reverse;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;

use super::exact;
use super::report;

/// Different texts and how often each occurs, or an estimate of how many there are.
pub(super) enum Texts {
    Counted { counts: HashMap<Box<[u8]>, u64, RandomState>, text_bytes: usize },
    Estimated(HyperLogLog),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Counted { counts: HashMap::default(), text_bytes: 0 }
    }
}

impl Texts {
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        match self {
            Self::Counted { counts, text_bytes } => match counts.entry_ref(text) {
                EntryRef::Occupied(mut count) => *count.get_mut() += 1,
                EntryRef::Vacant(place) => {
                    *text_bytes += text.len();
                    place.insert_with_key(text.into(), 1);
                }
            },
            Self::Estimated(sketch) => sketch.add(text),
        }
    }

    /// `later` has given nothing up.
    pub(super) fn append(&mut self, later: Self) {
        let Self::Counted { counts: later, .. } = later else {
            return;
        };
        for (text, count) in later {
            match self {
                Self::Counted { counts, text_bytes } => match counts.get_mut(&text) {
                    Some(sum) => *sum += count,
                    None => {
                        *text_bytes += text.len();
                        counts.insert(text, count);
                    }
                },
                Self::Estimated(sketch) => sketch.add(&text),
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        /// Pointer, length and count, a control byte, and what the allocator adds to each text.
        const BYTES_PER_TEXT: usize = 24 + 1 + 16;
        match self {
            Self::Counted { counts, text_bytes } => text_bytes + counts.capacity() * BYTES_PER_TEXT,
            Self::Estimated(_) => HyperLogLog::REGISTERS,
        }
    }

    pub(super) fn can_free(&self) -> bool {
        matches!(self, Self::Counted { .. })
    }

    /// Frees the texts.
    pub(super) fn estimate(&mut self) {
        if let Self::Counted { counts, .. } = self {
            let mut sketch = HyperLogLog::default();
            counts.keys().for_each(|text| sketch.add(text));
            *self = Self::Estimated(sketch);
        }
    }

    pub(super) fn distinct(&self, is_value: impl Fn(&[u8]) -> bool) -> report::Number {
        match self {
            Self::Counted { counts, .. } => {
                let count = counts.keys().filter(|text| is_value(text)).count();
                report::Number::exact(exact::from_count(count as u64))
            }
            Self::Estimated(sketch) => report::Number::inexact(
                exact::from_count(sketch.count()),
                "HyperLogLog, p=14: standard error 0.8 %",
            ),
        }
    }

    /// The most frequent texts, the smaller one first where two are as frequent; `None` once they
    /// have been freed.
    pub(super) fn top(
        &self,
        limit: usize,
        is_value: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<(Vec<u8>, u64)>> {
        let Self::Counted { counts, .. } = self else {
            return None;
        };
        let values = counts.iter().filter(|(text, _)| is_value(text));
        let mut ranked: Vec<(Reverse<u64>, &[u8])> =
            values.map(|(text, count)| (Reverse(*count), &**text)).collect();
        if limit < ranked.len() {
            ranked.select_nth_unstable(limit);
            ranked.truncate(limit);
        }
        ranked.sort_unstable();
        Some(ranked.into_iter().map(|(count, text)| (text.to_vec(), count.0)).collect())
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
