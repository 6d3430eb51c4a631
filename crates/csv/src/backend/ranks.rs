//! Keeps the numbers of a column, for medians and quantiles.
//!
//! They say how many bytes they hold. Where that is too much, half of them are dropped by chance,
//! and so on: what is left is a sample, which shows where in the file to look again, see `narrow`.
//! By chance, because every second row of a file may well be unlike the others.

use std::hash::{BuildHasher, Hasher, RandomState};

use num_bigint::BigInt;

use super::exact::{self, BigDecimal};
use super::number::{Decimal, Number};
use super::pick::SplitMix64;
use super::report;

#[derive(Clone)]
pub(super) struct Numbers {
    /// How many there were.
    count: u64,
    /// Of so many, one is kept on average: a power of two.
    every: u64,
    random: SplitMix64,
    /// Decimals of all mantissas.
    scale: u8,
    small: Vec<i32>,
    /// All of them, as soon as one is not small.
    wide: Vec<i64>,
    /// Those that cannot be written with that many decimals.
    long: Vec<Number>,
    has_inexact: bool,
    /// What has been looked for, by how many come before it.
    found: Vec<(u64, Number)>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            count: 0,
            every: 1,
            // Not to be foreseen by whoever writes a file.
            random: SplitMix64(RandomState::new().build_hasher().finish()),
            scale: 0,
            small: Vec::new(),
            wide: Vec::new(),
            long: Vec::new(),
            has_inexact: false,
            found: Vec::new(),
        }
    }
}

impl Numbers {
    #[inline]
    pub(super) fn add(&mut self, number: Number) {
        self.count += 1;
        self.has_inexact |= number.decimal().is_none();
        if self.every == 1 || self.random.word() & (self.every - 1) == 0 {
            self.keep(number);
        }
    }

