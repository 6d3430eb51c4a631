//! Reads `$5`, `12%` and `1,234` as numbers, where the caller has asked for it.

use super::column::Mark;
use super::number::{self, Number};
use super::reading::{Notation, Reading};

/// A number without its signs of money, percent or thousands, and what unit it had.
pub(super) struct Undressed {
    pub(super) number: Number,
    /// `None` where only thousands were separated.
    pub(super) unit: Option<&'static str>,
}

/// Money first as bytes of UTF-8, then as windows-1252 has it.
const CURRENCIES: [(&[u8], &str); 7] = [
    (b"$", "$"),
    ("€".as_bytes(), "€"),
    ("£".as_bytes(), "£"),
    ("¥".as_bytes(), "¥"),
    (b"\x80", "€"),
    (b"\xA3", "£"),
    (b"\xA5", "¥"),
];

/// `None` where the cell is none of what was asked for.
pub(super) fn read(word: &[u8], reading: &Reading, mark: Mark) -> Option<Undressed> {
    let asked = |notation| reading.numbers.contains(&notation);
    let (sign, body) = match word {
        [sign @ (b'-' | b'+'), body @ ..] => (Some(*sign), body),
        body => (None, body),
    };
    let (unit, body) = strip_unit(body, asked(Notation::Currency), asked(Notation::Percent));
    let body = body.trim_ascii();
    let (sign, body) = match body {
        // A sign may stand behind the symbol as well.
        [inner @ (b'-' | b'+'), body @ ..] if sign.is_none() && unit.is_some() => {
            (Some(*inner), body)
        }
        body => (sign, body),
    };
    let mut plain: Vec<u8> = sign.into_iter().collect();
    let mark = mark.byte();
    match without_thousands(body, mark).filter(|_| asked(Notation::Thousands)) {
        Some(digits) => plain.extend(digits),
        None if unit.is_some() => plain.extend_from_slice(body),
        None => return None,
    }
    Some(Undressed { number: number::parse(&plain, mark)?, unit })
}

fn strip_unit(body: &[u8], money: bool, percent: bool) -> (Option<&'static str>, &[u8]) {
    if let (true, Some(rest)) = (percent, body.strip_suffix(b"%")) {
        return (Some("%"), rest);
    }
    let stripped = CURRENCIES.iter().filter(|_| money).find_map(|(symbol, name)| {
        let rest = body.strip_prefix(*symbol).or_else(|| body.strip_suffix(*symbol))?;
        Some((Some(*name), rest))
    });
    stripped.unwrap_or((None, body))
}

/// `1,234,567.5` without its commas; `None` unless every group has three digits.
fn without_thousands(body: &[u8], mark: u8) -> Option<Vec<u8>> {
    let separator = match mark {
        b'.' => b',',
        b',' => b'.',
        _ => return None,
    };
    let whole_len = body.iter().position(|byte| *byte == mark).unwrap_or(body.len());
    let (whole, fraction) = body.split_at_checked(whole_len)?;
    let groups: Vec<&[u8]> = whole.split(|byte| *byte == separator).collect();
    let (first, rest) = groups.split_first()?;
    let is_grouped = !rest.is_empty()
        && (1..=3).contains(&first.len())
        && rest.iter().all(|group| group.len() == 3);
    is_grouped.then(|| [&groups.concat(), fraction].concat())
}
