//! Checks a tool's arguments against its published schema, and says what is wrong so that the
//! model can mend it: where, what was expected, what was probably meant.
//!
//! This is not a JSON Schema library. It knows the keywords our own schemas are made of; a schema
//! that needs another one is reported when the server starts, so nothing published goes unchecked.

mod checker;
mod number;
mod place;
#[cfg(test)]
mod tests;
mod words;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ToolError;
use crate::jsonrpc::without_position;
use crate::schema;
use checker::Checker;
pub(crate) use number::write_whole_numbers;
pub(crate) use words::shortened;

/// Keywords that are checked here, and that parsing into the Rust type enforces as well.
const OF_TYPES: [&str; 12] = [
    "$ref",
    "$defs",
    "type",
    "const",
    "enum",
    "oneOf",
    "anyOf",
    "allOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
];

/// Keywords that tell and do not restrict.
const TELLING: [&str; 10] = [
    "$schema",
    "$anchor",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
];

/// Keywords that are checked here, and whose rules a Rust type does not enforce.
const BEYOND_TYPES: [&str; 12] = [
    "if",
    "then",
    "else",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

/// The schema of one tool's arguments, ready to check them.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    schema: Value,
    /// The same without what tells a model nothing.
    published: Value,
    /// Parsing alone would let through what the schema forbids.
    is_stricter_than_type: bool,
}

impl Arguments {
    pub(crate) fn new(schema: Value) -> Self {
        let is_stricter_than_type = mentions(&schema, &BEYOND_TYPES);
        let published = schema::published(&schema);
        Self { schema: schema::checked(schema), published, is_stricter_than_type }
    }

    /// As clients see it. Left out is `null` as another way to leave out a field, which is taken
    /// all the same.
    pub(crate) fn published(&self) -> &Value {
        &self.published
    }

    /// Reads the arguments into the handler's type, or says what is wrong with them.
    pub(crate) fn read<T: DeserializeOwned>(&self, arguments: &str) -> Result<T, ToolError> {
        if self.is_stricter_than_type {
            self.check(arguments)?;
        }
        serde_json::from_str(arguments).or_else(|error| {
            let respelled = self.respelled(arguments, &error)?;
            serde_json::from_str(&respelled).map_err(|error| not_parsed(&error))
        })
    }

    /// Arguments that could not be parsed, in the parser's own spelling: 1.0 is an integer for
    /// JSON Schema and none for Rust.
    fn respelled(&self, arguments: &str, error: &serde_json::Error) -> Result<String, ToolError> {
        let mut value = self.check(arguments)?;
        if write_whole_numbers(&mut value) { Ok(value.to_string()) } else { Err(not_parsed(error)) }
    }

    /// The keywords of the schema that nothing here checks.
    pub(crate) fn unchecked_keywords(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        collect_unknown(&self.schema, &mut unknown);
        unknown
    }

    fn check(&self, arguments: &str) -> Result<Value, ToolError> {
        let value: Value = serde_json::from_str(arguments).map_err(|error| not_parsed(&error))?;
        let problems = Checker::problems(&self.schema, &value);
        if problems.is_empty() {
            return Ok(value);
        }
        Err(ToolError::new(format!("Invalid arguments: {}.", problems.join("; "))))
    }
}

fn not_parsed(error: &serde_json::Error) -> ToolError {
    ToolError::new(format!("Invalid arguments: {}.", without_position(error)))
}

/// Whether one of `keywords` stands anywhere in the schema.
fn mentions(schema: &Value, keywords: &[&str]) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            if key == "properties" || key == "$defs" {
                return value
                    .as_object()
                    .is_some_and(|named| named.values().any(|inner| mentions(inner, keywords)));
            }
            keywords.contains(&key.as_str()) || mentions(value, keywords)
        }),
        Value::Array(items) => items.iter().any(|item| mentions(item, keywords)),
        _ => false,
    }
}

fn collect_unknown(schema: &Value, unknown: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        return;
    };
    for (key, value) in keywords {
        let inner: Vec<&Value> = match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => named.values().collect(),
            ("oneOf" | "anyOf" | "allOf", Value::Array(parts)) => parts.iter().collect(),
            ("items" | "additionalProperties" | "if" | "then" | "else", inner) => vec![inner],
            (key, _) => {
                let lists: [&[&str]; 3] = [&OF_TYPES, &BEYOND_TYPES, &TELLING];
                let is_known = lists.iter().any(|list| list.contains(&key));
                if !is_known && !key.starts_with("x-") {
                    unknown.push(key.to_owned());
                }
                Vec::new()
            }
        };
        inner.into_iter().for_each(|inner| collect_unknown(inner, unknown));
    }
}
