//! The standard deviation of a column, from exact sums of squares wherever that is possible.
//!
//! The difference of two such sums is the textbook formula that cancels to nonsense in `f64`. In exact
//! arithmetic it is right, and the same in whatever order the numbers come.

use num_bigint::{BigInt, BigUint};

use super::exact::BigDecimal;
use super::number::{Decimal, MAX_DIGITS, Number};

#[derive(Default)]
pub(super) struct Spread {
    /// Of numbers held exactly.
    count: u64,
    /// The sum of the squares of all mantissas with `index` decimals.
    squares: Vec<u128>,
    /// What did not fit into `squares`, with twice [`MAX_DIGITS`] decimals.
    overflow: BigUint,
    inexact: Welford,
}

impl Spread {
    #[inline]
    pub(super) fn add(&mut self, number: Number) {
        match number {
            Number::Integer(decimal) | Number::Fraction(decimal) => self.add_exact(decimal),
            Number::Inexact(value) => self.inexact.add(value),
        }
    }

    #[inline]
    fn add_exact(&mut self, decimal: Decimal) {
        self.count += 1;
        let magnitude = decimal.mantissa.unsigned_abs();
        match magnitude.checked_mul(magnitude) {
            Some(square) => self.add_square(square, decimal.scale),
            None => self.overflow += scaled_up(BigUint::from(magnitude).pow(2), decimal.scale),
        }
    }

    #[inline]
    fn add_square(&mut self, square: u128, scale: u8) {
        let place = usize::from(scale);
        if self.squares.len() <= place {
            self.squares.resize(place + 1, 0);
        }
        let Some(sum) = self.squares.get_mut(place) else {
            return;
        };
        match sum.checked_add(square) {
            Some(grown) => *sum = grown,
            None => {
                let full = std::mem::replace(sum, square);
                self.overflow += scaled_up(full.into(), scale);
            }
        }
    }

    /// `later` holds no inexact numbers.
    pub(super) fn append(&mut self, later: Self) {
        self.count += later.count;
        self.overflow += later.overflow;
        for (square, scale) in later.squares.into_iter().zip(0..) {
            self.add_square(square, scale);
        }
    }

    /// Of a sample, and how it was computed; `None` for fewer than two numbers. `sum` is that of the
    /// numbers held exactly.
    pub(super) fn deviation(&self, sum: &BigDecimal) -> Option<(f64, &'static str)> {
        if self.inexact.count == 0 {
            let method = "from exact sums, divided by count - 1, rounded once (f64)";
            return Some((self.exact_deviation(sum)?, method));
        }
        let exact = Welford {
            count: self.count,
            mean: sum.to_f64() / (self.count.max(1)) as f64,
            squares: ratio(&self.distances(sum), &self.count.max(1).into(), 2 * MAX_DIGITS),
        };
        let variance = exact.joined(self.inexact).sample_variance()?;
        Some((variance.sqrt(), "Welford in f64, divided by count - 1"))
    }

    fn exact_deviation(&self, sum: &BigDecimal) -> Option<f64> {
        /// Enough for 40 digits of the root of the smallest variance there is.
        const EXTRA: u32 = 84;
        let divisor = BigUint::from(self.count) * self.count.checked_sub(1).filter(|n| *n > 0)?;
        let distances = self.distances(sum).magnitude() * BigUint::from(10u8).pow(EXTRA);
        let root = (distances / divisor).sqrt();
        Some(root_to_f64(&root, (2 * MAX_DIGITS + EXTRA) / 2))
    }

    /// The count times the sum of squared distances from the mean, with twice [`MAX_DIGITS`] decimals.
    fn distances(&self, sum: &BigDecimal) -> BigInt {
        let squares = self.squares.iter().zip(0..);
        let squares: BigUint =
            squares.map(|(sum, scale)| scaled_up(BigUint::from(*sum), scale)).sum();
        BigInt::from((squares + &self.overflow) * self.count) - sum.digits_at(MAX_DIGITS).pow(2)
    }
}

/// To twice [`MAX_DIGITS`] decimals; `square` has twice `scale`.
fn scaled_up(square: BigUint, scale: u8) -> BigUint {
    square * BigUint::from(10u8).pow(2 * (MAX_DIGITS - u32::from(scale)))
}

fn ratio(dividend: &BigInt, divisor: &BigInt, scale: u32) -> f64 {
    const EXTRA: u32 = 40;
    let quotient = dividend * BigInt::from(10).pow(EXTRA) / divisor;
    root_to_f64(quotient.magnitude(), scale + EXTRA)
}

/// `digits / 10^scale`, where `digits` were cut off.
fn root_to_f64(digits: &BigUint, scale: u32) -> f64 {
    if *digits == BigUint::ZERO {
        return 0.0;
    }
    format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN)
}

/// Variance in one pass, for what only `f64` holds.
#[derive(Debug, Clone, Copy, Default)]
struct Welford {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Welford {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    /// As Chan, Golub and LeVeque put two samples together.
    fn joined(self, other: Self) -> Self {
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let weight = self.count as f64 * (other.count as f64 / count as f64);
        Self {
            count,
            mean: self.mean + distance * (other.count as f64 / count as f64),
            squares: self.squares + other.squares + distance * distance * weight,
        }
    }

    fn sample_variance(self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
}
