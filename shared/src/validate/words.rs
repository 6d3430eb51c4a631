//! How schemas, values and names are put in words for the model.

use serde_json::Value;

/// Longest piece of a value quoted back.
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
        other => {
            let text = other.to_string();
            match text.char_indices().nth(MAX_QUOTED_CHARS) {
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
                None => text,
            }
        }
    }
}

/// What was probably meant by a name that is not known.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<_> = known.collect();
    let close = known.iter().map(|candidate| (distance(name, candidate), candidate)).min();
    match close {
        Some((distance, candidate)) if distance <= 1 + name.len() / 3 => {
            format!("; did you mean `{candidate}`")
        }
        Some(_) => {
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("; the arguments are {}", names.join(", "))
        }
        None => "; there are no arguments".to_owned(),
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
