//! Recognises dates, and whether a column proves which of day and month comes first.
//!
//! A column of dates stays text: 01/02/2024 means two things, and only the whole column, or the
//! caller, can say which.

use super::reading::DateOrder;
use super::report::Hint;

/// Which readings all cells of a column so far allow.
#[derive(Clone, Copy)]
pub(super) struct Dates {
    possible: u8,
    /// The line that ruled out one order of day and month.
    pub(super) decided_at: Option<u64>,
}

const ISO: u8 = 1;
const DMY: u8 = 2;
const MDY: u8 = 4;

/// Year, month, day, and what follows, which compares as text: a time of day.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date<'a> {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) time: &'a [u8],
}

/// A column's way to write dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateFormat {
    Iso,
    Ordered(DateOrder),
    /// Nothing tells day from month.
    Ambiguous,
}

impl Default for Dates {
    fn default() -> Self {
        Self { possible: ISO | DMY | MDY, decided_at: None }
    }
}

impl Dates {
    #[inline]
    pub(super) fn narrow(&mut self, cell: &[u8], line: &impl Fn() -> u64) {
        if self.possible != 0 {
            self.look_at(cell.trim_ascii(), line);
        }
    }

    /// `None` unless every cell was a date.
    pub(super) fn format(self, told: Option<DateOrder>) -> Option<DateFormat> {
        let told_bit = match told {
            Some(DateOrder::Dmy) => DMY,
            Some(DateOrder::Mdy) => MDY,
            None => 0,
        };
        match self.possible {
            0 => None,
            ISO => Some(DateFormat::Iso),
            DMY => Some(DateFormat::Ordered(DateOrder::Dmy)),
            MDY => Some(DateFormat::Ordered(DateOrder::Mdy)),
            possible if possible & told_bit != 0 => told.map(DateFormat::Ordered),
            _ => Some(DateFormat::Ambiguous),
        }
    }

    /// What both allow, `later` having begun with everything possible.
    pub(super) fn append(&mut self, later: &Self) {
        self.possible &= later.possible;
        self.decided_at = self.decided_at.or(later.decided_at);
    }

    pub(super) fn rule_out(&mut self) {
        self.possible = 0;
    }

    fn look_at(&mut self, cell: &[u8], line: &impl Fn() -> u64) {
        let before = self.possible;
        self.possible &= possible(cell);
        if before & (DMY | MDY) == DMY | MDY && matches!(self.possible, DMY | MDY) {
            self.decided_at = Some(line());
        }
    }
}

impl DateFormat {
    pub(super) fn hint(self) -> Hint {
        match self {
            Self::Iso => Hint::DateIso,
            Self::Ordered(DateOrder::Dmy) => Hint::DateDmy,
            Self::Ordered(DateOrder::Mdy) => Hint::DateMdy,
            Self::Ambiguous => Hint::DateAmbiguous,
        }
    }

    /// `None` for what is no date, and for every cell of an ambiguous column.
    pub(super) fn parse(self, cell: &[u8]) -> Option<Date<'_>> {
        let cell = cell.trim_ascii();
        match self {
            Self::Iso => parse_iso(cell),
            Self::Ordered(order) => parse_ordered(cell, order),
            Self::Ambiguous => None,
        }
    }
}

fn possible(cell: &[u8]) -> u8 {
    if parse_iso(cell).is_some() {
        return ISO;
    }
    let fits = |order, bit| if parse_ordered(cell, order).is_some() { bit } else { 0 };
    fits(DateOrder::Dmy, DMY) | fits(DateOrder::Mdy, MDY)
}

/// `2024-02-01`, `2024/2/1`, either with a time behind it.
pub(super) fn parse_iso(cell: &[u8]) -> Option<Date<'_>> {
    let (year, rest) = digits(cell, 4, 4)?;
    let (mark, rest) = separator(rest)?;
    let (month, rest) = digits(rest, 1, 2)?;
    let (day, time) = digits(rest.strip_prefix(&[mark])?, 1, 2)?;
    date(year, month, day, time)
}

/// `1/2/2024`, `01.02.2024`, either with a time behind it.
fn parse_ordered(cell: &[u8], order: DateOrder) -> Option<Date<'_>> {
    let (first, rest) = digits(cell, 1, 2)?;
    let (mark, rest) = separator(rest)?;
    let (second, rest) = digits(rest, 1, 2)?;
    let (year, time) = digits(rest.strip_prefix(&[mark])?, 4, 4)?;
    match order {
        DateOrder::Dmy => date(year, second, first, time),
        DateOrder::Mdy => date(year, first, second, time),
    }
}

fn date(year: u16, month: u16, day: u16, time: &[u8]) -> Option<Date<'_>> {
    let days = match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let is_time = match time {
        [] => true,
        [b'T' | b't' | b' ', hour, b'0'..=b'9', b':', rest @ ..] => {
            let allowed = |byte: &u8| byte.is_ascii_digit() || b":.,+-Zz AaPpMm".contains(byte);
            hour.is_ascii_digit() && rest.iter().all(allowed)
        }
        _ => false,
    };
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    (is_time && (1..=days).contains(&day)).then_some(Date { year, month, day, time })
}

fn digits(bytes: &[u8], min: usize, max: usize) -> Option<(u16, &[u8])> {
    let len = bytes.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    let (head, rest) = bytes.split_at_checked(len)?;
    let is_whole = len >= min && !rest.first().is_some_and(u8::is_ascii_digit);
    let value = head.iter().fold(0, |value, byte| value * 10 + u16::from(byte - b'0'));
    is_whole.then_some((value, rest))
}

fn separator(bytes: &[u8]) -> Option<(u8, &[u8])> {
    match bytes {
        [mark @ (b'-' | b'/' | b'.'), rest @ ..] => Some((*mark, rest)),
        _ => None,
    }
}
