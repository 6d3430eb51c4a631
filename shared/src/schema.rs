//! JSON Schemas of tool inputs and outputs, taken from the Rust types.
//!
//! The doc comment of the type becomes the tool's description and is moved out of the schema,
//! so that nothing is said to the model twice.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A schema and the description that was taken out of it.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(crate) description: Option<String>,
    pub(crate) json: Value,
}

impl Schema {
    pub(crate) fn is_object(&self) -> bool {
        self.json.get("type").and_then(Value::as_str) == Some("object")
    }

    /// The names of the properties, in order, with their schemas and whether they are required.
    pub(crate) fn properties(&self) -> Vec<Property> {
        let required: Vec<&str> = match self.json.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let Some(Value::Object(properties)) = self.json.get("properties") else {
            return Vec::new();
        };
        let text = |schema: &Value, key| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        properties
            .iter()
            .map(|(name, schema)| Property {
                name: name.clone(),
                title: text(schema, "title"),
                description: text(schema, "description"),
                required: required.contains(&name.as_str()),
            })
            .collect()
    }
}

/// One property of an object schema, as prompt arguments are described.
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
}

/// The schema of what a handler takes.
pub(crate) fn input<T: JsonSchema>() -> Schema {
    let mut schema =
        finish(settings().for_deserialize().into_generator().into_root_schema_for::<T>());
    if let Value::Object(root) = &mut schema.json {
        // Some clients refuse an input schema without `properties`, even an empty one.
        root.entry("type").or_insert_with(|| Value::from("object"));
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// The schema of what a handler returns.
pub(crate) fn output<T: JsonSchema>() -> Schema {
    let schema = finish(settings().for_serialize().into_generator().into_root_schema_for::<T>());
    Schema { json: published(&schema.json), ..schema }
}

/// Keeps `null` in the schema of a field that may be left out, where it says something else than
/// leaving it out: `#[schemars(extend("nullable" = true))]`.
const NULLABLE: &str = "nullable";

/// A schema as clients see it. A field that may be left out need not say that it may be null,
/// too: a model pays for each word, and some clients can read but one type.
pub(crate) fn published(schema: &Value) -> Value {
    let mut published = schema.clone();
    each_schema(&mut published, &mut |schema| {
        let required = schema.get("required").cloned().unwrap_or_default();
        let required = required.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(Value::Object(properties)) = schema.get_mut("properties") else {
            return;
        };
        for (name, property) in properties {
            if !required.iter().any(|required| required == name)
                && let Value::Object(property) = property
                && !property.contains_key(NULLABLE)
            {
                leave_out_null(property);
            }
        }
    });
    checked(published)
}

/// A schema as arguments are held to it.
pub(crate) fn checked(mut schema: Value) -> Value {
    each_schema(&mut schema, &mut |schema| drop(schema.remove(NULLABLE)));
    schema
}

fn leave_out_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(listed)) = property.get_mut("enum") {
        listed.retain(|value| !value.is_null());
    }
    if let Some(kind) = property.get_mut("type")
        && let Some(kinds) = kind.as_array_mut()
    {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            *kind = only.clone();
        }
    }
    let Some(Value::Array(alternatives)) = property.get_mut("anyOf") else {
        return;
    };
    alternatives.retain(|alternative| alternative.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = alternatives.as_mut_slice() {
        let only = std::mem::take(only);
        property.remove("anyOf");
        property.extend(only);
    }
}

/// Visits a schema and those it holds, the outer first.
fn each_schema(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(map) => {
            visit(map);
            for (key, value) in map {
                match value {
                    // A map of schemas is not a schema: its keys are anybody's names.
                    Value::Object(named) if ["properties", "$defs"].contains(&key.as_str()) => {
                        named.values_mut().for_each(|schema| each_schema(schema, visit));
                    }
                    Value::Object(_) | Value::Array(_) => each_schema(value, visit),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|schema| each_schema(schema, visit)),
        _ => {}
    }
}

/// 2020-12 is the protocol's default dialect and need not be named.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

fn finish(schema: schemars::Schema) -> Schema {
    let mut json = schema.to_value();
    let mut description = None;
    if let Value::Object(root) = &mut json {
        // The type's name says nothing to a model.
        root.remove("title");
        if let Some(Value::String(text)) = root.remove("description") {
            description = Some(text);
        }
    }
    tidy(&mut json);
    Schema { description: description.map(|text| unwrap_lines(&text)), json }
}

/// Formats that are part of JSON Schema. Rust's own (`uint64`, `double`) are not, and strict
/// clients warn about them.
const FORMATS: [&str; 9] =
    ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "regex"];

fn tidy(json: &mut Value) {
    each_schema(json, &mut |schema| {
        let is_foreign = |format: &Value| format.as_str().is_some_and(|f| !FORMATS.contains(&f));
        if schema.get("format").is_some_and(is_foreign) {
            schema.remove("format");
        }
        // What is left out is null: no need to say so for each optional field.
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = unwrap_lines(text);
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.values_mut().for_each(spell_out_anything);
        }
        schema.get_mut("items").into_iter().for_each(spell_out_anything);
    });
}

/// Not every client can read a schema that is no object.
fn spell_out_anything(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = Value::Object(Map::new());
    }
}

/// Doc comments are wrapped for the eyes of programmers; a model reads paragraphs.
fn unwrap_lines(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::validate::Arguments;

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Blue,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    struct Paint {
        /// How many.
        count: Option<u8>,
        #[serde(default)]
        color: Option<Color>,
        anything: Option<Value>,
        #[schemars(extend("nullable" = true))]
        cleared: Option<String>,
        layers: Option<Vec<Option<Paint>>>,
    }

    #[test]
    fn a_field_that_may_be_left_out_is_published_without_null_and_takes_it() {
        let arguments = Arguments::new(input::<Paint>().json);
        let published = arguments.published();
        let properties = &published["properties"];
        assert_eq!(properties["count"]["type"], "integer");
        assert_eq!(properties["color"], json!({"$ref": "#/$defs/Color"}));
        assert_eq!(properties["anything"], json!({}));
        assert_eq!(properties["cleared"], json!({"type": ["string", "null"]}));
        assert!(properties["layers"]["items"]["anyOf"].is_array(), "{published}");
        let nothing = json!({"count": null, "color": null, "cleared": null, "layers": [null]});
        assert!(arguments.read::<Paint>(&nothing.to_string()).is_ok());
        assert!(arguments.read::<Paint>(r#"{"count": "1"}"#).is_err());
    }
}
