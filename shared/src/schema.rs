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
    let mut schema = finish(
        SchemaSettings::draft2020_12()
            .for_deserialize()
            .into_generator()
            .into_root_schema_for::<T>(),
    );
    if let Value::Object(root) = &mut schema.json {
        // Some clients refuse an input schema without `properties`, even an empty one.
        root.entry("type").or_insert_with(|| Value::from("object"));
        root.entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// The schema of what a handler returns.
pub(crate) fn output<T: JsonSchema>() -> Schema {
    finish(
        SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<T>(),
    )
}

fn finish(schema: schemars::Schema) -> Schema {
    let mut json = schema.to_value();
    let mut description = None;
    if let Value::Object(root) = &mut json {
        // 2020-12 is the protocol's default dialect, and the type's name says nothing to a model.
        root.remove("$schema");
        root.remove("title");
        if let Some(Value::String(text)) = root.remove("description") {
            description = Some(text);
        }
    }
    drop_formats(&mut json);
    Schema { description, json }
}

/// Rust's number formats (`uint64`, `double`) are not JSON Schema formats; strict clients warn.
fn drop_formats(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let known = [
                "date",
                "date-time",
                "time",
                "email",
                "uri",
                "uuid",
                "ipv4",
                "ipv6",
                "regex",
            ];
            if map
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| !known.contains(&format))
            {
                map.remove("format");
            }
            map.values_mut().for_each(drop_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_formats),
        _ => {}
    }
}
