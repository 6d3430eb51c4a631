//! Turns a table read to its end into the answer, and says what that answer takes for granted.

use super::Analyze;
use super::column::{Column, Mark};
use super::dialect::delimiter_name;
use super::reader::{FirstRecord, TableReader};
use super::report::{Analysis, Dialect, FileInfo, Header, Place};
use super::scan::Scan;
use super::source::Encoding;

pub(super) fn conclude(scan: Scan, request: &Analyze) -> Analysis {
    let file = file_info(&scan.table, &request.filepath);
    let dialect = dialect(&scan);
    let assumptions = assumptions(&scan);
    let Scan { table, columns, .. } = scan;
    let columns = columns
        .into_iter()
        .map(|(place, column)| {
            let name = table.names.get(place).cloned().unwrap_or_default();
            column.report(name, place + 1, &request.operations)
        })
        .collect();
    let TableReader { rows, quality, .. } = table;
    Analysis { file, dialect, rows, quality, columns, assumptions }
}

fn file_info(table: &TableReader, path: &str) -> FileInfo {
    FileInfo { path: path.to_owned(), bytes: table.records.source().bytes_total() }
}

fn dialect(scan: &Scan) -> Dialect {
    let TableReader { records, sniffed, .. } = &scan.table;
    let source = records.source();
    let encoding_evidence = match (source.first_invalid(), source.has_bom()) {
        (Some(offset), _) => format!("a guess: byte {offset} of the text is not UTF-8"),
        (None, true) => "byte order mark".to_owned(),
        (None, false) => "every byte is valid".to_owned(),
    };
    let (decimal_mark, decimal_mark_evidence) = decimal_mark(scan);
    Dialect {
        delimiter: delimiter_name(sniffed.delimiter),
        delimiter_evidence: sniffed.evidence.clone(),
        decimal_mark,
        decimal_mark_evidence,
        encoding: source.encoding().name(),
        encoding_evidence,
        bom: source.has_bom(),
        line_ends: records.line_ends,
        header: header(scan),
        sep_line: sniffed.has_sep_line,
        comment_lines: sniffed.comment_lines,
    }
}

fn decimal_mark(scan: &Scan) -> (&'static str, Option<String>) {
    let marks: Vec<(usize, Mark, u64)> = scan
        .columns
        .iter()
        .filter_map(|(place, column)| {
            let (mark, line) = column.decimal_mark()?;
            Some((place + 1, mark, line))
        })
        .collect();
    let has = |wanted| marks.iter().any(|(_, mark, _)| *mark == wanted);
    let name = match (has(Mark::Point), has(Mark::Comma)) {
        (true, true) => "both",
        (false, true) => ",",
        (_, false) => ".",
    };
    let evidence = marks.first().map(|(index, _, line)| format!("column {index}, line {line}"));
    (name, evidence)
}

fn header(scan: &Scan) -> Header {
    let is_number = match &scan.table.header {
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
fn assumptions(scan: &Scan) -> Vec<String> {
    let is_unproved =
        header(scan) == Header::Assumed && matches!(scan.table.header, FirstRecord::Names(_));
    let mut all = Vec::new();
    if is_unproved {
        all.push("the first record was taken as the header, though nothing sets it apart".into());
    }
    all.extend(table_assumptions(&scan.table));
    let mut for_columns = |text: &str, applies: &dyn Fn(&Column) -> bool| {
        let columns = scan.columns.iter().filter(|(_, column)| applies(column));
        let indexes: Vec<_> = columns.map(|(place, _)| (place + 1).to_string()).collect();
        if !indexes.is_empty() {
            all.push(format!("{text}: column {}", indexes.join(", ")));
        }
    };
    for_columns(
        "the mark before three digits was read as a decimal mark, not as one of thousands",
        &|column| column.decimal_mark().is_some() && column.may_separate_thousands(),
    );
    for_columns("spaces around numbers were ignored", &Column::has_spaced_numbers);
    for_columns(
        "NaN and infinite cells are counted apart and left out of every other number",
        &Column::has_non_finite,
    );
    for_columns(
        "median and quantiles are left out, because the numbers did not fit into 64 MiB; ask for fewer columns",
        &|column| column.is_numeric() && column.stats().is_over_budget(),
    );
    all
}

/// Those that do not depend on what the columns hold.
fn table_assumptions(table: &TableReader) -> Vec<String> {
    let quality = &table.quality;
    let mut all: Vec<String> = Vec::new();
    match &table.header {
        FirstRecord::Data => {
            all.push("the first record holds only numbers, so it was counted as data".into());
        }
        FirstRecord::Names(is_number) if is_number.contains(&true) => {
            all.push("the first record was taken as the header, though some of its fields are numbers; if it is data, its row is missing from every number".into());
        }
        FirstRecord::Names(_) | FirstRecord::None => {}
    }
    if table.names.len() == 1 && quality.blank_lines > 0 {
        all.push(
            "blank lines were skipped, though in a file of one column they may be nulls".into(),
        );
    }
    if let Some(Place { line }) = &quality.unterminated_quote {
        all.push(format!("the quote opened at line {line} is never closed: nothing from its record on was counted"));
    }
    if table.records.source().encoding() == Encoding::Windows1252 {
        all.push(
            "text that is not UTF-8 is shown as windows-1252; numbers do not depend on it".into(),
        );
    }
    all
}
