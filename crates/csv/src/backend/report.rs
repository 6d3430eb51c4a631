//! What an analysis answers. The doc comments here are read by the model: they become the texts
//! of the tool's output schema, so each says what the value means and when it is absent.
//!
//! Absent instead of zero keeps the answer short: most files have none of the troubles listed.
//! That is why options are described as what they hold: they are left out, never null.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What to compute for each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Exact sum of a numeric column.
    Sum,
    /// Exact sum divided by count, rounded once.
    Average,
    /// Cells that carry a value: not empty, not a null token, not NaN, not infinite.
    Count,
    /// Smallest number and its line.
    Min,
    /// Largest number and its line.
    Max,
    /// Empty or missing cells, and null tokens such as NA in numeric columns.
    Nulls,
    /// Sample standard deviation (divides by n - 1).
    Stddev,
    /// Different texts among the cells that carry a value; 1 and 1.0 are two.
    Distinct,
    /// Middle number; the mean of the two middle ones for an even count.
    Median,
    /// Numbers at 5, 25, 50, 75 and 95 percent by nearest rank.
    Quantiles,
    /// Most frequent text and how often it occurs.
    Mode,
}

/// The result of reading one CSV file once from start to end.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Analysis {
    /// The file that was read.
    pub(crate) file: FileInfo,
    /// How the file was read, with the evidence for each choice.
    pub(crate) dialect: Dialect,
    /// Data rows: without the header, blank lines and comment lines.
    pub(crate) rows: u64,
    /// What is irregular in the file; empty when nothing is.
    pub(crate) quality: Quality,
    /// One report for each column asked for, in file order.
    pub(crate) columns: Vec<ColumnReport>,
    /// Choices the file does not prove. Check them before relying on the numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Average => "average",
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
            Self::Nulls => "nulls",
            Self::Stddev => "stddev",
            Self::Distinct => "distinct",
            Self::Median => "median",
            Self::Quantiles => "quantiles",
            Self::Mode => "mode",
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FileInfo {
    /// The path as it was asked for.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Dialect {
    /// The field separator, or "none" for a file of one column.
    pub(crate) delimiter: String,
    /// Why this delimiter.
    pub(crate) delimiter_evidence: String,
    /// "." or ",", or "both" when columns differ.
    pub(crate) decimal_mark: &'static str,
    /// Where the mark was first seen; only in files split at semicolons, where it may be either.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) decimal_mark_evidence: Option<String>,
    /// utf-8, utf-16le, utf-16be or windows-1252 (a guess for bytes that are not UTF-8).
    pub(crate) encoding: &'static str,
    /// Why this encoding.
    pub(crate) encoding_evidence: String,
    /// The file starts with a byte order mark.
    pub(crate) bom: bool,
    /// How records end, counted.
    pub(crate) line_ends: LineEnds,
    /// Whether the first record is the header.
    pub(crate) header: Header,
    /// The first line was a `sep=` line and has been obeyed.
    pub(crate) sep_line: bool,
    /// Lines starting with # before the header that were skipped.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) comment_lines: u64,
}

/// How many records end in each way; a last record without an end is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LineEnds {
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) lf: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) crlf: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) cr: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Header {
    /// The first record holds text above columns of numbers.
    Detected,
    /// The first record was taken as the header without proof.
    Assumed,
    /// The first record holds only numbers and was counted as data.
    Absent,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Quality {
    /// Rows with fewer fields than the header; the missing cells count as nulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) short_rows: Option<Rows>,
    /// Rows with more fields than the header; the fields beyond it were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) long_rows: Option<Rows>,
    /// Rows with a quote inside an unquoted field, or text after a closing quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) stray_quotes: Option<Rows>,
    /// Empty lines between records, skipped.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) blank_lines: u64,
    /// A quote that is never closed: nothing from its record on was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Place", default)]
    pub(crate) unterminated_quote: Option<Place>,
    /// The file changed while it was read, so the numbers may mix two states of it.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub(crate) changed_while_read: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Rows {
    pub(crate) count: u64,
    /// Physical lines of the first five.
    pub(crate) first_lines: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Place {
    /// Physical line in the file, counted from 1.
    pub(crate) line: u64,
}

/// Of the operations asked for, a column that is not numeric has only count and nulls, and stddev
/// takes at least two numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ColumnReport {
    /// Unique name: a repeated header `a` becomes `a#2`, an empty one `column_3`.
    pub(crate) name: String,
    /// Position in the file, counted from 1.
    pub(crate) index: usize,
    /// Decided by every cell of the file, never by a sample.
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    /// The first cell that made a column text although the cells before it looked numeric.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CounterExample", default)]
    pub(crate) text_because: Option<CounterExample>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) hints: Vec<Hint>,
    /// Words counted as nulls because the column is otherwise numeric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) null_tokens: Vec<TokenCount>,
    /// NaN cells of a numeric column, left out of every number.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) nan: u64,
    /// Infinite cells of a numeric column, left out of every number.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) infinite: u64,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Number>")]
    pub(crate) answers: Answers,
}

/// One answer for each operation asked for.
pub(crate) type Answers = BTreeMap<&'static str, Number>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColumnType {
    /// No cell has a value.
    #[default]
    Empty,
    Integer,
    /// Numbers with a decimal mark or an exponent, held exactly.
    Decimal,
    /// At least one number has too many digits to be held exactly.
    Float,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CounterExample {
    /// Physical line in the file, counted from 1.
    pub(crate) line: u64,
    /// The cell, cut to a readable length.
    pub(crate) value: String,
    pub(crate) reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    NotANumber,
    /// A number written with leading zeros is an identifier.
    LeadingZero,
    /// The mark may separate thousands here: other columns of the file use a decimal comma.
    AmbiguousMark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hint {
    /// Cells such as 02134: identifiers, so they are never summed.
    ZeroPadded,
    /// Only two words occur, such as 0/1, Y/N or true/false.
    BooleanLike,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TokenCount {
    pub(crate) token: String,
    pub(crate) count: u64,
}

/// A number that says whether it is exact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Number {
    pub(crate) value: Value,
    pub(crate) exact: bool,
    /// How an inexact value was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) method: Option<&'static str>,
    /// Physical line of a min or max, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) line: Option<u64>,
    /// How often a mode occurs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) occurs: Option<u64>,
}

/// A JSON number where every reader gets the same digits back, otherwise the digits as a string.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Integer(i64),
    Float(f64),
    Digits(String),
}

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "description": "A string of digits where a JSON number would lose some.",
        })
    }
}

impl Number {
    pub(super) fn exact(value: Value) -> Self {
        Self { value, exact: true, method: None, line: None, occurs: None }
    }

    pub(super) fn inexact(value: Value, method: &'static str) -> Self {
        Self { value, exact: false, method: Some(method), line: None, occurs: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
