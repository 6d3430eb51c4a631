//! One pass over a file: every cell to its column, every oddity to the quality report.

use std::collections::HashSet;
use std::fs::File;

use super::column::{Column, Mark, shown};
use super::dialect::{self, NO_DELIMITER, Sniffed};
use super::number;
use super::records::Records;
use super::report::{Analysis, Place, Quality, Rows};
use super::source::Source;
use super::summary;
use super::tally::Wanted;
use super::{Analyze, Error, Observer};

pub(super) fn analyze(
    file: File,
    request: &Analyze,
    observer: &dyn Observer,
) -> Result<Analysis, Error> {
    let mut records = Records::new(Source::new(file)?)?;
    let (sample, is_whole) = records.sample();
    if sample.contains(&0) {
        return Err(Error::NotText { what: "binary data or UTF-16 without a byte order mark" });
    }
    let sniffed = dialect::sniff(sample, is_whole);
    records.start(sniffed.prelude_len, sniffed.delimiter.unwrap_or(NO_DELIMITER), sniffed.newline);
    let mut table = Table::read_header(&mut records, &sniffed, request)?;
    table.read_rows(&mut records, observer)?;
    table.resolve_marks();
    Ok(summary::conclude(table, &records, &sniffed, request))
}

/// What is known of the file so far.
pub(super) struct Table {
    pub(super) names: Vec<String>,
    pub(super) header: FirstRecord,
    /// The columns asked for and their place in a record.
    pub(super) columns: Vec<(usize, Column)>,
    pub(super) rows: u64,
    pub(super) quality: Quality,
    wanted: Wanted,
}

pub(super) enum FirstRecord {
    None,
    /// All numbers, so it is data.
    Data,
    /// For each field, whether it is a number.
    Names(Vec<bool>),
}

impl Table {
    fn read_header(
        records: &mut Records,
        sniffed: &Sniffed,
        request: &Analyze,
    ) -> Result<Self, Error> {
        let header = if records.advance()? { FirstRecord::of(records) } else { FirstRecord::None };
        let names = match header {
            FirstRecord::None => Vec::new(),
            FirstRecord::Data => unique_names(records.fields().map(|_| String::new())),
            FirstRecord::Names(_) => {
                unique_names(records.fields().map(|cell| shown(cell.trim_ascii())))
            }
        };
        let mark = if sniffed.delimiter == Some(b';') { Mark::Undecided } else { Mark::Point };
        let places = select(&names, request.columns.as_deref())?;
        let columns = places.into_iter().map(|place| (place, Column::new(mark))).collect();
        let wanted = Wanted::by(&request.operations);
        let quality = Quality::default();
        let mut table = Self { names, header, columns, wanted, rows: 0, quality };
        if matches!(table.header, FirstRecord::Data) {
            table.push(records);
        }
        Ok(table)
    }

    fn read_rows(&mut self, records: &mut Records, observer: &dyn Observer) -> Result<(), Error> {
        let mut refills = 0;
        while records.advance()? {
            self.push(records);
            if records.refills != refills {
                refills = records.refills;
                self.report_progress(records, observer)?;
            }
        }
        self.quality.unterminated_quote = records.unterminated.map(|line| Place { line });
        self.quality.blank_lines = records.blank_lines;
        self.quality.changed_while_read = records.source().changed_while_read()?;
        self.report_progress(records, observer)
    }

    fn report_progress(&self, records: &Records, observer: &dyn Observer) -> Result<(), Error> {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let source = records.source();
        observer.progress(source.bytes_read(), source.bytes_total(), self.rows);
        Ok(())
    }

    fn push(&mut self, records: &Records) {
        self.rows += 1;
        let line = || records.line();
        for (place, column) in &mut self.columns {
            match records.field(*place) {
                Some(cell) => column.push(cell, self.wanted, &line),
                None => column.push_missing(),
            }
        }
        match records.field_count().cmp(&self.names.len()) {
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Less => note(&mut self.quality.short_rows, line),
            std::cmp::Ordering::Greater => note(&mut self.quality.long_rows, line),
        }
        if records.has_stray_quote() {
            note(&mut self.quality.stray_quotes, line);
        }
    }

    /// Where columns differ in their decimal mark, `1.234` or `1,234` may as well be 1234.
    fn resolve_marks(&mut self) {
        let marks = self.columns.iter().filter_map(|(_, column)| column.decimal_mark());
        let (points, commas) = marks.partition::<Vec<_>, _>(|(mark, _)| *mark == Mark::Point);
        if points.is_empty() || commas.is_empty() {
            return;
        }
        let columns = self.columns.iter_mut().map(|(_, column)| column);
        columns.filter(|column| column.may_separate_thousands()).for_each(Column::refuse_mark);
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

/// Places of the columns asked for, in file order.
fn select(names: &[String], wanted: Option<&[String]>) -> Result<Vec<usize>, Error> {
    let Some(wanted) = wanted else {
        return Ok((0..names.len()).collect());
    };
    let find = |name: &String| {
        let by_name = names.iter().position(|other| other == name);
        let by_index = || name.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1);
        by_name
            .or_else(|| by_index().filter(|place| *place < names.len()))
            .ok_or_else(|| unknown_column(name, names))
    };
    let mut places = wanted.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    places.dedup();
    Ok(places)
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
