//! One pass over a file: every cell to its column.

use std::fs::File;

use super::column::{Column, Mark};
use super::reader::TableReader;
use super::report::Analysis;
use super::summary;
use super::tally::Wanted;
use super::{Analyze, Error, Observer};

pub(super) fn analyze(
    file: File,
    request: &Analyze,
    observer: &dyn Observer,
) -> Result<Analysis, Error> {
    let reader = TableReader::open(file)?;
    let places = reader.select(request.columns.as_deref())?;
    let mut scan = Scan::new(reader, places);
    scan.read_rows(Wanted::by(&request.operations), observer)?;
    Ok(summary::conclude(scan, request))
}

/// For all columns of a scan together, when medians or distinct counts are asked for.
const MAX_KEPT_BYTES: usize = 64 << 20;
const ROWS_BETWEEN_CHECKS: u64 = 1024;

/// What is known of the columns asked for.
pub(super) struct Scan {
    pub(super) table: TableReader,
    /// The columns asked for and their place in a record.
    pub(super) columns: Vec<(usize, Column)>,
}

impl Scan {
    pub(super) fn new(table: TableReader, places: Vec<usize>) -> Self {
        let is_mark_open = table.sniffed.delimiter == Some(b';');
        let mark = if is_mark_open { Mark::Undecided } else { Mark::Point };
        let columns = places.into_iter().map(|place| (place, Column::new(mark))).collect();
        Self { table, columns }
    }

    pub(super) fn read_rows(
        &mut self,
        wanted: Wanted,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let Self { table, columns } = self;
        let keeps_cells = wanted.numbers || wanted.texts;
        while table.advance(observer)? {
            if keeps_cells && table.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                stay_within_memory(columns, MAX_KEPT_BYTES);
            }
            let line = || table.records.line();
            for (place, column) in columns.iter_mut() {
                match table.field(*place) {
                    Some(cell) => column.push(cell, wanted, &line),
                    None => column.push_missing(),
                };
            }
        }
        self.resolve_marks();
        Ok(())
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

/// Gives up the largest collections first.
pub(super) fn stay_within_memory(columns: &mut [(usize, Column)], max_bytes: usize) {
    let kept_bytes = |column: &Column| column.stats().kept_bytes();
    while columns.iter().map(|(_, column)| kept_bytes(column)).sum::<usize>() > max_bytes {
        let largest = columns.iter_mut().max_by_key(|(_, column)| kept_bytes(column));
        let Some((_, column)) = largest.filter(|(_, column)| column.stats().can_free()) else {
            return;
        };
        column.stats_mut().free();
    }
}
