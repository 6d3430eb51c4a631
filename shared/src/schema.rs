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
    finish(settings().for_serialize().into_generator().into_root_schema_for::<T>())
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

fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let is_foreign =
                |format: &Value| format.as_str().is_some_and(|f| !FORMATS.contains(&f));
            if map.get("format").is_some_and(is_foreign) {
                map.remove("format");
            }
            // What is left out is null: no need to say so for each optional field.
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = unwrap_lines(text);
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Doc comments are wrapped for the eyes of programmers; a model reads paragraphs.
fn unwrap_lines(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
