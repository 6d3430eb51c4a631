//! Adds up the numbers of one column in constant memory, exactly wherever that is possible.
//!
//! A column of decimals has one `i128` sum for each number of decimals seen, so adding a cell is
//! one checked addition and no rounding. A sum that would overflow is moved to a big integer.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::exact::{self, BigDecimal};
use super::number::{Decimal, MAX_DIGITS, Number, Short};
use super::report::{self, Operation};
use super::spread::Spread;

#[derive(Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    /// The sum of all numbers with `index` decimals.
    sums: Vec<i128>,
    /// What no longer fitted into `sums`, with [`MAX_DIGITS`] decimals.
    overflow: BigInt,
    inexact: Compensated,
    inexact_count: u64,
    extremes: Option<(Extreme, Extreme)>,
    spread: Option<Box<Spread>>,
}

/// Work that costs time for each cell, so it is done only when asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    extremes: bool,
    spread: bool,
    /// Each number is kept, for medians.
    pub(super) numbers: bool,
    /// Each different text is kept, for distinct counts.
    pub(super) texts: bool,
}

#[derive(Clone, Copy)]
struct Extreme {
    number: Number,
    line: u64,
}

impl Wanted {
    /// Nothing beyond sums and counts, which are always made.
    #[inline]
    pub(super) fn only_sums(self) -> bool {
        !(self.extremes || self.spread || self.keeps_cells())
    }

    pub(super) fn keeps_cells(self) -> bool {
        self.numbers || self.texts
    }

    pub(super) fn by(operations: &[Operation]) -> Self {
        let has = |operation| operations.contains(&operation);
        Self {
            extremes: has(Operation::Min) || has(Operation::Max),
            spread: has(Operation::Stddev),
            numbers: has(Operation::Median) || has(Operation::Quantiles),
            texts: has(Operation::Distinct) || has(Operation::Mode),
        }
    }
}

impl Tally {
    #[inline]
    pub(super) fn add_short(&mut self, short: Short) {
        self.count += 1;
        self.add_exact(short.decimal());
    }

    pub(super) fn add(&mut self, number: Number) {
        self.count += 1;
        match number {
            Number::Integer(decimal) | Number::Fraction(decimal) => self.add_exact(decimal),
            Number::Inexact(value) => {
                self.inexact.add(value);
                self.inexact_count += 1;
            }
        }
    }

    /// What more is wanted of a number that was added.
    #[inline]
    pub(super) fn look_at(&mut self, number: Number, wanted: Wanted, line: impl Fn() -> u64) {
        if wanted.extremes {
            self.stretch(number, line);
        }
        if wanted.spread {
            self.spread.get_or_insert_default().add(number);
        }
    }

    /// `later` holds no inexact numbers and began behind `lines_before` lines.
    pub(super) fn append(&mut self, later: Self, lines_before: u64) {
        self.count += later.count;
        for (mantissa, scale) in later.sums.into_iter().zip(0..) {
            self.add_exact(Decimal { mantissa, scale });
        }
        self.overflow += later.overflow;
        if let Some((min, max)) = later.extremes {
            let moved = |extreme: Extreme| move || extreme.line + lines_before;
            self.stretch(min.number, moved(min));
            self.stretch(max.number, moved(max));
        }
        if let Some(later) = later.spread {
            self.spread.get_or_insert_default().append(*later);
        }
    }

    #[inline]
    fn add_exact(&mut self, decimal: Decimal) {
        let sum = self.sums.get_mut(usize::from(decimal.scale));
        match sum.and_then(|sum| Some((sum.checked_add(decimal.mantissa)?, sum))) {
            Some((grown, sum)) => *sum = grown,
            None => self.make_room(decimal),
        }
    }

    /// For the first number with so many decimals, or one that the sum of those does not hold.
    #[cold]
    fn make_room(&mut self, decimal: Decimal) {
        let place = usize::from(decimal.scale);
        if self.sums.len() <= place {
            self.sums.resize(place + 1, 0);
        }
        if let Some(sum) = self.sums.get_mut(place) {
            let full = std::mem::replace(sum, decimal.mantissa);
            self.overflow += scaled_up(full, decimal.scale.into());
        }
    }

