//! Prints sums and averages so that no reader gets other digits than were computed.
//!
//! Runs once for each number of an answer, so it uses big integers throughout.

use num_bigint::{BigInt, BigUint, Sign};

use super::report::{Number, Value};

/// `digits / 10^scale`, without trailing zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BigDecimal {
    digits: BigInt,
    scale: u32,
}

/// With one digit more, two printers may both be right and yet differ: 600000000000000.3 or .2.
const MAX_F64_DIGITS: usize = 15;
/// An average with more digits than this is not worth its exactness.
const MAX_AVERAGE_DIGITS: usize = 34;
/// Every integer up to here, and not beyond, is its own `f64`.
const MAX_SAFE_INTEGER: u64 = 1 << 53;

impl BigDecimal {
    pub(super) fn new(mut digits: BigInt, mut scale: u32) -> Self {
        let ten = BigInt::from(10);
        while scale > 0 && (&digits % &ten).sign() == Sign::NoSign {
            digits /= &ten;
            scale -= 1;
        }
        Self { digits, scale }
    }

    /// A JSON number if every reader that holds it as `f64` prints these digits again.
    pub(super) fn to_value(&self) -> Value {
        let text = self.to_text();
        if self.scale == 0 {
            return match i64::try_from(&self.digits) {
                Ok(small) if small.unsigned_abs() <= MAX_SAFE_INTEGER => Value::Integer(small),
                _ => Value::Digits(text),
            };
        }
        match text.parse::<f64>() {
            Ok(float) if self.digit_count() <= MAX_F64_DIGITS => Value::Float(float),
            _ => Value::Digits(text),
        }
    }

    /// The digits of the number times `10^scale`, which is at least its own scale.
    pub(super) fn digits_at(&self, scale: u32) -> BigInt {
        &self.digits * BigInt::from(10).pow(scale.saturating_sub(self.scale))
    }

    pub(super) fn to_f64(&self) -> f64 {
        self.to_text().parse().unwrap_or(f64::NAN)
    }

    /// Exact where the division ends, otherwise rounded once.
    pub(super) fn divided_by(&self, count: u64) -> Number {
        if let Some(quotient) = self.exact_quotient(count) {
            return Number::exact(quotient.to_value());
        }
        let rounded = self.nearest_f64_of_quotient(count);
        if rounded.abs() <= MAX_SAFE_INTEGER as f64 {
            return Number::inexact(
                from_f64(rounded),
                "exact sum / count, rounded once to 17 digits (f64)",
            );
        }
        let rounded = self.rounded_quotient(count, 6);
        Number::inexact(rounded.to_value(), "exact sum / count, rounded once to 6 decimals")
    }

    fn exact_quotient(&self, count: u64) -> Option<BigDecimal> {
        // A fraction ends when its reduced denominator has no prime but 2 and 5.
        let divisor = BigInt::from(count) / gcd(self.digits.magnitude(), count);
        let (twos, rest) = divide_out(divisor, 2);
        let (fives, rest) = divide_out(rest, 5);
        if rest != BigInt::from(1) {
            return None;
        }
        let extra = twos.max(fives);
        let digits = &self.digits * BigInt::from(10).pow(extra) / BigInt::from(count);
        let quotient = BigDecimal::new(digits, self.scale + extra);
        (quotient.digit_count() <= MAX_AVERAGE_DIGITS).then_some(quotient)
    }

    fn nearest_f64_of_quotient(&self, count: u64) -> f64 {
        // Forty more digits than the sum has, then a 1 for "and more": a digit string that the
        // standard parser, which rounds correctly, cannot mistake for a tie.
        const EXTRA: u32 = 40;
        let dividend = &self.digits * BigInt::from(10).pow(EXTRA);
        let quotient = dividend / BigInt::from(count);
        format!("{quotient}1e-{}", self.scale + EXTRA + 1).parse().unwrap_or(f64::NAN)
    }

    /// Half away from zero.
    fn rounded_quotient(&self, count: u64, decimals: u32) -> BigDecimal {
        let divisor = BigInt::from(count) * BigInt::from(10).pow(self.scale);
        let doubled: BigInt = &self.digits * BigInt::from(10).pow(decimals) * 2 / divisor;
        let away = BigInt::from_biguint(doubled.sign(), BigUint::from(1u8));
        BigDecimal::new((doubled + away) / 2, decimals)
    }

    fn digit_count(&self) -> usize {
        self.digits.magnitude().to_string().len()
    }

    fn to_text(&self) -> String {
        let sign = if self.digits.sign() == Sign::Minus { "-" } else { "" };
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", self.digits.magnitude().to_string(), width = scale + 1);
        match digits.split_at_checked(digits.len() - scale) {
            Some((whole, fraction)) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
            _ => format!("{sign}{digits}"),
        }
    }
}

pub(super) fn from_count(count: u64) -> Value {
    BigDecimal::new(count.into(), 0).to_value()
}

/// Never gives NaN or infinity, which JSON cannot carry.
pub(super) fn from_f64(value: f64) -> Value {
    if value == 0.0 {
        // Also minus zero.
        Value::Integer(0)
    } else if value.is_finite() {
        Value::Float(value)
    } else {
        Value::Digits("beyond the range of f64".to_owned())
    }
}

fn divide_out(mut number: BigInt, prime: u32) -> (u32, BigInt) {
    let mut times = 0;
    while (&number % prime).sign() == Sign::NoSign {
        number /= prime;
        times += 1;
    }
    (times, number)
}

fn gcd(left: &BigUint, right: u64) -> BigInt {
    let (mut left, mut right) = (left.clone(), BigUint::from(right));
    while right != BigUint::ZERO {
        let rest = left % &right;
        left = std::mem::replace(&mut right, rest);
    }
    left.into()
}
