//! Turns a table read to its end into the answer, and says what that answer takes for granted.

use super::column::{Column, Mark};
use super::dates::DateFormat;
use super::describe::Header;
use super::oddities;
use super::reader::{FirstRecord, TableReader};
use super::report::{Analysis, Operation, UncertainMark};
use super::scan::Scan;
use super::source::Encoding;

pub(super) fn analysis(scan: Scan, operations: &[Operation], is_filtered: bool) -> Analysis {
    let matched = is_filtered.then_some(scan.matched);
    let assumptions = assumptions(&scan, operations);
    let uncertain_mark = uncertain_mark(&scan);
    let Scan { table, columns, .. } = scan;
    let columns = columns
        .into_iter()
        .map(|(place, column)| {
            let name = table.names.get(place).cloned().unwrap_or_default();
            let mut report = column.report(name, place + 1, operations);
            report.place_lines(|line| table.chain.place(line));
            report
        })
        .collect();
    Analysis {
        rows: table.rows,
        matched,
        columns,
        more_columns: 0,
        groups: None,
        assumptions,
        uncertain_mark,
    }
}

/// The first column whose mark was taken for that of decimals without proof.
pub(super) fn uncertain_mark(scan: &Scan) -> Option<UncertainMark> {
    let (place, column) = scan.columns.iter().find(|(_, column)| has_uncertain_mark(column))?;
    let (mark, _) = column.decimal_mark()?;
    Some(UncertainMark {
        column: scan.table.names.get(*place).cloned().unwrap_or_default(),
        mark: char::from(mark.byte()),
        example: column.first_marked().unwrap_or_default().to_owned(),
    })
}

fn has_uncertain_mark(column: &Column) -> bool {
    let is_told = column.rules().is_some_and(|rules| rules.decimal_mark.is_some());
    !is_told && column.decimal_mark().is_some() && column.may_separate_thousands()
}

pub(super) fn header(scan: &Scan) -> Header {
    let is_number = match &scan.table.header {
        _ if scan.table.reading.header.is_some() => return Header::Told,
        FirstRecord::Names(is_number) => is_number,
        FirstRecord::Data => return Header::Absent,
        FirstRecord::None => return Header::Assumed,
    };
    let mut columns = scan.columns.iter();
    let is_proved =
        columns.any(|(place, column)| column.is_numeric() && is_number.get(*place) == Some(&false));
    if is_proved { Header::Detected } else { Header::Assumed }
}

/// Names no column by its header and quotes no cell: this text is ours, those are the file's.
pub(super) fn assumptions(scan: &Scan, operations: &[Operation]) -> Vec<String> {
    let is_unproved = header(scan) == Header::Assumed
        && matches!(scan.table.header, FirstRecord::Names(_))
        // Nothing was looked at that could set it apart.
        && !scan.columns.is_empty();
    let mut all = Vec::new();
    if is_unproved {
        all.push("the first record was taken as the header, though nothing sets it apart".into());
    }
    all.extend(table_assumptions(&scan.table));
    for (text, applies) in COLUMN_ASSUMPTIONS {
        let columns = scan.columns.iter().filter(|(_, column)| applies(column));
        push_for_columns(&mut all, text, columns);
    }
    if operations.contains(&Operation::Mode) {
        let columns = scan.columns.iter().filter(|(_, column)| column.stats().has_freed_texts());
        push_for_columns(&mut all, MODE_LEFT_OUT, columns);
    }
    all
}

type Applies = fn(&Column) -> bool;

const COLUMN_ASSUMPTIONS: &[(&str, Applies)] = &[
    (
        "the mark before three digits was read as a decimal mark, not as one of thousands",
        has_uncertain_mark,
    ),
    ("spaces around numbers were ignored", Column::has_spaced_numbers),
    (
        "NaN and infinite cells are counted apart and left out of every other number",
        Column::has_non_finite,
    ),
    (
        "dates may have the day or the month first; they stay text unless `dates` says which",
        |column| column.date_format() == Some(DateFormat::Ambiguous),
    ),
    (
        "median and quantiles are left out: the numbers did not fit into 64 MiB, and reading the file again for them came to no end",
        |column| column.is_numeric() && column.stats().has_lost_ranks(),
    ),
];

const READ_AGAIN: &str = "parts of the file that are not to be understood by themselves were read one after the other; no number hangs on it";

const MODE_LEFT_OUT: &str =
    "mode is left out, because the different texts did not fit into 64 MiB; ask for fewer columns";

fn push_for_columns<'a>(
    all: &mut Vec<String>,
    text: &str,
    columns: impl Iterator<Item = &'a (usize, Column)>,
) {
    let indexes: Vec<_> = columns.map(|(place, _)| (place + 1).to_string()).collect();
    if !indexes.is_empty() {
        all.push(format!("{text}: column {}", indexes.join(", ")));
    }
}

/// Those that do not depend on what the columns hold.
pub(super) fn table_assumptions(table: &TableReader) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    match &table.header {
        _ if table.reading.header.is_some() => {}
        FirstRecord::Data => {
            all.push("the first record holds only numbers, so it was counted as data".into());
        }
        FirstRecord::Names(is_number) if is_number.contains(&true) => {
            all.push("the first record was taken as the header, though some of its fields are numbers; if it is data, its row is missing from every number".into());
        }
        FirstRecord::Names(_) | FirstRecord::None => {}
    }
    all.extend(table.chain.sentences());
    let place = |line| table.chain.place(line);
    all.extend(table.oddities.sentences(table.names.len() == 1, &place));
    if table.records.source().encoding() == Encoding::Windows1252 {
        all.push(
            "text that is not UTF-8 is shown as windows-1252; numbers do not depend on it".into(),
        );
    }
    if table.parts_read_again > 0 {
        all.push(READ_AGAIN.into());
    }
    if table.is_cut_off {
        let percent = table.coverage() * 100.0;
        all.push(format!("time ran out: only the first {percent:.1} % of the file was read"));
    }
    all
}

/// The mark all numbers of the file have, and where it was first seen.
pub(super) fn decimal_mark(scan: &Scan) -> (&'static str, Option<String>) {
    let marks: Vec<(usize, Mark, u64)> = scan
        .columns
        .iter()
        .filter_map(|(place, column)| {
            let (mark, line) = column.decimal_mark()?;
            Some((place + 1, mark, line))
        })
        .collect();
    let has = |wanted| marks.iter().any(|(_, mark, _)| *mark == wanted);
    let is_told = scan.table.reading.decimal_mark == Some(',');
    let name = match (has(Mark::Point), has(Mark::Comma) || is_told) {
        (true, true) => "both",
        (false, true) => ",",
        (_, false) => ".",
    };
    let evidence = marks.first().map(|(index, _, line)| {
        let line = oddities::line_text(*line, &|line| scan.table.chain.place(line));
        format!("column {index}, {line}")
    });
    (name, evidence)
}
