//! An input schema written by hand, with what no Rust type can say: every keyword is published as it
//! stands, and checked.

use mcp::{Context, Reply, ToolResult};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::backend::Backend;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Contact {
    name: Option<String>,
    address: Option<Address>,
    contact_method: Option<String>,
    phone: Option<String>,
    email: Option<String>,
}

#[derive(Deserialize)]
struct Address {
    street: Option<String>,
    city: Option<String>,
}

impl JsonSchema for Contact {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Contact".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "Note how somebody can be reached.",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })
    }
}

pub(crate) async fn contact(_: Context<Backend>, input: Contact) -> ToolResult<Reply> {
    let by = input.contact_method.or(input.phone).or(input.email).unwrap_or_default();
    let place = input.address.and_then(|address| address.city.or(address.street));
    let name = input.name.unwrap_or_else(|| "Somebody".to_owned());
    Ok(Reply::text(format!("{name} ({}): {by}", place.as_deref().unwrap_or("anywhere"))))
}
