//! What a file is: its dialect with the evidence, what each column holds, and what is odd.

use schemars::JsonSchema;
use serde::Serialize;

use super::column::Column;
use super::dialect::delimiter_name;
use super::duplicates::Duplicates;
use super::oddities::{Oddities, is_zero};
use super::reader::{TableFile, TableReader};
use super::records::LineEnds;
use super::report::{
    ColumnType, CounterExample, Hint, Operation, TokenCount, Value, plain_object, plain_objects,
};
use super::scan::Scan;
use super::tally::Wanted;
use super::{Error, Observer, summary};

/// The answer to `describe_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Description {
    /// Size of the file.
    pub(crate) bytes: u64,
    /// Data rows: without header, blank lines and comments.
    pub(crate) rows: u64,
    /// How it was read, and why. `header`: `detected` if text above numbers proves it.
    #[schemars(schema_with = "plain_object")]
    pub(crate) dialect: Dialect,
    pub(crate) columns: Vec<ColumnProfile>,
    /// Columns not shown: ask again with `first_column`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) more_columns: u64,
    /// What is irregular, with the first lines of each.
    #[schemars(schema_with = "plain_object")]
    pub(crate) oddities: Oddities,
    /// The first rows, as they stand in the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) sample: Vec<Vec<String>>,
    /// Choices the file does not prove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

/// How the file was read, and why.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Dialect {
    /// "none" for a file of one column.
    pub(crate) delimiter: String,
    pub(crate) delimiter_evidence: String,
    /// "." or ",", or "both" when columns differ.
    pub(crate) decimal_mark: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) decimal_mark_evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) compression: Option<&'static str>,
    pub(crate) encoding: &'static str,
    pub(crate) encoding_evidence: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(crate) bom: bool,
    pub(crate) line_ends: LineEnds,
    pub(crate) header: Header,
    /// A `sep=` line came first and was obeyed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(crate) sep_line: bool,
    /// Lines with # before the header, skipped.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) comment_lines: u64,
}

/// Detected: text above numbers proves it. Absent: the first record holds only numbers. Told: by
/// the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Header {
    Detected,
    Assumed,
    Absent,
    Told,
}

/// In file order. The type is decided by every cell of the file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ColumnProfile {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) nulls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value", default)]
    pub(crate) min: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value", default)]
    pub(crate) max: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "plain_object", default)]
    pub(crate) text_because: Option<CounterExample>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) hints: Vec<Hint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "plain_objects", default)]
    pub(crate) null_tokens: Vec<TokenCount>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) nan: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) infinite: u64,
}

/// What part of a description is wanted.
pub(crate) struct Describe {
    /// Rows of the sample.
    pub(crate) sample_rows: usize,
    /// Counted from 0.
    pub(crate) first_column: usize,
}

const MAX_COLUMNS: usize = 50;
const OPERATIONS: &[Operation] = &[Operation::Min, Operation::Max, Operation::Nulls];

pub(super) fn describe(
    file: &TableFile,
    request: &Describe,
    observer: &dyn Observer,
) -> Result<Description, Error> {
    let table = file.open()?;
    let places = table.select(None)?;
    let mut scan = Scan::new(table, places)?;
    let mut sample = Vec::new();
    let mut duplicates = Duplicates::default();
    scan.read_in_turn(Wanted::by(OPERATIONS), observer, |table| {
        if sample.len() < request.sample_rows {
            sample.push(shown_row(table, request.first_column));
        }
        match table.chain.is_one() {
            true => duplicates.look_at(&table.records, table),
            false => duplicates.look_at(table.cells(), table),
        };
    })?;
    scan.table.oddities.duplicate_rows = duplicates.found.take();
    Ok(conclude(scan, request, sample, duplicates.looked_at))
}

fn conclude(
    scan: Scan,
    request: &Describe,
    sample: Vec<Vec<String>>,
    compared: Option<u64>,
) -> Description {
    let dialect = dialect(&scan);
    let mut assumptions = summary::assumptions(&scan, OPERATIONS);
    // Said by `oddities` already.
    let place = |line| scan.table.chain.place(line);
    let said = scan.table.oddities.sentences(scan.table.names.len() == 1, &place);
    assumptions.retain(|text| !said.contains(text) || text.contains("may be nulls"));
    if let Some(rows) = compared {
        assumptions.push(format!(
            "repeated rows were looked for in the first {rows} rows only, which is what fits into 64 MiB"
        ));
    }
    let Scan { table, columns, .. } = scan;
    let mut oddities = table.oddities.clone();
    oddities.place_lines(&|line| table.chain.place(line));
    let shown = columns.into_iter().skip(request.first_column).take(MAX_COLUMNS);
    let profile = |(place, column): (usize, Column)| {
        let name = table.names.get(place).cloned().unwrap_or_default();
        profile(column, name, |line| table.chain.place(line))
    };
    let columns: Vec<ColumnProfile> = shown.map(profile).collect();
    let more_columns =
        table.names.len().saturating_sub(request.first_column + columns.len()) as u64;
    Description {
        bytes: table.chain.bytes_total(),
        rows: table.rows,
        dialect,
        columns,
        more_columns,
        oddities,
        sample,
        assumptions,
    }
}

fn profile(
    column: Column,
    name: String,
    place: impl Fn(u64) -> (Option<String>, u64),
) -> ColumnProfile {
    let stats = |operation| column.stats().answer(operation, column.is_numeric());
    let (min, max) = (stats(Operation::Min), stats(Operation::Max));
    let nulls = column.stats().nulls(column.is_numeric());
    let mut report = column.report(name, 0, &[]);
    report.place_lines(place);
    ColumnProfile {
        name: report.name,
        kind: report.kind,
        nulls,
        min: min.map(|number| number.value),
        max: max.map(|number| number.value),
        unit: report.unit,
        text_because: report.text_because,
        hints: report.hints,
        null_tokens: report.null_tokens,
        nan: report.nan,
        infinite: report.infinite,
    }
}

fn dialect(scan: &Scan) -> Dialect {
    let TableReader { records, sniffed, .. } = &scan.table;
    let source = records.source();
    let encoding_evidence = match (source.first_invalid(), source.has_bom()) {
        (Some(offset), _) => format!("a guess: byte {offset} of the text is not UTF-8"),
        (None, true) => "byte order mark".to_owned(),
        (None, false) => "every byte is valid".to_owned(),
    };
    let (decimal_mark, decimal_mark_evidence) = summary::decimal_mark(scan);
    Dialect {
        delimiter: delimiter_name(sniffed.delimiter),
        delimiter_evidence: sniffed.evidence.clone(),
        decimal_mark,
        decimal_mark_evidence,
        compression: source.compression(),
        encoding: source.encoding().name(),
        encoding_evidence,
        bom: source.has_bom(),
        line_ends: records.line_ends,
        header: summary::header(scan),
        sep_line: sniffed.has_sep_line,
        comment_lines: sniffed.comment_lines,
    }
}

fn shown_row(table: &TableReader, first_column: usize) -> Vec<String> {
    let cells = table.cells().into_iter().skip(first_column).take(MAX_COLUMNS);
    cells.map(super::column::shown).collect()
}
