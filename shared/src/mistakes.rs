//! Checks a finished table of contents for mistakes its author would otherwise find through a
//! puzzled client.

use std::collections::HashSet;

use serde_json::Value;

use crate::registry::{Reference, Registry};

/// Every mistake, in words for the server's author.
pub(crate) fn find(registry: &Registry, mut mistakes: Vec<String>) -> Vec<String> {
    let tools = registry.tools.iter().map(|tool| tool.name.as_str());
    let prompts = registry.prompts.iter().map(|prompt| prompt.name.as_str());
    let uris = registry.resources.iter().map(|fixed| fixed.resource.uri.as_str());
    let templates = registry.templates.iter().map(|template| template.text.as_str());
    mistakes.extend(repeated("tool", tools));
    mistakes.extend(repeated("prompt", prompts));
    mistakes.extend(repeated("resource", uris));
    mistakes.extend(repeated("resource template", templates));
    for tool in &registry.tools {
        if !is_tool_name(&tool.name) {
            mistakes.push(format!("tool `{}`: a name is 1 to 128 of A-Z a-z 0-9 _ . -", tool.name));
        }
        if tool.arguments.published().get("type").and_then(Value::as_str) != Some("object") {
            mistakes.push(format!("tool `{}`: the input must be a struct", tool.name));
        }
        if tool.description.is_none() {
            mistakes.push(format!("tool `{}`: the input struct needs a doc comment", tool.name));
        }
        for keyword in tool.arguments.unchecked_keywords() {
            mistakes
                .push(format!("tool `{}`: nothing checks `{keyword}` of its schema", tool.name));
        }
    }
    for (reference, argument) in registry.completions.keys() {
        let known = match reference {
            Reference::Prompt(name) => registry.prompts.iter().any(|prompt| {
                prompt.name == *name && prompt.arguments.iter().any(|known| known.name == *argument)
            }),
            Reference::Template(text) => registry.templates.iter().any(|template| {
                template.text == *text
                    && template.pattern.variables().any(|known| known == argument)
            }),
        };
        if !known {
            mistakes.push(format!("completion of `{argument}`: no such argument of {reference:?}"));
        }
    }
    mistakes
}

fn repeated<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    names
        .filter(|name| !seen.insert(*name))
        .map(|name| format!("two entries for {kind} `{name}`"))
        .collect()
}

fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}
