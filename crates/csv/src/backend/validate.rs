//! Checks every row against a schema: the part of JSON Schema that makes sense for cells.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::column::shown;
use super::condition::Scalar;
use super::dates::parse_iso;
use super::duplicates::Duplicates;
use super::grid;
use super::number::{self, Number};
use super::reader::{TableFile, TableReader};
use super::source;
use super::typed::{self, Cell, Typed};
use super::{Error, Observer, summary};

/// What rows should be like. Keywords mean what they mean in JSON Schema; an empty cell is a
/// missing property.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RowSchema {
    /// By column name, or `#3` for the third.
    properties: BTreeMap<String, CellSchema>,
    /// Columns without empty cells.
    required: Vec<String>,
    /// Columns whose texts together are different in each row.
    unique: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
struct CellSchema {
    #[serde(rename = "type")]
    kind: Option<Kind>,
    #[serde(rename = "enum")]
    one_of: Option<Vec<Scalar>>,
    minimum: Option<Scalar>,
    maximum: Option<Scalar>,
    exclusive_minimum: Option<Scalar>,
    exclusive_maximum: Option<Scalar>,
    /// In characters.
    min_length: Option<usize>,
    max_length: Option<usize>,
    /// A regular expression found anywhere in the cell.
    pattern: Option<String>,
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Kind {
    String,
    Integer,
    Number,
    Boolean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Format {
    Date,
    DateTime,
}

/// The answer to `validate_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Validated {
    pub(crate) rows: u64,
    pub(crate) valid_rows: u64,
    /// One for each rule that some row breaks.
    pub(crate) broken: Vec<Broken>,
    /// What the file does not prove and what is irregular in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Broken {
    pub(crate) column: String,
    /// The keyword of the schema.
    pub(crate) rule: &'static str,
    pub(crate) count: u64,
    /// The first five.
    pub(crate) first: Vec<Offence>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Offence {
    pub(crate) line: u64,
    pub(crate) value: String,
}

/// The rules of one column.
struct Rules {
    name: String,
    column: Typed,
    tests: Vec<(&'static str, Test)>,
}

enum Test {
    Required,
    Kind(Kind),
    OneOf(Vec<Scalar>),
    Least(Number),
    Most(Number),
    Above(Number),
    Below(Number),
    MinLength(usize),
    MaxLength(usize),
    Pattern(Regex),
    Format(Format),
}

pub(super) fn validate(
    file: &TableFile,
    schema: &RowSchema,
    observer: &dyn Observer,
) -> Result<Validated, Error> {
    let mut table = file.open()?;
    let rules = rules(file, schema, &table, observer)?;
    let unique = table.places_of(&schema.unique)?;
    let (mut duplicates, mut key) = (Duplicates::default(), Vec::new());
    let mut broken = BTreeMap::<(usize, usize), Broken>::new();
    let mut valid_rows = 0;
    while table.advance(observer)? {
        let mut is_valid = true;
        for (place, rules) in rules.iter().enumerate() {
            let cell = table.field(rules.column.place);
            for (index, (rule, _)) in rules.broken_by(cell) {
                is_valid = false;
                let entry = broken.entry((place, index));
                let broken = entry.or_insert_with(|| Broken::new(&rules.name, rule));
                broken.note(&table, cell);
            }
        }
        if !unique.is_empty() {
            key.clear();
            unique.iter().for_each(|place| grid::push_key(&mut key, table.field(*place)));
            is_valid &= !duplicates.look_at(&key, &table);
        }
        valid_rows += u64::from(is_valid);
    }
    if duplicates.looked_at.is_some() {
        return Err(Error::TooLarge { what: "the keys that should be unique" });
    }
    let mut broken: Vec<Broken> = broken.into_values().collect();
    if let Some(rows) = duplicates.found {
        let first =
            rows.first_lines.iter().map(|line| Offence { line: *line, value: String::new() });
        broken.push(Broken {
            column: schema.unique.join(", "),
            rule: "unique",
            count: rows.count,
            first: first.collect(),
        });
    }
    let assumptions = summary::table_assumptions(&table);
    Ok(Validated { rows: table.rows, valid_rows, broken, assumptions })
}

fn rules(
    file: &TableFile,
    schema: &RowSchema,
    table: &TableReader,
    observer: &dyn Observer,
) -> Result<Vec<Rules>, Error> {
    let mut tests = BTreeMap::<usize, Vec<(&'static str, Test)>>::new();
    for name in &schema.required {
        tests.entry(table.place_of(name)?).or_default().push(("required", Test::Required));
    }
    for (name, cell) in &schema.properties {
        tests.entry(table.place_of(name)?).or_default().extend(cell.tests()?);
    }
    let places: Vec<usize> = tests.keys().copied().collect();
    let columns = typed::find_out(file, &places, observer)?;
    let named = columns.into_iter().zip(tests.into_values()).map(|(column, tests)| Rules {
        name: table.names.get(column.place).cloned().unwrap_or_default(),
        column,
        tests,
    });
    Ok(named.collect())
}

impl CellSchema {
    fn tests(&self) -> Result<Vec<(&'static str, Test)>, Error> {
        let number = |bound: &Scalar| {
            bound.to_number().ok_or(Error::Option { text: "a minimum or maximum must be a number" })
        };
        let mut tests = Vec::new();
        tests.extend(self.kind.map(|kind| ("type", Test::Kind(kind))));
        tests.extend(self.one_of.clone().map(|values| ("enum", Test::OneOf(values))));
        if let Some(bound) = &self.minimum {
            tests.push(("minimum", Test::Least(number(bound)?)));
        }
        if let Some(bound) = &self.maximum {
            tests.push(("maximum", Test::Most(number(bound)?)));
        }
        if let Some(bound) = &self.exclusive_minimum {
            tests.push(("exclusiveMinimum", Test::Above(number(bound)?)));
        }
        if let Some(bound) = &self.exclusive_maximum {
            tests.push(("exclusiveMaximum", Test::Below(number(bound)?)));
        }
        tests.extend(self.min_length.map(|length| ("minLength", Test::MinLength(length))));
        tests.extend(self.max_length.map(|length| ("maxLength", Test::MaxLength(length))));
        if let Some(pattern) = &self.pattern {
            tests.push(("pattern", Test::Pattern(compile(pattern)?)));
        }
        tests.extend(self.format.map(|format| ("format", Test::Format(format))));
        Ok(tests)
    }
}

/// This engine takes time in proportion to the text, whatever the pattern.
fn compile(pattern: &str) -> Result<Regex, Error> {
    const MAX_COMPILED_BYTES: usize = 1 << 20;
    let compiled = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    compiled.map_err(|_| Error::Option {
        text: "a `pattern` is no regular expression this server can use (no look-around, no back-references)",
    })
}

impl Rules {
    fn broken_by<'a>(
        &'a self,
        cell: Option<&'a [u8]>,
    ) -> impl Iterator<Item = (usize, &'a (&'static str, Test))> {
        let text = cell.unwrap_or_default().trim_ascii();
        let is_null = match self.column.read(cell) {
            // A word such as NA is a null to nobody but the column it stands in.
            Cell::Null => text.is_empty() || self.column.is_told_null(text),
            _ => false,
        };
        let tests = self.tests.iter().enumerate();
        tests.filter(move |(_, (_, test))| match test {
            Test::Required => is_null,
            test => !is_null && !test.holds(text, &self.column),
        })
    }
}

impl Test {
    fn holds(&self, text: &[u8], column: &Typed) -> bool {
        let compare = |bound: &Number| column.number(text).map(|number| number.compare(*bound));
        match self {
            Self::Required | Self::Kind(Kind::String) => true,
            Self::Kind(Kind::Number) => column.number(text).is_some(),
            Self::Kind(Kind::Integer) => column.number(text).is_some_and(is_whole),
            Self::Kind(Kind::Boolean) => {
                text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false")
            }
            Self::OneOf(values) => values.iter().any(|value| equals(value, text, column)),
            Self::Least(bound) => compare(bound).is_none_or(|order| order.is_ge()),
            Self::Most(bound) => compare(bound).is_none_or(|order| order.is_le()),
            Self::Above(bound) => compare(bound).is_none_or(|order| order.is_gt()),
            Self::Below(bound) => compare(bound).is_none_or(|order| order.is_lt()),
            Self::MinLength(length) => source::decode(text).chars().count() >= *length,
            Self::MaxLength(length) => source::decode(text).chars().count() <= *length,
            Self::Pattern(pattern) => pattern.is_match(text),
            Self::Format(format) => parse_iso(text)
                .is_some_and(|date| date.time.is_empty() == (*format == Format::Date)),
        }
    }
}

fn equals(value: &Scalar, text: &[u8], column: &Typed) -> bool {
    match value {
        Scalar::Text(wanted) => wanted.as_bytes() == text,
        Scalar::Number(wanted) => {
            let wanted = number::parse(wanted.to_string().as_bytes(), b'.');
            wanted.zip(column.number(text)).is_some_and(|(left, right)| left.compare(right).is_eq())
        }
    }
}

/// 1.0 is an integer, as in JSON Schema.
fn is_whole(number: Number) -> bool {
    match number {
        Number::Integer(_) => true,
        Number::Fraction(decimal) => decimal.mantissa % 10i128.pow(u32::from(decimal.scale)) == 0,
        Number::Inexact(value) => value.fract() == 0.0,
    }
}

impl Broken {
    fn new(column: &str, rule: &'static str) -> Self {
        Self { column: column.to_owned(), rule, count: 0, first: Vec::new() }
    }

    fn note(&mut self, table: &TableReader, cell: Option<&[u8]>) {
        const MAX_SHOWN: usize = 5;
        self.count += 1;
        if self.first.len() < MAX_SHOWN {
            let value = shown(cell.unwrap_or_default());
            self.first.push(Offence { line: table.records.line(), value });
        }
    }
}
