//! One file as a table: its header, its rows one after the other, and every oddity on the way.
//!
//! What the tools have in common before any of them looks at a cell.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;

use super::chain::{Chain, Files};
use super::column::shown;
use super::dialect::{self, NO_DELIMITER, Sniffed};
use super::fields::Fields;
use super::format::Format;
use super::number;
use super::oddities::{Oddities, Place, Rows};
use super::parts::Cuts;
use super::reading::Reading;
use super::records::Records;
use super::source::Source;
use super::{Error, Observer};

/// A file, or several as one, that can be read from its start more than once, and how.
pub(super) struct TableFile {
    files: Arc<Files>,
    pub(super) reading: Arc<Reading>,
    pub(super) cuts: Cuts,
}

pub(super) struct TableReader {
    pub(super) records: Records,
    pub(super) sniffed: Arc<Sniffed>,
    pub(super) names: Arc<Vec<String>>,
    pub(super) header: FirstRecord,
    pub(super) rows: u64,
    pub(super) oddities: Oddities,
    pub(super) reading: Arc<Reading>,
    /// Time ran out before the end of the file.
    pub(super) is_cut_off: bool,
    /// The first record has been read and is itself a row.
    pub(super) is_row_waiting: bool,
    refills: u64,
    pub(super) chain: Chain,
    /// Fields of a whole row of the file being read.
    pub(super) width: usize,
    /// Where each column stands in that file, if not at its own place.
    pub(super) places: Option<Arc<Vec<Option<usize>>>>,
    /// A file before this one changed while it was read.
    pub(super) has_changed: bool,
    /// Parts that had to be read again, one after the other.
    pub(super) parts_read_again: u64,
}

/// What reading a part of a table takes; moves into the thread that does.
pub(super) struct Seed {
    source: Source,
    format: Format,
    sniffed: Arc<Sniffed>,
    names: Arc<Vec<String>>,
    reading: Arc<Reading>,
    files: Arc<Files>,
    width: usize,
    places: Option<Arc<Vec<Option<usize>>>>,
}

#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    fields: Fields<'a>,
    places: Option<&'a [Option<usize>]>,
}

pub(super) enum FirstRecord {
    None,
    /// All numbers, so it is data.
    Data,
    /// For each field, whether it is a number.
    Names(Vec<bool>),
}

impl TableFile {
    pub(super) fn new(files: Files, reading: &Reading, cuts: Cuts) -> Self {
        Self { files: Arc::new(files), reading: Arc::new(reading.clone()), cuts }
    }

    pub(super) fn open(&self) -> Result<TableReader, Error> {
        TableReader::open_one(self.files.first()?, &self.reading, &self.files)
    }
}

impl TableReader {
    /// Reads as far as the header.
    pub(super) fn open_one(
        file: File,
        reading: &Arc<Reading>,
        files: &Arc<Files>,
    ) -> Result<Self, Error> {
        let mut records = Records::new(Source::new(file)?)?;
        let (sample, is_whole) = records.sample();
        if sample.contains(&0) {
            return Err(Error::NotText { what: "binary data or UTF-16 without a byte order mark" });
        }
        let sniffed = dialect::sniff(sample, is_whole, reading.delimiter()?);
        let delimiter = sniffed.delimiter.unwrap_or(NO_DELIMITER);
        records.start(sniffed.prelude_len, delimiter, sniffed.newline, reading);
        let header = match records.advance()? {
            true => FirstRecord::of(&records, reading.header),
            false => FirstRecord::None,
        };
        let names = match header {
            FirstRecord::None => Vec::new(),
            FirstRecord::Data => unique_names(records.fields().map(|_| String::new())),
            FirstRecord::Names(_) => {
                unique_names(records.fields().map(|cell| shown(cell.trim_ascii())))
            }
        };
        Ok(Self {
            refills: 0,
            parts_read_again: 0,
            chain: Chain::new(files),
            width: names.len(),
            places: None,
            has_changed: false,
            records,
            sniffed: Arc::new(sniffed),
            names: Arc::new(names),
            is_row_waiting: matches!(header, FirstRecord::Data),
            header,
            rows: 0,
            oddities: Oddities::default(),
            reading: Arc::clone(reading),
            is_cut_off: false,
        })
    }

    pub(super) fn seed(&self) -> Result<Seed, Error> {
        let source = self.records.source().at(self.records.stands_at().0)?;
        Ok(Seed {
            source,
            format: self.records.format(),
            sniffed: Arc::clone(&self.sniffed),
            names: Arc::clone(&self.names),
            reading: Arc::clone(&self.reading),
            files: self.chain.files(),
            width: self.width,
            places: self.places.clone(),
        })
    }

    /// Where the next row begins: its byte and its line.
    pub(super) fn stands_at(&self) -> (u64, u64) {
        self.records.stands_at()
    }

    /// There is nothing more to read, or no time to.
    pub(super) fn is_over(&self) -> bool {
        self.is_cut_off || !self.records.has_stopped()
    }

    /// Adds what was found in a part of the table behind so many lines.
    pub(super) fn append(&mut self, part: &Self, lines_before: u64) {
        self.rows += part.rows;
        self.oddities.append(part.oddities.clone(), lines_before);
        self.records.append(&part.records, lines_before);
        self.is_cut_off |= part.is_cut_off;
    }

