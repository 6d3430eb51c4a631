//! Expected shapes: JSON with holes.
//!
//! An object in a pattern may have more members in the message; everything else must be equal.
//! The holes are strings: `"@any@"` accepts anything, `"@none@"` only an absent or null member,
//! `"@string@"` and `"@integer@"` what they say, and `{"@one_of@": […]}` one of its patterns.

use serde_json::Value;

/// True when `value` fits `pattern`; a member that is absent counts as null.
pub fn matches(pattern: &Value, value: &Value) -> bool {
    match pattern {
        Value::String(hole) if hole == "@any@" => true,
        Value::String(hole) if hole == "@none@" => value.is_null(),
        Value::String(hole) if hole == "@string@" => value.is_string(),
        Value::String(hole) if hole == "@integer@" => value.is_i64() || value.is_u64(),
        Value::Array(patterns) => value.as_array().is_some_and(|values| {
            patterns.len() == values.len()
                && patterns.iter().zip(values).all(|(pattern, value)| matches(pattern, value))
        }),
        Value::Object(members) => match members.get("@one_of@").and_then(Value::as_array) {
            Some(choices) => choices.iter().any(|choice| matches(choice, value)),
            None => {
                value.is_object()
                    && members.iter().all(|(key, pattern)| matches(pattern, &value[key.as_str()]))
            }
        },
        exact => exact == value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn holes() {
        let table = [
            (json!({"id": 1}), json!({"id": 1, "more": true}), true),
            (json!({"id": 1}), json!({"id": "1"}), false),
            (json!({"id": 9007199254740993u64}), json!({"id": 9007199254740992u64}), false),
            (json!({"id": "@none@"}), json!({}), true),
            (json!({"id": "@none@"}), json!({"id": null}), true),
            (json!({"id": "@none@"}), json!({"id": 0}), false),
            (json!({"id": {"@one_of@": [7, "@none@"]}}), json!({"id": 7}), true),
            (json!({"id": {"@one_of@": [7, "@none@"]}}), json!({"id": 8}), false),
            (json!([1, "@any@"]), json!([1, {}]), true),
            (json!([1]), json!([1, 2]), false),
            (json!({"a": {"b": "@string@"}}), json!({"a": {"b": "x"}}), true),
            (json!({"a": {"b": "@string@"}}), json!({"a": 1}), false),
        ];
        for (pattern, value, expected) in table {
            assert_eq!(matches(&pattern, &value), expected, "{pattern} {value}");
        }
    }
}
