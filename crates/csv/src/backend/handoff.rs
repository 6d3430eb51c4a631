//! The way out when data outgrows this server: statements that load a file into a database with the
//! types its cells prove, and the numbers that prove the load.
//!
//! Every cell is loaded as text first and cast then, so that no database guesses a type or a null.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::filter::Test;
use super::reader::TableFile;
use super::report::{ColumnType, Operation, Value};
use super::scan::Scan;
use super::source::Encoding;
use super::sql::{self, Field};
use super::tally::Wanted;
use super::{Error, Observer, exact, summary};

/// Where the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Target {
    Duckdb,
    Postgres,
    Clickhouse,
}

pub(crate) struct Handoff {
    pub(crate) target: Target,
    /// The table to create.
    pub(crate) table: String,
    /// As the statements should name the file.
    pub(crate) path: String,
}

/// The answer to `handoff_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct HandedOff {
    /// Creates the table and fills it.
    pub(crate) load: String,
    /// Returns one row, `expected`, if the load is right.
    pub(crate) verify: String,
    pub(crate) expected: Vec<Value>,
    /// What the file does not prove and what is irregular in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

const OPERATIONS: &[Operation] =
    &[Operation::Count, Operation::Sum, Operation::Min, Operation::Max];

pub(super) fn hand_off(
    file: &TableFile,
    request: &Handoff,
    observer: &dyn Observer,
) -> Result<HandedOff, Error> {
    let table = file.open()?;
    let places = table.select(None)?;
    let mut scan = Scan::new(table, places)?;
    scan.read(file, Wanted::by(OPERATIONS), &Test::Everything, observer)?;
    if scan.table.records.source().compression().is_some() {
        return Err(Error::Option {
            text: "unpack the file first; databases differ in what they unpack",
        });
    }
    let fields: Vec<Field> =
        scan.columns.iter().map(|(place, column)| field(&scan, *place, column)).collect();
    if fields.is_empty() {
        return Err(Error::Option { text: "the file has no columns" });
    }
    let mut expected = vec![exact::from_count(scan.table.rows)];
    for (_, column) in &scan.columns {
        let answer = |operation| column.stats().answer(operation, column.is_numeric());
        expected.extend(answer(Operation::Count).map(|number| number.value));
        expected.extend(sum_of(column));
    }
    let mut assumptions = summary::assumptions(&scan, &[]);
    if let Some(problem) = unloadable(&scan) {
        assumptions.insert(0, problem.to_owned());
    }
    Ok(HandedOff {
        load: sql::load(request, &scan.table, &fields),
        verify: sql::verify(request, &fields),
        expected,
        assumptions,
    })
}

/// Only sums that a database computes exactly as well.
fn sum_of(column: &Column) -> Option<Value> {
    let is_exact = matches!(column.kind(), ColumnType::Integer | ColumnType::Decimal);
    let sum = column.stats().answer(Operation::Sum, column.is_numeric())?;
    is_exact.then_some(sum.value)
}

fn field(scan: &Scan, place: usize, column: &Column) -> Field {
    let answer = |operation| column.stats().answer(operation, column.is_numeric());
    let extremes = [Operation::Min, Operation::Max].into_iter().filter_map(answer);
    let digits = |value: Value| {
        let text = value.to_text();
        let whole = text.trim_start_matches('-').split('.').next().unwrap_or_default();
        u32::try_from(whole.len()).unwrap_or(u32::MAX)
    };
    Field {
        name: scan.table.names.get(place).cloned().unwrap_or_default(),
        kind: column.kind(),
        whole_digits: extremes.map(|number| digits(number.value)).max().unwrap_or(1),
        scale: column.max_scale(),
        has_nulls: column.stats().nulls(column.is_numeric()) > 0 || column.has_non_finite(),
        null_words: column.null_words(),
        has_comma: column.mark().byte() == b',',
    }
}

/// Why a database would stumble over the file.
fn unloadable(scan: &Scan) -> Option<&'static str> {
    let oddities = &scan.table.oddities;
    if oddities.unterminated_quote.is_some() {
        return Some("no database will load this file as it is: a quote is never closed");
    }
    if matches!(scan.table.records.source().encoding(), Encoding::Utf16Le | Encoding::Utf16Be) {
        return Some("databases read UTF-8: convert the file first");
    }
    if oddities.short_rows.is_some() || oddities.long_rows.is_some() {
        return Some("databases refuse rows with too few or too many fields: mend them first");
    }
    if oddities.stray_quotes.is_some() {
        return Some("databases refuse quotes in the middle of a field: mend them first");
    }
    let differs = "databases differ in what they make of blank lines: remove them first";
    (oddities.blank_lines > 0).then_some(differs)
}
