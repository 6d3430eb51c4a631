//! Reads one cell as a number without losing a digit.
//!
//! This runs for every numeric cell of the file, so the short ones are read as one word; everything
//! rare goes through `parse_long`.

use std::cmp::Ordering;

use super::digits;

/// `mantissa / 10^scale`: any number of up to 38 digits, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) mantissa: i128,
    pub(super) scale: u8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Integer(Decimal),
    /// Written with a decimal mark or an exponent.
    Fraction(Decimal),
    /// More digits than [`Decimal`] holds.
    Inexact(f64),
}

/// The most digits `i128` always holds, and so the largest scale.
pub(super) const MAX_DIGITS: u32 = 38;

/// A number of up to 18 digits and no exponent, as nearly all are: small enough to be handed on in
/// registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) mantissa: i64,
    pub(super) scale: u8,
    pub(super) has_mark: bool,
}

/// `None` for everything that is not plainly a number: words, `1,234`, `$5`, and also `02134`,
/// which is an identifier. `mark` is the decimal mark of the column.
pub(super) fn parse(cell: &[u8], mark: u8) -> Option<Number> {
    if let Some(short) = parse_short(cell, mark) {
        return Some(short.into());
    }
    let (is_negative, body) = split_sign(cell);
    let may_be_one = matches!(body, [b'0'..=b'9', ..]) || body.first() == Some(&mark);
    if may_be_one { parse_long(is_negative, body, mark) } else { None }
}

/// As [`parse`], for those that are short; of the others it may not be known whether they are any.
#[inline(always)]
pub(super) fn parse_short(cell: &[u8], mark: u8) -> Option<Short> {
    let (is_negative, body) = split_sign(cell);
    let len = body.len();
    if len > digits::PER_WORD {
        return parse_longer(is_negative, body, mark);
    }
    let word = digits::word(body);
    let whole_len = digits::count(word);
    let [first, ..] = word.to_le_bytes();
    if len == 0 || (whole_len > 1 && first == b'0') {
        return None;
    }
    if whole_len == len {
        return Some(Short::new(is_negative, digits::value(word, len), None));
    }
    let [byte, ..] = (word >> (8 * whole_len)).to_le_bytes();
    // The digits on both sides of the mark, moved together.
    let whole = (1 << (8 * whole_len)) - 1;
    let word = (word & whole) | ((word >> 8) & !whole);
    if byte != mark || len == 1 || digits::count(word) != len - 1 {
        return None;
    }
    let value = digits::value(word, len - 1);
    Some(Short::new(is_negative, value, Some(len - 1 - whole_len)))
}

/// What does not fit into one word.
#[inline(never)]
fn parse_longer(is_negative: bool, body: &[u8], mark: u8) -> Option<Short> {
    const MAX_SHORT_DIGITS: usize = 18;
    if body.len() > MAX_SHORT_DIGITS + 1 {
        return None;
    }
    let (whole, whole_len) = digits::append(0, body);
    if whole_len > 1 && body.first() == Some(&b'0') {
        return None;
    }
    match body.split_at_checked(whole_len)?.1 {
        [] if whole_len <= MAX_SHORT_DIGITS => Some(Short::new(is_negative, whole, None)),
        [byte, fraction @ ..] if *byte == mark => {
            let (value, scale) = digits::append(whole, fraction);
            (scale == fraction.len()).then(|| Short::new(is_negative, value, Some(scale)))
        }
        _ => None,
    }
}

/// A number but for its leading zeros, such as 02134 or -007.5.
pub(super) fn is_zero_padded(cell: &[u8], mark: u8) -> bool {
    let (_, body) = split_sign(cell);
    let zeros = body.iter().take_while(|byte| **byte == b'0').count();
    let rest = body.get(zeros..).unwrap_or_default();
    match rest {
        [] => zeros > 1,
        [b'0'..=b'9', ..] => zeros > 0 && parse(rest, mark).is_some(),
        [byte, ..] => zeros > 1 && *byte == mark && parse(rest, mark).is_some(),
    }
}

impl Decimal {
    /// Off by a rounding or two, which only spread and inexact columns see.
    pub(super) fn to_f64(self) -> f64 {
        self.mantissa as f64 / 10f64.powi(i32::from(self.scale))
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match self.scale.cmp(&other.scale) {
            Ordering::Equal => self.mantissa.cmp(&other.mantissa),
            Ordering::Less => self.compare_finer(other),
            Ordering::Greater => other.compare_finer(self).reverse(),
        }
    }

    fn compare_finer(self, finer: Self) -> Ordering {
        let factor = 10i128.pow(u32::from(finer.scale - self.scale));
        match self.mantissa.checked_mul(factor) {
            Some(scaled) => scaled.cmp(&finer.mantissa),
            // Too large for an i128, so beyond any other mantissa: the sign decides.
            None => self.mantissa.cmp(&0),
        }
    }
}

