//! One file as a table: its header, its rows one after the other, and every oddity on the way.
//!
//! What the tools have in common before any of them looks at a cell.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs::File;

use super::column::shown;
use super::dialect::{self, NO_DELIMITER, Sniffed};
use super::number;
use super::records::Records;
use super::report::{Place, Quality, Rows};
use super::source::Source;
use super::{Error, Observer};

pub(super) struct TableReader {
    pub(super) records: Records,
    pub(super) sniffed: Sniffed,
    pub(super) names: Vec<String>,
    pub(super) header: FirstRecord,
    pub(super) rows: u64,
    pub(super) quality: Quality,
    /// The first record has been read and is itself a row.
    is_row_waiting: bool,
    refills: u64,
}

pub(super) enum FirstRecord {
    None,
    /// All numbers, so it is data.
    Data,
    /// For each field, whether it is a number.
    Names(Vec<bool>),
}

impl TableReader {
    /// Reads as far as the header.
    pub(super) fn open(file: File) -> Result<Self, Error> {
        let mut records = Records::new(Source::new(file)?)?;
        let (sample, is_whole) = records.sample();
        if sample.contains(&0) {
            return Err(Error::NotText { what: "binary data or UTF-16 without a byte order mark" });
        }
        let sniffed = dialect::sniff(sample, is_whole);
        let delimiter = sniffed.delimiter.unwrap_or(NO_DELIMITER);
        records.start(sniffed.prelude_len, delimiter, sniffed.newline);
        let header = if records.advance()? { FirstRecord::of(&records) } else { FirstRecord::None };
        let names = match header {
            FirstRecord::None => Vec::new(),
            FirstRecord::Data => unique_names(records.fields().map(|_| String::new())),
            FirstRecord::Names(_) => {
                unique_names(records.fields().map(|cell| shown(cell.trim_ascii())))
            }
        };
        Ok(Self {
            refills: 0,
            records,
            sniffed,
            names,
            is_row_waiting: matches!(header, FirstRecord::Data),
            header,
            rows: 0,
            quality: Quality::default(),
        })
    }

    /// Moves to the next row; `false` at the end.
    #[inline]
    pub(super) fn advance(&mut self, observer: &dyn Observer) -> Result<bool, Error> {
        if self.is_row_waiting {
            self.is_row_waiting = false;
        } else if !self.records.advance()? {
            return self.finish(observer).map(|()| false);
        }
        self.rows += 1;
        self.note_oddities();
        if self.records.refills != self.refills {
            self.refills = self.records.refills;
            self.report_progress(observer)?;
        }
        Ok(true)
    }

    /// `None` where a short row has no such field.
    #[inline]
    pub(super) fn field(&self, place: usize) -> Option<&[u8]> {
        self.records.field(place)
    }

    /// The place of a column given by its name, or as `#3` for the third.
    fn place_of(&self, name: &str) -> Result<usize, Error> {
        let by_name = self.names.iter().position(|other| other == name);
        let by_index = || name.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1);
        by_name
            .or_else(|| by_index().filter(|place| *place < self.names.len()))
            .ok_or_else(|| unknown_column(name, &self.names))
    }

    /// Places of the columns asked for, in file order and each once; all of them for `None`.
    pub(super) fn select(&self, wanted: Option<&[String]>) -> Result<Vec<usize>, Error> {
        let Some(wanted) = wanted else {
            return Ok((0..self.names.len()).collect());
        };
        let mut places =
            wanted.iter().map(|name| self.place_of(name)).collect::<Result<Vec<_>, _>>()?;
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    fn finish(&mut self, observer: &dyn Observer) -> Result<(), Error> {
        self.quality.unterminated_quote = self.records.unterminated.map(|line| Place { line });
        self.quality.blank_lines = self.records.blank_lines;
        let source = self.records.source();
        self.quality.changed_while_read = source.changed_while_read()?;
        observer.progress(source.bytes_read(), source.bytes_total(), self.rows);
        Ok(())
    }

    fn report_progress(&self, observer: &dyn Observer) -> Result<(), Error> {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let source = self.records.source();
        // The total is reported once, at the end, with the number of rows that is right then.
        if source.bytes_read() < source.bytes_total() {
            observer.progress(source.bytes_read(), source.bytes_total(), self.rows);
        }
        Ok(())
    }

    #[inline]
    fn note_oddities(&mut self) {
        let records = &self.records;
        let line = || records.line();
        match records.field_count().cmp(&self.names.len()) {
            Ordering::Equal => {}
            Ordering::Less => note(&mut self.quality.short_rows, line),
            Ordering::Greater => note(&mut self.quality.long_rows, line),
        }
        if records.has_stray_quote() {
            note(&mut self.quality.stray_quotes, line);
        }
    }
}

impl FirstRecord {
    fn of(records: &Records) -> Self {
        let looks_numeric = |cell: &[u8]| {
            let cell = cell.trim_ascii();
            [b'.', b','].iter().any(|mark| {
                number::parse(cell, *mark).is_some() || number::is_zero_padded(cell, *mark)
            })
        };
        let is_number: Vec<bool> = records.fields().map(looks_numeric).collect();
        let has_words = records
            .fields()
            .zip(&is_number)
            .any(|(cell, is_number)| !cell.is_empty() && !is_number);
        if is_number.contains(&true) && !has_words { Self::Data } else { Self::Names(is_number) }
    }
}

/// An empty name becomes `column_3`, a repeated one `a#2`.
fn unique_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut unique = |(name, index): (String, usize)| {
        let name = if name.is_empty() { format!("column_{index}") } else { name };
        let mut candidate = name.clone();
        let mut copy = 1;
        while !taken.insert(candidate.clone()) {
            copy += 1;
            candidate = format!("{name}#{copy}");
        }
        candidate
    };
    names.zip(1..).map(&mut unique).collect()
}

fn unknown_column(name: &str, names: &[String]) -> Error {
    const MAX_LISTED: usize = 30;
    if names.is_empty() {
        return Error::UnknownColumn { name: shown(name.as_bytes()), available: "none".into() };
    }
    let listed = names.iter().take(MAX_LISTED).map(|name| format!("{name:?}"));
    let mut available = listed.collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        available.push_str(&format!(" and {} more", names.len() - MAX_LISTED));
    }
    Error::UnknownColumn { name: shown(name.as_bytes()), available }
}

fn note(rows: &mut Option<Rows>, line: impl Fn() -> u64) {
    const MAX_LINES: usize = 5;
    let rows = rows.get_or_insert_default();
    rows.count += 1;
    if rows.first_lines.len() < MAX_LINES {
        rows.first_lines.push(line());
    }
}
