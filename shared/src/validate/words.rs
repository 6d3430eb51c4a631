//! How schemas, values and names are put in words for the model.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Longest piece of a value or a name quoted back.
const MAX_QUOTED_CHARS: usize = 60;

/// What a schema wants, in words.
pub(super) fn expected(schema: &Value) -> String {
    let word = |name: &str| match name {
        "object" => "an object",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "true or false",
        "null" => "null",
        "number" => "a number",
        "integer" => "a whole number",
        _ => "something else",
    };
    match schema.get("type") {
        Some(Value::String(name)) => word(name).to_owned(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => match schema.get("description").and_then(Value::as_str) {
            Some(description) => format!("given: {}", description.trim_end_matches('.')),
            None => "given".to_owned(),
        },
    }
}

/// A value as it can be quoted back to whoever sent it.
pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        // Quoted only then, so that escapes cost as much as is shown.
        Value::String(text) => Value::from(shortened(text)).to_string(),
        other => other.to_string(),
    }
}

/// A text from outside, as long as it can be shown.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// A number as people write it: 1.0 is 1.
pub(super) fn in_digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    }
}

/// What was probably meant by a name that is not known.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<_> = known.collect();
    let length = name.chars().take(MAX_QUOTED_CHARS).count();
    let tolerance = 1 + length / 3;
    // A name as long as that is no slip of the pen, and comparing it could take for ever.
    let comparable = known.iter().filter(|_| length < MAX_QUOTED_CHARS);
    let close = comparable.map(|candidate| (distance(name, candidate), candidate)).min();
    match close {
        Some((distance, candidate)) if distance <= tolerance => {
            format!("; did you mean `{candidate}`")
        }
        _ if !known.is_empty() => {
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("; the arguments are {}", names.join(", "))
        }
        _ => "; there are no arguments".to_owned(),
    }
}

/// Levenshtein: insertions, deletions and changes of one character.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, character) in left.chars().enumerate() {
        let mut next = vec![index + 1];
        for (column, other) in right.iter().enumerate() {
            let above = row.get(column + 1).copied().unwrap_or_default();
            let diagonal = row.get(column).copied().unwrap_or_default();
            let before = next.last().copied().unwrap_or_default();
            next.push((above + 1).min(before + 1).min(diagonal + usize::from(character != *other)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
