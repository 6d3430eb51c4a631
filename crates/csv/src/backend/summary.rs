//! Turns a table read to its end into the answer, and says what that answer takes for granted.

use super::Analyze;
use super::column::Mark;
use super::dialect::{Sniffed, delimiter_name};
use super::records::Records;
use super::report::{Analysis, Dialect, FileInfo, Header};
use super::scan::{FirstRecord, Table};
use super::source::Encoding;

pub(super) fn conclude(
    table: Table,
    records: &Records,
    sniffed: &Sniffed,
    request: &Analyze,
) -> Analysis {
    let source = records.source();
    let file = FileInfo { path: request.filepath.clone(), bytes: source.bytes_total() };
    let dialect = dialect(&table, records, sniffed);
    let assumptions = assumptions(&table, &dialect, source.encoding());
    let Table { columns, names, rows, quality, .. } = table;
    let columns = columns
        .into_iter()
        .map(|(place, column)| {
            let name = names.get(place).cloned().unwrap_or_default();
            column.report(name, place + 1, rows, &request.operations)
        })
        .collect();
    Analysis { file, dialect, rows, quality, columns, assumptions }
}

fn dialect(table: &Table, records: &Records, sniffed: &Sniffed) -> Dialect {
    let source = records.source();
    let encoding_evidence = match (source.first_invalid(), source.has_bom()) {
        (Some(offset), _) => format!("a guess: byte {offset} of the text is not UTF-8"),
        (None, true) => "byte order mark".to_owned(),
        (None, false) => "every byte is valid".to_owned(),
    };
    let (decimal_mark, decimal_mark_evidence) = decimal_mark(table);
    Dialect {
        delimiter: delimiter_name(sniffed.delimiter),
        delimiter_evidence: sniffed.evidence.clone(),
        decimal_mark,
        decimal_mark_evidence,
        encoding: source.encoding().name(),
        encoding_evidence,
        bom: source.has_bom(),
        line_ends: records.line_ends,
        header: header(table),
        sep_line: sniffed.has_sep_line,
        comment_lines: sniffed.comment_lines,
    }
}

fn decimal_mark(table: &Table) -> (&'static str, Option<String>) {
    let marks: Vec<(usize, Mark, u64)> = table
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

fn header(table: &Table) -> Header {
    let is_number = match &table.header {
        FirstRecord::Names(is_number) => is_number,
        FirstRecord::Data => return Header::Absent,
        FirstRecord::None => return Header::Assumed,
    };
    let mut columns = table.columns.iter();
    let is_proved =
        columns.any(|(place, column)| column.is_numeric() && is_number.get(*place) == Some(&false));
    if is_proved { Header::Detected } else { Header::Assumed }
}

/// Names no column by its header and quotes no cell: this text is ours, those are the file's.
fn assumptions(table: &Table, dialect: &Dialect, encoding: Encoding) -> Vec<String> {
    let mut all = header_assumptions(table, dialect.header);
    let quality = &table.quality;
    if table.names.len() == 1 && quality.blank_lines > 0 {
        all.push(
            "blank lines were skipped, though in a file of one column they may be nulls".into(),
        );
    }
    if let Some(quote) = &quality.unterminated_quote {
        let line = quote.line;
        all.push(format!("the quote opened at line {line} is never closed: nothing from its record on was counted"));
    }
    if encoding == Encoding::Windows1252 {
        all.push(
            "text that is not UTF-8 is shown as windows-1252; numbers do not depend on it".into(),
        );
    }
    let mut for_columns = |text: &str, indexes: Vec<String>| {
        if !indexes.is_empty() {
            all.push(format!("{text}: column {}", indexes.join(", ")));
        }
    };
    let places = |applies: &dyn Fn(&super::column::Column) -> bool| {
        let columns = table.columns.iter().filter(|(_, column)| applies(column));
        columns.map(|(place, _)| (place + 1).to_string()).collect::<Vec<_>>()
    };
    for_columns(
        "the mark before three digits was read as a decimal mark, not as one of thousands",
        places(&|column| column.decimal_mark().is_some() && column.may_separate_thousands()),
    );
    for_columns(
        "spaces around numbers were ignored",
        places(&|column| column.has_spaced_numbers()),
    );
    for_columns(
        "NaN and infinite cells are counted apart and left out of every other number",
        places(&|column| column.has_non_finite()),
    );
    all
}

fn header_assumptions(table: &Table, header: Header) -> Vec<String> {
    let FirstRecord::Names(is_number) = &table.header else {
        return match table.header {
            FirstRecord::Data => {
                vec!["the first record holds only numbers, so it was counted as data".into()]
            }
            _ => Vec::new(),
        };
    };
    let mut all = Vec::new();
    if header == Header::Assumed {
        all.push("the first record was taken as the header, though nothing sets it apart".into());
    }
    if is_number.contains(&true) {
        all.push("the first record was taken as the header, though some of its fields are numbers; if it is data, its row is missing from every number".into());
    }
    all
}
