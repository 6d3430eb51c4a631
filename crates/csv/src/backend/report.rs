//! What an analysis answers. The doc comments here are read by the model: they become the texts
//! of the tool's output schema, so each says what the value means and when it is absent.
//!
//! Absent instead of zero keeps the answer short: most files have none of the troubles listed.
//! That is why options are described as what they hold: they are left out, never null.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::oddities::is_zero;
use super::page::Page;

/// For parts of an answer whose fields say what they are: a model pays for every word of a schema.
pub(super) fn plain_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

pub(super) fn plain_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object"}})
}

/// `count`: cells with a value. `nulls`: empty cells, and words such as NA among numbers. `min`,
/// `max`: with their line. `stddev`: of a sample. `distinct`, `mode`: by text, so 1 and 1.0 are two.
/// `quantiles`: p5, p25, p50, p75 and p95 by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Sum,
    Average,
    Count,
    Min,
    Max,
    Nulls,
    Stddev,
    Distinct,
    Median,
    Quantiles,
    Mode,
}

/// The result of reading one CSV file once from start to end.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Analysis {
    /// Data rows: without header, blank lines and comments.
    pub(crate) rows: u64,
    /// Rows that met the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) matched: Option<u64>,
    /// In file order.
    pub(crate) columns: Vec<ColumnReport>,
    /// Columns not shown: ask again with `offset`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) more_columns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Grid", default)]
    pub(crate) groups: Option<Grid>,
    /// What the file does not prove and what is irregular in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
    #[serde(skip)]
    pub(crate) uncertain_mark: Option<UncertainMark>,
}

/// A mark before three digits, which separates either decimals or thousands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UncertainMark {
    pub(crate) column: String,
    pub(crate) mark: char,
    /// A cell that has it.
    pub(crate) example: String,
}

impl Operation {
    /// The parts of `quantiles`: a name, and what percentage of all numbers is up to it.
    pub(super) const QUANTILES: [(&str, u64); 5] =
        [("p5", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)];

    pub(crate) const ALL: [Self; 11] = [
        Self::Sum,
        Self::Average,
        Self::Count,
        Self::Min,
        Self::Max,
        Self::Nulls,
        Self::Stddev,
        Self::Distinct,
        Self::Median,
        Self::Quantiles,
        Self::Mode,
    ];

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

/// A column of text has only count, nulls, distinct and mode.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ColumnReport {
    /// A repeated header `a` becomes `a#2`, an empty one `column_3`.
    pub(crate) name: String,
    pub(crate) index: usize,
    /// Decided by every cell of the file.
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    /// The first cell that is no number although others are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "plain_object", default)]
    pub(crate) text_because: Option<CounterExample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) hints: Vec<Hint>,
    /// Words counted as nulls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "plain_objects", default)]
    pub(crate) null_tokens: Vec<TokenCount>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) nan: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) infinite: u64,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Number>")]
    pub(crate) answers: Answers,
}

/// One answer for each operation asked for.
pub(crate) type Answers = BTreeMap<&'static str, Number>;

/// Decimal: held exactly. Float: too many digits for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColumnType {
    #[default]
    Empty,
    Integer,
    Decimal,
    Float,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CounterExample {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) file: Option<String>,
    pub(crate) line: u64,
    pub(crate) value: String,
    pub(crate) reason: Reason,
}

/// `ambiguous_mark`: other columns use the other decimal mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    NotANumber,
    LeadingZero,
    AmbiguousMark,
    MixedUnits,
}

/// `zero_padded`: identifiers such as 02134.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hint {
    ZeroPadded,
    BooleanLike,
    DateIso,
    DateDmy,
    DateMdy,
    DateAmbiguous,
}

/// A table whose cells stand in the order of `columns`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<GridColumn>,
    pub(crate) rows: Vec<Vec<Option<Value>>>,
    /// Left out: see `offset`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) more_rows: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct GridColumn {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) inexact: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TokenCount {
    pub(crate) token: String,
    pub(crate) count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Number {
    pub(crate) value: Value,
    pub(crate) exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) method: Option<&'static str>,
    /// Where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) line: Option<u64>,
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
        })
    }
}

impl Analysis {
    /// The columns from `offset` on that a short answer has room for.
    pub(crate) fn cut(&mut self, offset: usize) {
        let total = self.columns.len();
        let page = Page { offset, limit: None };
        let columns = std::mem::take(&mut self.columns).into_iter().skip(offset).collect();
        self.columns = page.fitting(columns);
        self.more_columns = total.saturating_sub(offset + self.columns.len()) as u64;
    }
}

impl ColumnReport {
    /// From lines counted through all files to those of each.
    pub(super) fn place_lines(&mut self, place: impl Fn(u64) -> (Option<String>, u64)) {
        for answer in self.answers.values_mut() {
            if let Some(line) = &mut answer.line {
                (answer.file, *line) = place(*line);
            }
        }
        if let Some(because) = &mut self.text_because {
            (because.file, because.line) = place(because.line);
        }
    }
}

impl Number {
    pub(super) fn exact(value: Value) -> Self {
        Self { value, exact: true, method: None, file: None, line: None, occurs: None }
    }

    pub(super) fn inexact(value: Value, method: &'static str) -> Self {
        Self { value, exact: false, method: Some(method), file: None, line: None, occurs: None }
    }
}
