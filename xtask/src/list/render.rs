//! Markdown tables from a server's lists, and the difference that `--check` shows.

use serde_json::Value;

use super::surface::Surface;
use crate::workspace::Server;

/// The block of a server's own README: tools, then whatever else it has.
pub(crate) fn tools(surface: &Surface) -> String {
    let mut block = table(["Tool", "What it does", "Arguments"], &surface.tools, "name", arguments);
    let resources: Vec<_> = surface.resources.iter().chain(&surface.templates).cloned().collect();
    for (heading, items, key) in
        [("Resource", &resources, "uri"), ("Prompt", &surface.prompts, "name")]
    {
        if !items.is_empty() {
            block.push('\n');
            let last = if heading == "Prompt" { "Arguments" } else { "Type" };
            block += &table([heading, "What it is", last], items, key, details);
        }
    }
    block
}

/// More tools than this are a count; the server's own README has them all.
const MAX_NAMES: usize = 16;

/// The table of the root README: one row for each server.
pub(crate) fn servers(surfaces: &[(&Server, Surface)]) -> String {
    let mut table = String::from("| Server | What it does | Tools |\n|---|---|---|\n");
    for (server, surface) in surfaces {
        let folder = server.folder.file_name().unwrap_or_default().to_string_lossy();
        let names = surface.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        let mut names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        let left_out = names.len().saturating_sub(MAX_NAMES);
        if left_out > 0 {
            names.truncate(MAX_NAMES / 4);
            names.push(format!("and {} more", left_out + MAX_NAMES - MAX_NAMES / 4));
        }
        let description = cell(&server.description);
        let link = format!("[`{}`](crates/{folder})", server.name);
        table += &format!("| {link} | {description} | {} |\n", names.join(", "));
    }
    table
}

/// The lines of both texts that are not common to their beginning or end.
pub(crate) fn difference(current: &str, wanted: &str) -> String {
    let (current, wanted): (Vec<_>, Vec<_>) = (current.lines().collect(), wanted.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = current.iter().zip(&wanted).take_while(same).count();
    let shorter = current.len().min(wanted.len()) - head;
    let tail = current.iter().rev().zip(wanted.iter().rev()).take(shorter).take_while(same).count();
    let middle = |lines: &[&str], sign: char| -> String {
        let changed = lines.iter().take(lines.len() - tail).skip(head);
        changed.map(|line| format!("  {sign} {line}\n")).collect()
    };
    format!("  @ line {}\n{}{}", head + 1, middle(&current, '-'), middle(&wanted, '+'))
}

fn table(headings: [&str; 3], items: &[Value], key: &str, last: fn(&Value) -> String) -> String {
    let mut table = format!("| {} |\n|---|---|---|\n", headings.join(" | "));
    for item in items {
        let name = text(item, key).or_else(|| text(item, "uriTemplate")).unwrap_or_default();
        let about = text(item, "description").or_else(|| text(item, "title")).unwrap_or_default();
        table += &format!("| `{name}` | {} | {} |\n", cell(first_paragraph(about)), last(item));
    }
    table
}

/// `a: number, tick_ms?: integer`, required ones first as the model meets them.
fn arguments(tool: &Value) -> String {
    let required: Vec<_> = tool
        .pointer("/inputSchema/required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = tool.pointer("/inputSchema/properties").and_then(Value::as_object)
    else {
        return String::new();
    };
    let mut rows: Vec<_> = properties.iter().collect();
    rows.sort_by_key(|(name, _)| {
        required.iter().position(|known| known == name).unwrap_or(usize::MAX)
    });
    let shown = rows.iter().map(|(name, schema)| {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("`{name}{optional}: {}`", kind(schema))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn kind(schema: &Value) -> String {
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        // An optional field is listed as `[type, "null"]`; the `?` already says so.
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => return named_elsewhere(schema),
    };
    let shown = names.iter().map(|name| match (*name, schema.get("items")) {
        ("array", Some(items)) => format!("{}[]", kind(items)),
        (name, _) => name.to_owned(),
    });
    shown.collect::<Vec<_>>().join(" or ")
}

/// What a schema without `type` points to, by the name of its definition.
fn named_elsewhere(schema: &Value) -> String {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|reference| reference.rsplit('/').next());
    name.unwrap_or("any").to_owned()
}

fn details(item: &Value) -> String {
    if let Some(kind) = text(item, "mimeType") {
        return format!("`{kind}`");
    }
    let Some(arguments) = item.get("arguments").and_then(Value::as_array) else {
        return String::new();
    };
    let shown = arguments.iter().filter_map(|argument| {
        let optional = argument.get("required") != Some(&Value::Bool(true));
        Some(format!("`{}{}`", text(argument, "name")?, if optional { "?" } else { "" }))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn text<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
    item.get(key).and_then(Value::as_str)
}

fn first_paragraph(text: &str) -> &str {
    text.split("\n\n").next().unwrap_or_default()
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_shown_as_the_model_meets_them() {
        let tool = json!({"inputSchema": {"required": ["b"], "properties": {
            "a": {"type": ["array", "null"], "items": {"type": "string"}},
            "b": {"type": "number"},
            "c": {"type": "array", "items": {"$ref": "#/$defs/Operation"}},
        }}});
        let expected = "`b: number`, `a?: string[]`, `c?: Operation[]`";
        assert_eq!(arguments(&tool), expected);
    }

    #[test]
    fn a_difference_shows_the_changed_lines_only() {
        for (current, wanted, expected) in [
            ("a\nb\nc", "a\nx\nc", "  @ line 2\n  - b\n  + x\n"),
            ("a\nc", "a\nb\nc", "  @ line 2\n  + b\n"),
            ("", "a", "  @ line 1\n  + a\n"),
            ("a\na", "a", "  @ line 2\n  - a\n"),
        ] {
            assert_eq!(difference(current, wanted), expected, "{current:?} {wanted:?}");
        }
    }
}