    fn stretch(&mut self, number: Number, line: impl Fn() -> u64) {
        let Some((min, max)) = &mut self.extremes else {
            let first = Extreme { number, line: line() };
            self.extremes = Some((first, first));
            return;
        };
        if number.compare(min.number) == Ordering::Less {
            *min = Extreme { number, line: line() };
        } else if number.compare(max.number) == Ordering::Greater {
            *max = Extreme { number, line: line() };
        }
    }

    pub(super) fn sum(&self) -> report::Number {
        if self.inexact_count == 0 {
            return report::Number::exact(self.exact_sum().to_value());
        }
        report::Number::inexact(exact::from_f64(self.sum_f64()), "compensated (Neumaier) in f64")
    }

    /// `None` without numbers.
    pub(super) fn average(&self) -> Option<report::Number> {
        if self.count == 0 {
            return None;
        }
        if self.inexact_count == 0 {
            return Some(self.exact_sum().divided_by(self.count));
        }
        let average = self.sum_f64() / self.count as f64;
        let method = "compensated (Neumaier) sum / count in f64";
        Some(report::Number::inexact(exact::from_f64(average), method))
    }

    pub(super) fn min(&self) -> Option<report::Number> {
        self.extremes.map(|(min, _)| self.extreme(min))
    }

    pub(super) fn max(&self) -> Option<report::Number> {
        self.extremes.map(|(_, max)| self.extreme(max))
    }

    /// `None` for fewer than two numbers.
    pub(super) fn stddev(&self) -> Option<report::Number> {
        let (deviation, method) = self.spread.as_ref()?.deviation(&self.exact_sum())?;
        Some(report::Number::inexact(exact::from_f64(deviation), method))
    }

    pub(super) fn has_inexact(&self) -> bool {
        self.inexact_count > 0
    }

    fn exact_sum(&self) -> BigDecimal {
        let scaled = self.sums.iter().zip(0..).map(|(sum, scale)| scaled_up(*sum, scale));
        BigDecimal::new(scaled.sum::<BigInt>() + &self.overflow, MAX_DIGITS)
    }

    fn sum_f64(&self) -> f64 {
        let mut total = self.inexact;
        total.add(self.exact_sum().to_f64());
        total.value()
    }

    fn extreme(&self, extreme: Extreme) -> report::Number {
        let value = extreme.number.to_value();
        let mut number = match self.has_inexact() {
            false => report::Number::exact(value),
            true => report::Number::inexact(value, "compared in f64"),
        };
        number.line = Some(extreme.line);
        number
    }
}

/// To [`MAX_DIGITS`] decimals, so that sums of all scales can be added.
fn scaled_up(sum: i128, scale: u32) -> BigInt {
    BigInt::from(sum) * BigInt::from(10).pow(MAX_DIGITS - scale)
}

impl Number {
    pub(super) fn to_value(self) -> report::Value {
        match self {
            Self::Integer(decimal) | Self::Fraction(decimal) => {
                BigDecimal::new(decimal.mantissa.into(), decimal.scale.into()).to_value()
            }
            Self::Inexact(value) => exact::from_f64(value),
        }
    }

    /// `None` where it has too many digits.
    pub(super) fn decimal(self) -> Option<Decimal> {
        match self {
            Self::Integer(decimal) | Self::Fraction(decimal) => Some(decimal),
            Self::Inexact(_) => None,
        }
    }

    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Integer(decimal) | Self::Fraction(decimal) => decimal.to_f64(),
            Self::Inexact(value) => value,
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (
                Self::Integer(left) | Self::Fraction(left),
                Self::Integer(right) | Self::Fraction(right),
            ) => left.compare(right),
            (left, right) => left.to_f64().total_cmp(&right.to_f64()),
        }
    }
}

/// Neumaier's sum: carries the rounding error of each addition along.
#[derive(Debug, Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.error += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.error
    }
}