    pub(super) fn append(&mut self, mut later: Self) {
        while self.every < later.every {
            self.thin();
        }
        while later.every < self.every {
            later.thin();
        }
        self.count += later.count;
        self.has_inexact |= later.has_inexact;
        for number in later.long {
            self.keep(number);
        }
        if self.wide.is_empty() && self.scale == later.scale {
            self.small.append(&mut later.small);
        }
        for mantissa in later.small.into_iter().map(i64::from).chain(later.wide) {
            self.keep(number(mantissa, later.scale));
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Not all of them are kept.
    pub(super) fn is_sample(&self) -> bool {
        self.every > 1
    }

    /// Some that were asked for are not kept, and were not found in the file either.
    pub(super) fn has_lost_some(&self) -> bool {
        self.is_sample() && self.found.is_empty()
    }

    /// What they take, and what looking for one of them would take besides.
    pub(super) fn bytes(&self) -> usize {
        let held =
            self.small.capacity() * size_of::<i32>() + self.wide.capacity() * size_of::<i64>();
        let all = if self.long.is_empty() { 0 } else { self.kept() };
        held + (self.long.capacity() + all) * size_of::<Number>()
    }

    pub(super) fn can_be_thinned(&self) -> bool {
        /// Fewer would say too little.
        const MIN_SAMPLE: usize = 4096;
        self.kept() > MIN_SAMPLE
    }

    /// Drops half of them.
    pub(super) fn thin(&mut self) {
        self.every *= 2;
        drop_half(&mut self.small, &mut self.random);
        drop_half(&mut self.wide, &mut self.random);
        drop_half(&mut self.long, &mut self.random);
    }

    /// The ranks, counted from 0, that [`Self::median`] looks at.
    pub(super) fn middle(&self) -> Vec<u64> {
        let upper = self.count / 2;
        let is_even = self.count.is_multiple_of(2);
        let lower = if is_even { upper.checked_sub(1) } else { None };
        lower.into_iter().chain([upper]).collect()
    }

    /// By nearest rank: the smallest number with at least `percent` of all numbers up to it.
    pub(super) fn rank_of(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        u64::try_from(rank - 1).unwrap_or(u64::MAX)
    }

    /// `None` without numbers.
    pub(super) fn median(&self) -> Option<report::Number> {
        let middle: Option<Vec<Number>> =
            self.middle().into_iter().map(|rank| self.at(rank)).collect();
        let (lower, upper) = match *middle? {
            [only] => return Some(self.stated(only.to_value())),
            [lower, upper] => (lower, upper),
            _ => return None,
        };
        Some(match (lower.decimal(), upper.decimal()) {
            (Some(lower), Some(upper)) => self.stated(mean(lower, upper).to_value()),
            _ => {
                let mean = lower.to_f64() / 2.0 + upper.to_f64() / 2.0;
                report::Number::inexact(exact::from_f64(mean), "mean of two numbers in f64")
            }
        })
    }

    pub(super) fn quantile(&self, percent: u64) -> Option<report::Number> {
        let number = self.at(self.rank_of(percent))?;
        Some(self.stated(number.to_value()))
    }

    /// The number with `rank` numbers before it, if it is known.
    fn at(&self, rank: u64) -> Option<Number> {
        let found = self.found.iter().find(|(found, _)| *found == rank);
        match found {
            Some((_, number)) => Some(*number),
            None if self.is_sample() => None,
            None => self.clone().kept_at(usize::try_from(rank).ok()?),
        }
    }

    pub(super) fn settle(&mut self, found: Vec<(u64, Number)>) {
        self.found = found;
    }

    /// What is kept has told where to look.
    pub(super) fn give_up(&mut self) {
        (self.small, self.wide, self.long) = (Vec::new(), Vec::new(), Vec::new());
    }

    pub(super) fn kept(&self) -> usize {
        self.small.len() + self.wide.len() + self.long.len()
    }

    /// Of those kept, the number with `rank` of them before it.
    pub(super) fn kept_at(&mut self, rank: usize) -> Option<Number> {
        (rank < self.kept()).then_some(())?;
        let scale = self.scale;
        if self.long.is_empty() && self.wide.is_empty() {
            return Some(number((*self.small.select_nth_unstable(rank).1).into(), scale));
        }
        if self.long.is_empty() {
            return Some(number(*self.wide.select_nth_unstable(rank).1, scale));
        }
        let small = self.small.iter().copied().map(i64::from);
        let short = small.chain(self.wide.iter().copied()).map(|one| number(one, scale));
        let mut all: Vec<Number> = self.long.iter().copied().chain(short).collect();
        let compare = |left: &Number, right: &Number| left.compare(*right);
        Some(*all.select_nth_unstable_by(rank, compare).1)
    }

    fn stated(&self, value: report::Value) -> report::Number {
        if self.has_inexact {
            report::Number::inexact(value, "compared in f64")
        } else {
            report::Number::exact(value)
        }
    }

    #[inline]
    fn keep(&mut self, number: Number) {
        let Some(mantissa) = number.decimal().and_then(|decimal| self.fit(decimal)) else {
            return self.long.push(number);
        };
        match i32::try_from(mantissa) {
            Ok(small) if self.wide.is_empty() => self.small.push(small),
            _ => {
                self.widen();
                self.wide.push(mantissa);
            }
        }
    }

    /// The mantissa with the decimals of the others, of which there may have to be more.
    #[inline]
    fn fit(&mut self, decimal: Decimal) -> Option<i64> {
        if decimal.scale > self.scale {
            self.refine(decimal.scale)?;
        }
        let mantissa = i64::try_from(decimal.mantissa).ok()?;
        match self.scale - decimal.scale {
            0 => Some(mantissa),
            more => mantissa.checked_mul(10i64.checked_pow(more.into())?),
        }
    }

    /// `None` if that takes more decimals than an `i64` has room for.
    #[cold]
    fn refine(&mut self, scale: u8) -> Option<()> {
        let (old, factor) = (self.scale, 10i64.checked_pow((scale - self.scale).into())?);
        let mut unfit = Vec::new();
        self.widen();
        self.wide.retain_mut(|mantissa| match mantissa.checked_mul(factor) {
            Some(finer) => {
                *mantissa = finer;
                true
            }
            None => {
                unfit.push(number(*mantissa, old));
                false
            }
        });
        self.scale = scale;
        self.long.append(&mut unfit);
        self.narrow_down();
        Some(())
    }

    /// Small ones stay small where that is possible: most files have few numbers before the first
    /// with decimals.
    fn narrow_down(&mut self) {
        if let Ok(small) = self.wide.iter().map(|one| i32::try_from(*one)).collect() {
            (self.small, self.wide) = (small, Vec::new());
        }
    }

    /// A piece at a time, so that no list is held twice.
    fn widen(&mut self) {
        const PIECE: usize = 1 << 16;
        self.wide.reserve(self.small.len());
        while !self.small.is_empty() {
            let piece = self.small.split_off(self.small.len().saturating_sub(PIECE));
            self.wide.extend(piece.into_iter().map(i64::from));
            self.small.shrink_to_fit();
        }
    }
}

fn drop_half<T>(list: &mut Vec<T>, random: &mut SplitMix64) {
    list.retain(|_| random.word() & 1 == 0);
    list.shrink_to_fit();
}

fn number(mantissa: i64, scale: u8) -> Number {
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
