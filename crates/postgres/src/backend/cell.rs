//! A value as PostgreSQL prints it, turned into JSON without losing anything.
//!
//! What a JSON number cannot hold exactly stays a string: `numeric`, `money`, 64-bit integers
//! beyond 2^53, NaN and the infinities. Dates and times are PostgreSQL's own text, which knows
//! infinity, years before Christ and 24:00. `json` and `jsonb` are put in as they are, digit by
//! digit.

use std::fmt::Write;

use super::literal::{self, Nested};
use super::types::{Shape, Types};

/// The largest integer every JSON reader keeps exactly: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// Deeper values are given as text: many readers stop at 64 or 128 levels.
const MAX_JSON_DEPTH: usize = 48;

/// Appends the JSON of one value. `None` is NULL.
pub(crate) fn write(out: &mut String, text: Option<&str>, oid: u32, types: &Types) {
    let Some(text) = text else { return out.push_str("null") };
    let known = types.get(oid);
    let shape = known.as_ref().map_or(&Shape::Text, |known| &known.shape);
    match shape {
        Shape::Boolean => out.push_str(if text == "t" { "true" } else { "false" }),
        Shape::SmallInteger => out.push_str(text),
        Shape::BigInteger if is_safe(text) => out.push_str(text),
        Shape::Float if text.ends_with(|last: char| last.is_ascii_digit()) => out.push_str(text),
        Shape::Json => json(out, text),
        Shape::Array { element, delimiter } => array(out, text, *element, *delimiter, types),
        Shape::Composite(fields) => match literal::composite(text) {
            Some(values) if values.len() == fields.len() => {
                let fields = fields.iter().zip(&values);
                list(out, '{', '}', fields, |out, (field, value)| {
                    string(out, &field.name);
                    out.push(':');
                    write(out, value.as_deref(), field.oid, types);
                });
            }
            _ => string(out, text),
        },
        Shape::Record => match literal::composite(text) {
            Some(values) => list(out, '[', ']', values, |out, value| match value {
                Some(value) => string(out, &value),
                None => out.push_str("null"),
            }),
            None => string(out, text),
        },
        Shape::Text | Shape::BigInteger | Shape::Float => string(out, text),
    }
}

/// Whether this is JSON's `null`, which a reader could take for SQL's NULL.
pub(crate) fn is_json_null(text: &str, oid: u32, types: &Types) -> bool {
    text.trim() == "null" && types.get(oid).is_some_and(|known| known.shape == Shape::Json)
}

/// What stands in the JSON for values of this type, in words for a model.
pub(crate) fn json_type(shape: &Shape) -> &'static str {
    match shape {
        Shape::Boolean => "boolean",
        Shape::SmallInteger => "integer",
        Shape::BigInteger => "integer, or string beyond 2^53-1",
        Shape::Float => "number, or string for NaN and infinities",
        Shape::Json => "json",
        Shape::Array { .. } | Shape::Record => "array",
        Shape::Composite(_) => "object",
        Shape::Text => "string",
    }
}

/// Appends a JSON string.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _infallible = write!(out, "\\u{:04x}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn is_safe(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
}

fn array(out: &mut String, text: &str, element: u32, delimiter: char, types: &Types) {
    match literal::array(text, delimiter) {
        Some((None, nested)) => elements(out, &nested, element, types),
        Some((Some(bounds), nested)) => {
            out.push_str("{\"bounds\":");
            string(out, bounds);
            out.push_str(",\"values\":");
            elements(out, &nested, element, types);
            out.push('}');
        }
        None => string(out, text),
    }
}

fn elements(out: &mut String, nested: &Nested, element: u32, types: &Types) {
    match nested {
        Nested::Item(item) => write(out, item.as_deref(), element, types),
        Nested::Array(items) => list(out, '[', ']', items, |out, item| {
            elements(out, item, element, types);
        }),
    }
}

fn list<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

/// The value without the white space between its parts, so that it stays on one line. Values that
/// are legal for PostgreSQL and a stumbling block for readers are given as text: very deep ones,
/// and those with half of a surrogate pair.
fn json(out: &mut String, text: &str) {
    let start = out.len();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for letter in text.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else {
            match letter {
                ' ' | '\n' | '\r' | '\t' => continue,
                '"' => in_string = true,
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_JSON_DEPTH {
                out.truncate(start);
                return string(out, text);
            }
        }
        out.push(letter);
    }
    let is_doubtful = text.contains("\\ud") || text.contains("\\uD");
    if is_doubtful && serde_json::from_str::<serde_json::Value>(text).is_err() {
        out.truncate(start);
        string(out, text);
    }
}
