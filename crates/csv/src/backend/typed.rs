//! What a first pass has found out about a column, for a second pass that needs it from the start.

use std::sync::Arc;

use super::column::{Column, Mark};
use super::dates::DateFormat;
use super::filter::Test;
use super::notation;
use super::number::{self, Number};
use super::reader::TableFile;
use super::reading::Reading;
use super::report::{ColumnType, CounterExample};
use super::scan::Scan;
use super::tally::Wanted;
use super::{Error, Observer, words};

pub(super) struct Typed {
    pub(super) place: usize,
    pub(super) kind: ColumnType,
    pub(super) dates: Option<DateFormat>,
    /// A cell that is no number although others are.
    pub(super) text_because: Option<CounterExample>,
    mark: Mark,
    rules: Option<Arc<Reading>>,
}

/// A cell in the light of all of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Number(Number),
    /// NaN or infinite.
    NonFinite,
    Text(&'a [u8]),
}

/// Reads the whole file for the types of a few columns.
pub(super) fn find_out(
    file: &TableFile,
    places: &[usize],
    observer: &dyn Observer,
) -> Result<Vec<Typed>, Error> {
    let mut scan = Scan::new(file.open()?, places.to_vec())?;
    scan.read(file, Wanted::by(&[]), &Test::Everything, observer)?;
    Ok(scan.columns.iter().map(|(place, column)| Typed::of(*place, column)).collect())
}

impl Typed {
    pub(super) fn of(place: usize, column: &Column) -> Self {
        Self {
            place,
            kind: column.kind(),
            dates: column.date_format(),
            text_because: column.text_because().cloned(),
            mark: column.mark(),
            rules: column.rules().cloned(),
        }
    }

    pub(super) fn is_numeric(&self) -> bool {
        matches!(self.kind, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float)
    }

    #[inline]
    pub(super) fn read<'a>(&self, cell: Option<&'a [u8]>) -> Cell<'a> {
        let Some(cell) = cell else {
            return Cell::Null;
        };
        if !self.is_numeric() {
            let word = cell.trim_ascii();
            return if word.is_empty() || self.is_told_null(word) {
                Cell::Null
            } else {
                Cell::Text(cell)
            };
        }
        match number::parse(cell, self.mark.byte()) {
            Some(number) => Cell::Number(number),
            None => self.read_odd(cell.trim_ascii()),
        }
    }

    #[cold]
    fn read_odd<'a>(&self, word: &'a [u8]) -> Cell<'a> {
        if let Some(number) = number::parse(word, self.mark.byte()) {
            return Cell::Number(number);
        }
        if word.is_empty() || self.is_told_null(word) || words::is_null_token(word) {
            return Cell::Null;
        }
        if words::is_no_number(word) {
            return Cell::NonFinite;
        }
        let undressed =
            self.rules.as_ref().and_then(|reading| notation::read(word, reading, self.mark));
        undressed.map_or(Cell::Text(word), |found| Cell::Number(found.number))
    }

    /// One cell by itself, whatever its column is.
    pub(super) fn number(&self, text: &[u8]) -> Option<Number> {
        number::parse(text, self.mark.byte()).or_else(|| {
            let reading = self.rules.as_ref()?;
            Some(notation::read(text, reading, self.mark)?.number)
        })
    }

    pub(super) fn is_told_null(&self, word: &[u8]) -> bool {
        let is_word = |token: &String| token.as_bytes() == word;
        self.rules.as_ref().is_some_and(|reading| reading.null_tokens.iter().any(is_word))
    }
}
