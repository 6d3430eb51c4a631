//! One condition of a filter: what it asks of a cell, and when asking it would be a mistake.

use std::cmp::Ordering;

use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Error;
use super::dates::{Date, DateFormat, parse_iso};
use super::number::{self, Number};
use super::typed::{Cell, Typed};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Condition {
    pub(super) column: String,
    op: Op,
    /// A list for `in`; none for is_null and not_null.
    #[serde(default)]
    value: Option<Operand>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    Contains,
    StartsWith,
    IsNull,
    NotNull,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Operand {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Number(serde_json::Number),
    Text(String),
}

impl JsonSchema for Scalar {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["number", "string"]})
    }
}

/// A condition that fits its column.
pub(super) enum Check {
    IsNull,
    NotNull,
    Contains(Vec<u8>),
    StartsWith(Vec<u8>),
    Numbers(Comparison, Vec<Number>),
    Texts(Comparison, Vec<Vec<u8>>),
    Dates(Comparison, DateFormat, Vec<u8>),
}

/// Equal to one of several values, to none of them, or on one side of the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Condition {
    pub(super) fn check(&self, column: &Typed) -> Result<Check, Error> {
        let text = || match self.values().as_slice() {
            [Scalar::Text(text)] => Ok(text.clone().into_bytes()),
            _ => Err(self.mistake("takes one string as its value")),
        };
        match self.op {
            Op::IsNull => Ok(Check::IsNull),
            Op::NotNull => Ok(Check::NotNull),
            Op::Contains => text().map(Check::Contains),
            Op::StartsWith => text().map(Check::StartsWith),
            Op::In => self.compare(Comparison::Equal, column),
            Op::Eq => self.single(Comparison::Equal, column),
            Op::Ne => self.single(Comparison::Different, column),
            Op::Lt => self.single(Comparison::Less, column),
            Op::Le => self.single(Comparison::LessOrEqual, column),
            Op::Gt => self.single(Comparison::Greater, column),
            Op::Ge => self.single(Comparison::GreaterOrEqual, column),
        }
    }

    fn single(&self, comparison: Comparison, column: &Typed) -> Result<Check, Error> {
        match self.value {
            Some(Operand::One(_)) => self.compare(comparison, column),
            _ => Err(self.mistake("takes one value")),
        }
    }

    fn compare(&self, comparison: Comparison, column: &Typed) -> Result<Check, Error> {
        let values = self.values();
        if values.is_empty() {
            return Err(self.mistake("needs a value"));
        }
        if column.is_numeric() {
            let numbers = values.iter().map(|value| value.to_number()).collect::<Option<_>>();
            let numbers = numbers
                .ok_or_else(|| self.mistake("compares with text, but the column holds numbers"))?;
            return Ok(Check::Numbers(comparison, numbers));
        }
        let texts = values.iter().map(|value| match value {
            Scalar::Text(text) => Ok(text.trim().as_bytes().to_vec()),
            Scalar::Number(_) => Err(self.no_numbers(column)),
        });
        let texts: Vec<Vec<u8>> = texts.collect::<Result<_, _>>()?;
        if matches!(comparison, Comparison::Equal | Comparison::Different) {
            return Ok(Check::Texts(comparison, texts));
        }
        self.order(comparison, column, texts)
    }

    /// Texts have an order, but not always the one that is meant.
    fn order(
        &self,
        comparison: Comparison,
        column: &Typed,
        texts: Vec<Vec<u8>>,
    ) -> Result<Check, Error> {
        let first = texts.first().cloned().unwrap_or_default();
        match column.dates {
            Some(DateFormat::Ambiguous) => {
                Err(Error::AmbiguousDates { column: self.column.clone() })
            }
            Some(format) => match parse_iso(&first) {
                Some(_) => Ok(Check::Dates(comparison, format, first)),
                None => Err(self.mistake("orders dates; give the value as YYYY-MM-DD")),
            },
            None if number::parse(&first, b'.').is_some() => Err(self.no_numbers(column)),
            None => Ok(Check::Texts(comparison, texts)),
        }
    }

    fn values(&self) -> Vec<&Scalar> {
        match &self.value {
            None => Vec::new(),
            Some(Operand::One(value)) => vec![value],
            Some(Operand::Many(values)) => values.iter().collect(),
        }
    }

    fn mistake(&self, what: &'static str) -> Error {
        Error::Condition { column: self.column.clone(), what, because: String::new() }
    }

    fn no_numbers(&self, column: &Typed) -> Error {
        let because = column.text_because.as_ref().map_or_else(String::new, |example| {
            format!(
                " (line {}: {:?}; words that mean no value can be named in `read.null_tokens`)",
                example.line, example.value
            )
        });
        let what = "compares with a number, but the column is text; compare with a string that is no number";
        Error::Condition { column: self.column.clone(), what, because }
    }
}

impl Scalar {
    /// Exactly as written; digits in a string count, because long integers travel as strings.
    pub(super) fn to_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => number::parse(number.to_string().as_bytes(), b'.'),
            Self::Text(text) => number::parse(text.trim().as_bytes(), b'.'),
        }
    }
}

impl Check {
    /// `raw` is the cell as it stands in the file.
    #[inline]
    pub(super) fn matches(&self, cell: Cell<'_>, raw: &[u8]) -> bool {
        match (self, cell) {
            (Self::IsNull, cell) => cell == Cell::Null,
            (_, Cell::Null) => false,
            (Self::NotNull, _) => true,
            (Self::Contains(part), _) => memmem::find(raw, part).is_some(),
            (Self::StartsWith(start), _) => raw.trim_ascii_start().starts_with(start),
            (Self::Numbers(comparison, values), Cell::Number(number)) => {
                comparison.holds(values, |value| number.compare(*value))
            }
            (Self::Texts(comparison, values), Cell::Text(text)) => {
                comparison.holds(values, |value| text.trim_ascii().cmp(value))
            }
            (Self::Dates(comparison, format, value), Cell::Text(text)) => {
                match (format.parse(text), parse_iso(value)) {
                    (Some(date), Some(value)) => {
                        comparison.holds(&[value], |value: &Date<'_>| date.cmp(value))
                    }
                    _ => false,
                }
            }
            // NaN and infinity compare with nothing.
            (Self::Numbers(..) | Self::Texts(..) | Self::Dates(..), _) => false,
        }
    }
}

impl Comparison {
    fn holds<T>(self, values: &[T], order: impl Fn(&T) -> Ordering) -> bool {
        let mut orders = values.iter().map(order);
        match self {
            Self::Equal => orders.any(Ordering::is_eq),
            Self::Different => orders.all(Ordering::is_ne),
            Self::Less => orders.all(Ordering::is_lt),
            Self::LessOrEqual => orders.all(Ordering::is_le),
            Self::Greater => orders.all(Ordering::is_gt),
            Self::GreaterOrEqual => orders.all(Ordering::is_ge),
        }
    }
}