    /// Goes on where a part ended: at `offset`, on the given physical line.
    pub(super) fn resume(&mut self, offset: u64, line: u64) -> Result<(), Error> {
        let mut source = self.records.source().at(offset)?;
        source.note_invalid(self.records.source().first_invalid());
        self.records.resume(source, self.records.format(), offset, line);
        Ok(())
    }

    /// Moves to the next row; `false` at the end.
    #[inline]
    pub(super) fn advance(&mut self, observer: &dyn Observer) -> Result<bool, Error> {
        while !self.advance_in_file()? {
            if !self.is_over() {
                return Ok(false);
            }
            if self.is_cut_off || !self.open_next()? {
                return self.finish(observer).map(|()| false);
            }
        }
        self.rows += 1;
        self.note_oddities();
        if self.records.refills != self.refills {
            self.refills = self.records.refills;
            self.report_progress(observer)?;
        }
        Ok(true)
    }

    #[inline]
    fn advance_in_file(&mut self) -> Result<bool, Error> {
        if std::mem::take(&mut self.is_row_waiting) {
            return Ok(true);
        }
        Ok(!self.is_cut_off && self.records.advance()?)
    }

    /// `None` where a short row has no such field, or the file no such column.
    pub(super) fn field(&self, place: usize) -> Option<&[u8]> {
        self.row().field(place)
    }

    /// For a loop over its fields.
    #[inline]
    pub(super) fn row(&self) -> Row<'_> {
        let places = self.places.as_ref().map(|places| places.as_slice());
        Row { fields: self.records.record(), places }
    }

    /// The whole row, in the order of the columns.
    pub(super) fn cells(&self) -> Vec<&[u8]> {
        match &self.places {
            None => self.records.fields().collect(),
            Some(places) => {
                (0..places.len()).map(|place| self.field(place).unwrap_or_default()).collect()
            }
        }
    }

    /// How much of the files has been read, from 0 to 1.
    pub(super) fn coverage(&self) -> f64 {
        let source = self.records.source();
        // What is in memory but not yet looked at has not been read.
        let place =
            if source.is_plain() { self.records.next_offset() } else { source.bytes_read() };
        let done = self.chain.bytes_done(place);
        done as f64 / (self.chain.bytes_total() as f64).max(1.0)
    }

    /// The place of a column given by its name, or as `#3` for the third.
    pub(super) fn place_of(&self, name: &str) -> Result<usize, Error> {
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

    /// Places of the columns named, in the order they are named.
    pub(super) fn places_of(&self, names: &[String]) -> Result<Vec<usize>, Error> {
        names.iter().map(|name| self.place_of(name)).collect()
    }

    fn finish(&mut self, observer: &dyn Observer) -> Result<(), Error> {
        self.oddities.unterminated_quote =
            self.records.unterminated.map(|line| Place { file: None, line });
        self.oddities.blank_lines = self.records.blank_lines;
        let source = self.records.source();
        self.oddities.changed_while_read = self.has_changed || source.changed_while_read()?;
        let done = self.chain.bytes_done(source.bytes_read());
        observer.progress(done, self.chain.bytes_total(), self.rows);
        Ok(())
    }

    fn report_progress(&mut self, observer: &dyn Observer) -> Result<(), Error> {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        self.is_cut_off = observer.out_of_time();
        let done = self.chain.bytes_done(self.records.source().bytes_read());
        // The total is reported once, at the end, with the number of rows that is right then.
        if done < self.chain.bytes_total() {
            observer.progress(done, self.chain.bytes_total(), self.rows);
        }
        Ok(())
    }

    #[inline]
    fn note_oddities(&mut self) {
        let records = &self.records;
        let line = || records.line();
        match records.field_count().cmp(&self.width) {
            Ordering::Equal => {}
            Ordering::Less => Rows::note(&mut self.oddities.short_rows, line),
            Ordering::Greater => Rows::note(&mut self.oddities.long_rows, line),
        }
        if records.has_stray_quote() {
            Rows::note(&mut self.oddities.stray_quotes, line);
        }
    }
}

impl<'a> Row<'a> {
    /// As [`TableReader::field`].
    #[inline(always)]
    pub(super) fn field(self, place: usize) -> Option<&'a [u8]> {
        match self.places {
            None => self.fields.get(place),
            Some(places) => self.fields.get((*places.get(place)?)?),
        }
    }
}

impl Seed {
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The rows from `offset` on, before the first that begins at `stop_at`.
    pub(super) fn table(&self, offset: u64, stop_at: u64) -> Result<TableReader, Error> {
        let mut records = Records::unread(self.source.at(offset)?);
        records.begin(self.format, offset, 1);
        records.stop_at = stop_at;
        Ok(TableReader {
            refills: 0,
            parts_read_again: 0,
            chain: Chain::of_part(&self.files),
            width: self.width,
            places: self.places.clone(),
            has_changed: false,
            records,
            sniffed: Arc::clone(&self.sniffed),
            names: Arc::clone(&self.names),
            header: FirstRecord::None,
            rows: 0,
            oddities: Oddities::default(),
            reading: Arc::clone(&self.reading),
            is_cut_off: false,
            is_row_waiting: false,
        })
    }
}

impl FirstRecord {
    fn of(records: &Records, told: Option<bool>) -> Self {
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
        let is_header = told.unwrap_or(has_words || !is_number.contains(&true));
        if is_header { Self::Names(is_number) } else { Self::Data }
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
