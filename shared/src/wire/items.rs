//! Writes the entries of lists and the blocks of content, leaving out or converting what a
//! revision does not know.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::object::Object;
use crate::content::{Annotations, Content, Media};
use crate::registry::{Item, Prompt, Template, Tool};
use crate::resource::{Body, Resource, ResourceContents};
use crate::revision::Revision;
use crate::schema::Schema;
use crate::tool::Tasks;

pub(crate) fn tool_item(revision: Revision, tool: &Tool) -> Item {
    item(&tool.name, |object| {
        object.field("name", &tool.name);
        if revision.has_titles() {
            object.optional("title", tool.options.title);
        }
        object.optional("description", tool.description.as_ref());
        object.field("inputSchema", tool.arguments.published());
        if let Some(output) = tool.output.as_ref().filter(|_| revision.has_structured_content()) {
            object.field("outputSchema", &output_schema(revision, output));
        }
        if revision == Revision::V2025_11_25 {
            let support = match tool.options.tasks {
                Tasks::Never => None,
                Tasks::Also => Some("optional"),
                Tasks::Only => Some("required"),
            };
            if let Some(support) = support {
                object.object("execution", |object| object.field("taskSupport", support));
            }
        }
        if revision.has_tool_annotations() {
            object.object("annotations", |hints| {
                if !revision.has_titles() {
                    hints.optional("title", tool.options.title);
                }
                hints.field("readOnlyHint", &tool.options.read_only);
                hints.field("destructiveHint", &tool.options.destructive);
                hints.field("idempotentHint", &tool.options.idempotent);
                hints.field("openWorldHint", &tool.options.open_world);
            });
        }
    })
}

/// Before 2026-07-28 structured content is an object; anything else travels as `{"result": …}`.
fn output_schema(revision: Revision, output: &Schema) -> Cow<'_, Value> {
    if output.is_object() || !revision.wants_structured_object() {
        return Cow::Borrowed(&output.json);
    }
    let mut inner = output.json.clone();
    let is_recursive = point_root_at_result(&mut inner);
    // `#/$defs/…` references are relative to the root, so the definitions move there.
    let definitions = inner.as_object_mut().and_then(|schema| schema.remove("$defs"));
    let mut definitions = match definitions {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    if is_recursive {
        definitions.insert("result".to_owned(), inner);
        inner = json!({"$ref": RESULT});
    }
    let mut wrapped =
        json!({"type": "object", "properties": {"result": inner}, "required": ["result"]});
    if let (false, Some(root)) = (definitions.is_empty(), wrapped.as_object_mut()) {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Cow::Owned(wrapped)
}

/// Where a recursive schema goes when it is wrapped.
const RESULT: &str = "#/$defs/result";

/// Makes references to the root point at [`RESULT`]. `true` if there were any.
fn point_root_at_result(schema: &mut Value) -> bool {
    let mut found = false;
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get_mut("$ref")
                && target == "#"
            {
                *target = RESULT.to_owned();
                found = true;
            }
            for value in map.values_mut() {
                found |= point_root_at_result(value);
            }
        }
        Value::Array(items) => {
            for item in items {
                found |= point_root_at_result(item);
            }
        }
        _ => {}
    }
    found
}

pub(crate) fn resource_item(revision: Revision, resource: &Resource) -> Item {
    item(&resource.uri, |object| write_resource(object, revision, resource))
}

fn write_resource(object: &mut Object<'_>, revision: Revision, resource: &Resource) {
    object.field("uri", &resource.uri);
    object.field("name", &resource.name);
    if revision.has_titles() {
        object.optional("title", resource.title.as_ref());
    }
    object.optional("description", resource.description.as_ref());
    object.optional("mimeType", resource.mime_type.as_ref());
    object.optional("size", resource.size.as_ref());
    object.optional("annotations", annotations(revision, resource.annotations.as_ref()).as_ref());
}

pub(crate) fn template_item(revision: Revision, template: &Template) -> Item {
    item(&template.text, |object| {
        object.field("uriTemplate", &template.text);
        object.field("name", &template.options.name);
        if revision.has_titles() {
            object.optional("title", template.options.title.as_ref());
        }
        object.optional("description", template.options.description.as_ref());
        object.optional("mimeType", template.options.mime_type.as_ref());
    })
}

pub(crate) fn prompt_item(revision: Revision, prompt: &Prompt) -> Item {
    item(&prompt.name, |object| {
        object.field("name", &prompt.name);
        object.optional("description", prompt.description.as_ref());
        object.array("arguments", &prompt.arguments, |out, argument| {
            Object::write(out, |object| {
                object.field("name", &argument.name);
                if revision.has_titles() {
                    object.optional("title", argument.title.as_ref());
                }
                object.optional("description", argument.description.as_ref());
                object.field("required", &argument.required);
            });
        });
    })
}

fn item(key: &str, members: impl FnOnce(&mut Object<'_>)) -> Item {
    let mut out = Vec::new();
    Object::write(&mut out, members);
    // `Object` writes JSON and JSON is UTF-8; the fallback is for the type checker.
    let text = String::from_utf8(out).unwrap_or_default();
    Item {
        key: key.to_owned(),
        json: RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

/// The block itself, or what an older revision can show of it.
pub(super) fn downlevel(revision: Revision, content: &Content) -> Cow<'_, Content> {
    match content {
        Content::Audio(media) if !revision.has_audio() => {
            Cow::Owned(Content::text(format!("[{} audio, not shown]", media.mime_type)))
        }
        Content::ResourceLink(resource) if !revision.has_resource_links() => {
            Cow::Owned(Content::text(format!("{}: {}", resource.name, resource.uri)))
        }
        _ if revision.has_last_modified() => Cow::Borrowed(content),
        Content::Text { text, annotations: Some(notes) } => Cow::Owned(Content::Text {
            text: text.clone(),
            annotations: annotations(revision, Some(notes)),
        }),
        Content::Image(media) => Cow::Owned(Content::Image(older(revision, media))),
        Content::Audio(media) => Cow::Owned(Content::Audio(older(revision, media))),
        Content::Resource { resource, annotations: Some(notes) } => Cow::Owned(Content::Resource {
            resource: resource.clone(),
            annotations: annotations(revision, Some(notes)),
        }),
        _ => Cow::Borrowed(content),
    }
}

fn older(revision: Revision, media: &Media) -> Media {
    Media { annotations: annotations(revision, media.annotations.as_ref()), ..media.clone() }
}

fn annotations(revision: Revision, annotations: Option<&Annotations>) -> Option<Annotations> {
    let mut annotations = annotations?.clone();
    if !revision.has_last_modified() {
        annotations.last_modified = None;
    }
    Some(annotations)
}

pub(super) fn write_resource_contents(out: &mut Vec<u8>, contents: &ResourceContents) {
    Object::write(out, |object| {
        object.field("uri", &contents.uri);
        object.optional("mimeType", contents.mime_type.as_ref());
        match &contents.body {
            Body::Text(text) => object.field("text", text),
            Body::Blob(base64) => object.field("blob", base64),
        }
    });
}