fn split_sign(cell: &[u8]) -> (bool, &[u8]) {
    match cell {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        body => (false, body),
    }
}

impl Short {
    /// Of up to 18 digits, `scale` of them behind the decimal mark if it has one.
    #[inline]
    fn new(is_negative: bool, magnitude: u64, scale: Option<usize>) -> Self {
        let mantissa = magnitude.cast_signed();
        let mantissa = if is_negative { -mantissa } else { mantissa };
        Self { mantissa, scale: scale.unwrap_or(0) as u8, has_mark: scale.is_some() }
    }

    #[inline]
    pub(super) fn decimal(self) -> Decimal {
        Decimal { mantissa: self.mantissa.into(), scale: self.scale }
    }
}

impl From<Short> for Number {
    #[inline]
    fn from(short: Short) -> Self {
        let decimal = short.decimal();
        if short.has_mark { Self::Fraction(decimal) } else { Self::Integer(decimal) }
    }
}

#[cold]
fn parse_long(is_negative: bool, body: &[u8], mark: u8) -> Option<Number> {
    let written = Written::split(body, mark)?;
    let is_integer = written.fraction.is_none() && written.exponent.is_none();
    let Some(value) = written.to_decimal(is_negative) else {
        return written.to_f64(is_negative).map(Number::Inexact);
    };
    Some(if is_integer { Number::Integer(value) } else { Number::Fraction(value) })
}

/// The parts of a number as they stand in the cell.
struct Written<'a> {
    whole: &'a [u8],
    fraction: Option<&'a [u8]>,
    exponent: Option<i32>,
}

impl<'a> Written<'a> {
    fn split(body: &'a [u8], mark: u8) -> Option<Self> {
        let (whole, rest) = split_digits(body);
        let (fraction, rest) = match rest {
            [byte, rest @ ..] if *byte == mark => {
                let (fraction, rest) = split_digits(rest);
                (Some(fraction), rest)
            }
            rest => (None, rest),
        };
        let exponent = match rest {
            [] => None,
            [b'e' | b'E', exponent @ ..] => Some(parse_exponent(exponent)?),
            _ => return None,
        };
        let is_padded = whole.len() > 1 && whole.first() == Some(&b'0');
        let has_digits = !whole.is_empty() || fraction.is_some_and(|digits| !digits.is_empty());
        (has_digits && !is_padded).then_some(Self { whole, fraction, exponent })
    }

    fn to_decimal(&self, is_negative: bool) -> Option<Decimal> {
        let fraction = self.fraction.unwrap_or_default();
        let mut mantissa = 0i128;
        for digit in self.whole.iter().chain(fraction) {
            mantissa = push_digit(mantissa, *digit)?;
        }
        let mut scale = i32::try_from(fraction.len()).ok()? - self.exponent.unwrap_or(0);
        if mantissa == 0 {
            scale = 0;
        }
        while scale > MAX_DIGITS.cast_signed() && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        while scale < 0 {
            mantissa = push_digit(mantissa, b'0')?;
            scale += 1;
        }
        let scale = u8::try_from(scale).ok().filter(|scale| u32::from(*scale) <= MAX_DIGITS)?;
        Some(Decimal { mantissa: if is_negative { -mantissa } else { mantissa }, scale })
    }

    /// `None` where even the nearest `f64` would be infinite.
    fn to_f64(&self, is_negative: bool) -> Option<f64> {
        let digits = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let whole = digits(self.whole);
        let fraction = digits(self.fraction.unwrap_or_default());
        let exponent = self.exponent.unwrap_or(0);
        let value: f64 = format!("{whole}.{fraction}e{exponent}").parse().ok()?;
        value.is_finite().then_some(if is_negative { -value } else { value })
    }
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let len = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.split_at_checked(len).unwrap_or_default()
}

/// Exponents beyond six digits are nothing a number needs.
fn parse_exponent(bytes: &[u8]) -> Option<i32> {
    let (is_negative, digits) = split_sign(bytes);
    let (value, len) = digits::append(0, digits);
    let is_whole = len == digits.len() && (1..=6).contains(&len);
    let value = i32::try_from(value).ok().filter(|_| is_whole)?;
    Some(if is_negative { -value } else { value })
}

fn push_digit(mantissa: i128, digit: u8) -> Option<i128> {
    const LIMIT: i128 = 10i128.pow(MAX_DIGITS);
    let grown = mantissa.checked_mul(10)?.checked_add(i128::from(digit.wrapping_sub(b'0')))?;
    (grown < LIMIT).then_some(grown)
}
