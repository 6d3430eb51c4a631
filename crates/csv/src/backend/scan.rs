//! One pass over a file: every cell to its column.

use std::sync::Arc;

use super::collect::Texts;
use super::column::{Column, Mark};
use super::filter::Test;
use super::parts::{self, Gather};
use super::ranks::Numbers;
use super::reader::{TableFile, TableReader};
use super::stats::Stats;
use super::tally::Wanted;
use super::{Error, Observer};

/// Of numbers, texts or groups, unless a test says otherwise.
pub(super) const MAX_KEPT_BYTES: usize = 64 << 20;
pub(super) const ROWS_BETWEEN_CHECKS: u64 = 1024;

/// What is known of the columns asked for.
pub(super) struct Scan {
    pub(super) table: TableReader,
    /// The columns asked for and their place in a record.
    pub(super) columns: Vec<(usize, Column)>,
    /// Rows that were counted in.
    pub(super) matched: u64,
}

impl Scan {
    pub(super) fn new(table: TableReader, places: Vec<usize>) -> Result<Self, Error> {
        let mark = match (table.reading.decimal_mark()?, table.sniffed.delimiter) {
            (Some(b','), _) => Mark::Comma,
            (None, Some(b';')) => Mark::Undecided,
            _ => Mark::Point,
        };
        let rules = table.reading.has_rules().then(|| Arc::clone(&table.reading));
        let column = |place| (place, Column::new(mark, rules.clone()));
        Ok(Self { columns: places.into_iter().map(column).collect(), table, matched: 0 })
    }

    /// All cells decide what their column is; those of rows that `test` lets through are counted.
    pub(super) fn read(
        &mut self,
        file: &TableFile,
        wanted: Wanted,
        test: &Test,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let columns = std::mem::take(&mut self.columns);
        let max_kept_bytes = file.cuts.max_kept_bytes;
        let mut cells = Cells { columns, matched: 0, wanted, test, max_kept_bytes };
        parts::read(&mut self.table, file, &mut cells, observer)?;
        (self.columns, self.matched) = (cells.columns, cells.matched);
        self.settle();
        Ok(())
    }

    /// As [`Self::read`], in one go, for a caller that looks at the rows as well.
    pub(super) fn read_in_turn(
        &mut self,
        wanted: Wanted,
        observer: &dyn Observer,
        mut look: impl FnMut(&TableReader),
    ) -> Result<(), Error> {
        let columns = std::mem::take(&mut self.columns);
        let test = &Test::Everything;
        let max_kept_bytes = MAX_KEPT_BYTES;
        let mut cells = Cells { columns, matched: 0, wanted, test, max_kept_bytes };
        while self.table.advance(observer)? {
            look(&self.table);
            cells.add_row(&self.table);
        }
        (self.columns, self.matched) = (cells.columns, cells.matched);
        self.settle();
        Ok(())
    }

    /// Decides what only the whole file can.
    pub(super) fn settle(&mut self) {
        self.columns.iter_mut().for_each(|(_, column)| column.refuse_mixed_units());
        if self.table.reading.decimal_mark.is_none() {
            self.resolve_marks();
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

/// The cells of the columns asked for.
struct Cells<'a> {
    columns: Vec<(usize, Column)>,
    matched: u64,
    wanted: Wanted,
    test: &'a Test,
    max_kept_bytes: usize,
}

impl Gather for Cells<'_> {
    fn fresh(&self) -> Self {
        let columns = self.columns.iter().map(|(place, column)| (*place, column.fresh()));
        Self { columns: columns.collect(), matched: 0, ..*self }
    }

    #[inline]
    fn add_row(&mut self, table: &TableReader) {
        if self.wanted.keeps_cells() && table.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            stay_within_memory(&mut self.columns, self.wanted, self.max_kept_bytes);
        }
        if !self.test.matches(table) {
            return classify(table, &mut self.columns);
        }
        self.matched += 1;
        let (row, line) = (table.row(), || table.records.line());
        for (place, column) in &mut self.columns {
            match row.field(*place) {
                Some(cell) => column.push(cell, self.wanted, &line),
                None => column.push_missing(),
            };
        }
    }

    fn can_append(&self, later: &Self) -> bool {
        can_append(&self.columns, &later.columns)
    }

    fn append(&mut self, later: Self, lines_before: u64) {
        self.matched += later.matched;
        append(&mut self.columns, later.columns, lines_before);
        if self.wanted.keeps_cells() {
            stay_within_memory(&mut self.columns, self.wanted, self.max_kept_bytes);
        }
    }
}

/// For the same columns in two parts of a file.
pub(super) fn can_append(columns: &[(usize, Column)], later: &[(usize, Column)]) -> bool {
    columns.iter().zip(later).all(|((_, column), (_, later))| column.can_append(later))
}

pub(super) fn append(
    columns: &mut [(usize, Column)],
    later: Vec<(usize, Column)>,
    lines_before: u64,
) {
    for ((_, column), (_, later)) in columns.iter_mut().zip(later) {
        column.append(later, lines_before);
    }
}

fn classify(table: &TableReader, columns: &mut [(usize, Column)]) {
    let (row, line) = (table.row(), || table.records.line());
    for (place, column) in columns {
        if let Some(cell) = row.field(*place) {
            column.classify(cell, &line);
        }
    }
}

/// Gives up the largest collections first: numbers for a sample of them, texts for an estimate of
/// their number. Each kind has its share, because freed texts leave holes in the memory of a process
/// that long lists of numbers do not fit into.
fn stay_within_memory(columns: &mut [(usize, Column)], wanted: Wanted, max_bytes: usize) {
    let share = if wanted.numbers && wanted.texts { max_bytes / 2 } else { max_bytes };
    while let Some(numbers) = largest(columns, share, Stats::numbers_mut, Numbers::bytes)
        && numbers.can_be_thinned()
    {
        numbers.thin();
    }
    while let Some(texts) = largest(columns, share, Stats::texts_mut, Texts::bytes)
        && texts.can_be_estimated()
    {
        texts.estimate();
    }
}

/// `None` where all of them together are within `max_bytes`.
fn largest<'a, T>(
    columns: &'a mut [(usize, Column)],
    max_bytes: usize,
    kept: fn(&'a mut Stats) -> Option<&'a mut T>,
    bytes: fn(&T) -> usize,
) -> Option<&'a mut T> {
    let kept: Vec<&mut T> =
        columns.iter_mut().filter_map(|(_, column)| kept(column.stats_mut())).collect();
    let is_over = kept.iter().map(|kept| bytes(kept)).sum::<usize>() > max_bytes;
    kept.into_iter().max_by_key(|kept| bytes(kept)).filter(|_| is_over)
}
