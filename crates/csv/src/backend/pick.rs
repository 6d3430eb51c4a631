//! Keeps the first rows of an order, or a fair choice of rows, in bounded memory.

use std::cmp::Ordering;

use super::Error;
use super::number::Number;
use super::page::MAX_ROWS;
use super::query::{FoundRow, found};
use super::reader::TableReader;
use super::typed::{Cell, Typed};

const MAX_SORTED: usize = 10_000;
const MAX_KEPT_BYTES: usize = 64 << 20;
const TOO_WIDE: Error = Error::Option {
    text: "the rows to keep do not fit into 64 MiB; ask for fewer rows or fewer `columns`",
};

/// The first `keep` rows in the order of one column.
pub(super) struct Sorted {
    column: Typed,
    is_descending: bool,
    keep: usize,
    rows: Vec<(Key, FoundRow)>,
    bytes: usize,
}

/// In the order of the enum, so that rows without a value come last.
enum Key {
    Number(Number),
    Date(u16, u8, u8, Vec<u8>),
    Text(Vec<u8>),
    NonFinite,
    Null,
}

impl Sorted {
    pub(super) fn new(column: Typed, is_descending: bool, keep: usize) -> Result<Self, Error> {
        if keep > MAX_SORTED {
            return Err(Error::Option {
                text: "sorted rows are given up to the 10,000th; filter for those beyond",
            });
        }
        Ok(Self { column, is_descending, keep, rows: Vec::new(), bytes: 0 })
    }

    pub(super) fn offer(&mut self, table: &TableReader, places: &[usize]) -> Result<(), Error> {
        let key = self.key(table);
        // A full list has been sorted, so its last row is the one to beat; ties stay in file order.
        let is_beaten = |(last, _): &(Key, FoundRow)| self.order(&key, last) != Ordering::Less;
        if self.rows.len() >= self.keep && self.rows.get(self.keep - 1).is_none_or(is_beaten) {
            return Ok(());
        }
        let row = found(table, places);
        self.bytes += row.bytes();
        self.rows.push((key, row));
        if self.rows.len() == self.keep
            || self.rows.len() >= self.keep * 2
            || self.bytes > MAX_KEPT_BYTES
        {
            self.prune();
        }
        if self.bytes > MAX_KEPT_BYTES { Err(TOO_WIDE) } else { Ok(()) }
    }

    pub(super) fn into_rows(mut self) -> Vec<FoundRow> {
        self.prune();
        self.rows.into_iter().map(|(_, row)| row).collect()
    }

    fn prune(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by(|(left, row), (right, other)| {
            self.order(left, right).then(row.row.cmp(&other.row))
        });
        rows.truncate(self.keep);
        self.bytes = rows.iter().map(|(_, row)| row.bytes()).sum();
        self.rows = rows;
    }

    fn key(&self, table: &TableReader) -> Key {
        match self.column.read(table.field(self.column.place)) {
            Cell::Null => Key::Null,
            Cell::NonFinite => Key::NonFinite,
            Cell::Number(number) => Key::Number(number),
            Cell::Text(text) => match self.column.dates.and_then(|format| format.parse(text)) {
                Some(date) => Key::Date(date.year, date.month, date.day, date.time.to_vec()),
                None => Key::Text(text.to_vec()),
            },
        }
    }

    fn order(&self, left: &Key, right: &Key) -> Ordering {
        let (order, is_value) = match (left, right) {
            (Key::Number(left), Key::Number(right)) => (left.compare(*right), true),
            (Key::Text(left), Key::Text(right)) => (left.cmp(right), true),
            (Key::Date(a, b, c, left), Key::Date(x, y, z, right)) => {
                ((a, b, c, left).cmp(&(x, y, z, right)), true)
            }
            (left, right) => (left.rank().cmp(&right.rank()), false),
        };
        if self.is_descending && is_value { order.reverse() } else { order }
    }
}

impl Key {
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Date(..) => 1,
            Self::Text(_) => 2,
            Self::NonFinite => 3,
            Self::Null => 4,
        }
    }
}

/// A choice of rows in which each has the same chance: the same one for the same seed.
pub(super) struct Sample {
    size: usize,
    random: SplitMix64,
    rows: Vec<FoundRow>,
}

impl Sample {
    pub(super) fn new(size: usize, seed: u64) -> Self {
        Self { size: size.min(MAX_ROWS), random: SplitMix64(seed), rows: Vec::new() }
    }

    /// Vitter's algorithm R: the row with `number` before it replaces one of those kept.
    pub(super) fn offer(
        &mut self,
        number: u64,
        table: &TableReader,
        places: &[usize],
    ) -> Result<(), Error> {
        if self.rows.len() < self.size {
            self.rows.push(found(table, places));
        } else {
            let slot = usize::try_from(self.random.below(number + 1)).unwrap_or(usize::MAX);
            let Some(kept) = self.rows.get_mut(slot) else {
                return Ok(());
            };
            *kept = found(table, places);
        }
        let bytes: usize = self.rows.iter().map(FoundRow::bytes).sum();
        if bytes > MAX_KEPT_BYTES { Err(TOO_WIDE) } else { Ok(()) }
    }

    pub(super) fn into_rows(mut self) -> Vec<FoundRow> {
        self.rows.sort_by_key(|row| row.row);
        self.rows
    }
}

/// Vigna's generator: a few lines, and the same numbers on every machine for ever.
#[derive(Clone)]
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn below(&mut self, limit: u64) -> u64 {
        u64::try_from((u128::from(self.word()) * u128::from(limit)) >> 64).unwrap_or_default()
    }

    pub(super) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}
