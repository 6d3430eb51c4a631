//! Keeps the numbers or the texts of a column, for answers that no running total gives.
//!
//! Both say how many bytes they hold, so that a scan can stay within its memory: distinct texts
//! then go on as an estimate that is called one.

use std::cmp::Reverse;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use num_bigint::BigInt;

use super::exact::{self, BigDecimal};
use super::number::{Decimal, Number};
use super::report;

/// Numbers grouped by how they are stored, eight bytes each for all but the longest.
#[derive(Default)]
pub(super) struct Numbers {
    /// Mantissas of the numbers with `index` decimals.
    short: Vec<Vec<i64>>,
    long: Vec<Number>,
}

impl Numbers {
    #[inline]
    pub(super) fn add(&mut self, number: Number) {
        if let Number::Integer(decimal) | Number::Fraction(decimal) = number
            && let Ok(mantissa) = i64::try_from(decimal.mantissa)
        {
            let scale = usize::from(decimal.scale);
            if self.short.len() <= scale {
                self.short.resize_with(scale + 1, Vec::new);
            }
            if let Some(mantissas) = self.short.get_mut(scale) {
                mantissas.push(mantissa);
            }
        } else {
            self.long.push(number);
        }
    }

    pub(super) fn append(&mut self, later: Self) {
        if self.short.len() < later.short.len() {
            self.short.resize_with(later.short.len(), Vec::new);
        }
        for (mine, theirs) in self.short.iter_mut().zip(later.short) {
            mine.extend(theirs);
        }
        self.long.extend(later.long);
    }

    pub(super) fn bytes(&self) -> usize {
        let short: usize = self.short.iter().map(|mantissas| mantissas.capacity() * 8).sum();
        short + self.long.capacity() * size_of::<Number>()
    }

    /// `None` without numbers.
    pub(super) fn median(&self) -> Option<report::Number> {
        let count = self.count();
        let upper = self.at(count / 2)?;
        if count % 2 == 1 {
            return Some(self.stated(upper.to_value()));
        }
        let lower = self.at(count / 2 - 1)?;
        Some(match (lower.decimal(), upper.decimal()) {
            (Some(lower), Some(upper)) => self.stated(mean(lower, upper).to_value()),
            _ => {
                let mean = lower.to_f64() / 2.0 + upper.to_f64() / 2.0;
                report::Number::inexact(exact::from_f64(mean), "mean of two numbers in f64")
            }
        })
    }

    /// By nearest rank: the smallest number with at least `percent` of all numbers up to it.
    pub(super) fn quantile(&self, percent: u64) -> Option<report::Number> {
        let rank = (self.count() as u128 * u128::from(percent)).div_ceil(100).max(1);
        let number = self.at(usize::try_from(rank - 1).ok()?)?;
        Some(self.stated(number.to_value()))
    }

    fn count(&self) -> usize {
        self.short.iter().map(Vec::len).sum::<usize>() + self.long.len()
    }

    fn stated(&self, value: report::Value) -> report::Number {
        if self.long.iter().any(|number| number.decimal().is_none()) {
            report::Number::inexact(value, "compared in f64")
        } else {
            report::Number::exact(value)
        }
    }

    /// The number with `rank` numbers before it. A walk over sorted lists would cost more memory
    /// than choosing a pivot again and again, and a sort more time.
    fn at(&self, rank: usize) -> Option<Number> {
        let is_used = |list: &&Vec<i64>| !list.is_empty();
        if self.long.is_empty() && self.short.iter().filter(is_used).count() == 1 {
            let (scale, list) = self.short.iter().enumerate().find(|(_, list)| is_used(list))?;
            let mut list = list.clone();
            (rank < list.len()).then_some(())?;
            let (_, mantissa, _) = list.select_nth_unstable(rank);
            return Some(number(*mantissa, scale));
        }
        let mut all: Vec<Number> = self.long.clone();
        for (scale, list) in self.short.iter().enumerate() {
            all.extend(list.iter().map(|mantissa| number(*mantissa, scale)));
        }
        (rank < all.len()).then_some(())?;
        let (_, found, _) = all.select_nth_unstable_by(rank, |left, right| left.compare(*right));
        Some(*found)
    }
}

fn number(mantissa: i64, scale: usize) -> Number {
    let scale = u8::try_from(scale).unwrap_or_default();
    Number::Fraction(Decimal { mantissa: mantissa.into(), scale })
}

fn mean(lower: Decimal, upper: Decimal) -> BigDecimal {
    let scale = lower.scale.max(upper.scale);
    let scaled = |decimal: Decimal| {
        BigInt::from(decimal.mantissa) * BigInt::from(10).pow((scale - decimal.scale).into())
    };
    // A half is five tenths.
    BigDecimal::new((scaled(lower) + scaled(upper)) * 5, u32::from(scale) + 1)
}

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
