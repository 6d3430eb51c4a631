//! The rules themselves: one value against one schema, each problem named with its place.

use serde_json::Value;

use super::words::{expected, nearest, quoted};

/// Comparisons of a schema with a value for one set of arguments. Alternatives that hold each
/// other could otherwise be tried for ever by a value made for it.
const MAX_STEPS: usize = 1_000_000;

/// Walks a schema and a value side by side.
pub(super) struct Checker<'a> {
    root: &'a Value,
    problems: Vec<String>,
    steps_left: usize,
}

impl<'a> Checker<'a> {
    /// Everything that is wrong with `value`, in words.
    pub(super) fn problems(schema: &'a Value, value: &Value) -> Vec<String> {
        let mut checker = Self { root: schema, problems: Vec::new(), steps_left: MAX_STEPS };
        checker.check(schema, value, "");
        if checker.steps_left == 0 {
            return vec![
                "the arguments are too many or too deeply nested to be checked".to_owned(),
            ];
        }
        checker.problems
    }

    /// `path` is empty for the arguments as a whole.
    fn check(&mut self, schema: &'a Value, value: &Value, path: &str) {
        if self.steps_left == 0 {
            return;
        }
        self.steps_left -= 1;
        let Some(keywords) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                self.problem(path, "is not allowed".to_owned());
            }
            return;
        };
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(target.trim_start_matches('#'));
            target.into_iter().for_each(|target| self.check(target, value, path));
        }
        if !self.has_type(schema, value) {
            return self
                .problem(path, format!("must be {}, not {}", expected(schema), quoted(value)));
        }
        if !is_listed(schema, value) {
            let choices = self.choices(schema);
            return self.problem(path, format!("must be {choices}, not {}", quoted(value)));
        }
        if !self.check_alternatives(schema, value, path) {
            return;
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.check(part, value, path);
        }
        self.check_condition(schema, value, path);
        match value {
            Value::Object(members) => self.check_object(schema, members, path),
            Value::Array(items) => self.check_array(schema, items, path),
            Value::String(text) => {
                self.check_bounds(
                    schema,
                    text.chars().count() as f64,
                    ("minLength", "maxLength"),
                    "characters",
                    path,
                );
            }
            Value::Number(number) => {
                self.check_bounds(
                    schema,
                    number.as_f64().unwrap_or_default(),
                    ("minimum", "maximum"),
                    "",
                    path,
                );
                self.check_exclusive(schema, number.as_f64().unwrap_or_default(), path);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// `if` decides between `then` and `else`, and is no problem itself.
    fn check_condition(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let Some(condition) = schema.get("if") else {
            return;
        };
        let mut inner = Checker { problems: Vec::new(), ..*self };
        inner.check(condition, value, path);
        self.steps_left = inner.steps_left;
        let branch = if inner.problems.is_empty() { "then" } else { "else" };
        schema.get(branch).into_iter().for_each(|branch| self.check(branch, value, path));
    }

    fn check_object(
        &mut self,
        schema: &'a Value,
        members: &serde_json::Map<String, Value>,
        path: &str,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !members.contains_key(name) {
                let property = properties.and_then(|properties| properties.get(name));
                let wanted = property.map(expected).unwrap_or_default();
                self.problem(&join(path, name), format!("is missing; it must be {wanted}"));
            }
        }
        for (name, value) in members {
            let inner = join(path, name);
            match (
                properties.and_then(|properties| properties.get(name)),
                schema.get("additionalProperties"),
            ) {
                (Some(property), _) => self.check(property, value, &inner),
                (None, Some(Value::Bool(false))) => {
                    let known = properties.into_iter().flat_map(serde_json::Map::keys);
                    self.problem(&inner, format!("is not known{}", nearest(name, known)));
                }
                (None, Some(additional)) => self.check(additional, value, &inner),
                (None, None) => {}
            }
        }
    }

    fn check_array(&mut self, schema: &'a Value, items: &[Value], path: &str) {
        self.check_bounds(schema, items.len() as f64, ("minItems", "maxItems"), "items", path);
        if let Some(item) = schema.get("items") {
            for (index, value) in items.iter().enumerate() {
                self.check(item, value, &format!("{path}[{index}]"));
            }
        }
        let wants_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        if wants_unique
            && items
                .iter()
                .enumerate()
                .any(|(index, item)| items.iter().skip(index + 1).any(|other| other == item))
        {
            self.problem(path, "must not hold the same item twice".to_owned());
        }
    }

    fn check_bounds(
        &mut self,
        schema: &Value,
        measure: f64,
        keywords: (&str, &str),
        unit: &str,
        path: &str,
    ) {
        let bound = |keyword| schema.get(keyword).and_then(Value::as_f64);
        let (least, most) = (bound(keywords.0), bound(keywords.1));
        if least.is_none_or(|least| measure >= least) && most.is_none_or(|most| measure <= most) {
            return;
        }
        let range = match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, most) => format!("at most {}", most.unwrap_or_default()),
        };
        let what = if unit.is_empty() {
            format!("must be {range}, not {measure}")
        } else {
            format!("must have {range} {unit}, not {measure}")
        };
        self.problem(path, what);
    }

    fn check_exclusive(&mut self, schema: &Value, number: f64, path: &str) {
        let bound = |keyword| schema.get(keyword).and_then(Value::as_f64);
        match (bound("exclusiveMinimum"), bound("exclusiveMaximum")) {
            (Some(least), _) if number <= least => {
                self.problem(path, format!("must be greater than {least}, not {number}"))
            }
            (_, Some(most)) if number >= most => {
                self.problem(path, format!("must be less than {most}, not {number}"))
            }
            _ => {}
        }
    }

    fn has_type(&self, schema: &Value, value: &Value) -> bool {
        match schema.get("type") {
            None => true,
            Some(Value::String(name)) => is_of_type(value, name),
            Some(names) => names
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .any(|name| is_of_type(value, name)),
        }
    }

    /// `false` if the value fits none of the alternatives; then the problem is named.
    fn check_alternatives(&mut self, schema: &'a Value, value: &Value, path: &str) -> bool {
        for keyword in ["oneOf", "anyOf"] {
            let Some(alternatives) = schema.get(keyword).and_then(Value::as_array) else {
                continue;
            };
            let mut closest = None;
            let mut fits = false;
            for alternative in alternatives {
                let target = self.resolve(alternative);
                if contradicts_tag(target, value) {
                    continue;
                }
                let mut inner = Checker { problems: Vec::new(), ..*self };
                inner.check(alternative, value, path);
                self.steps_left = inner.steps_left;
                fits |= inner.problems.is_empty();
                // One that is of the same type and wrong only inside is probably the one meant.
                if value.is_object() && target.get("type").is_some() && self.has_type(target, value)
                {
                    closest = Some(inner.problems);
                }
            }
            if !fits {
                match closest {
                    Some(problems) => self.problems.extend(problems),
                    None => {
                        let choices = self.choices(schema);
                        self.problem(path, format!("must be {choices}, not {}", quoted(value)));
                    }
                }
                return false;
            }
        }
        true
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema.get("$ref").and_then(Value::as_str);
        target
            .and_then(|target| self.root.pointer(target.trim_start_matches('#')))
            .unwrap_or(schema)
    }

    /// The values a schema of alternatives allows, as far as they can be named.
    fn choices(&self, schema: &'a Value) -> String {
        let mut names = Vec::new();
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        names.extend(schema.get("const").into_iter().chain(listed).map(quoted));
        let alternatives =
            ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        for alternative in alternatives.flatten() {
            let alternative = self.resolve(alternative);
            match (alternative.get("const"), alternative.get("enum"), alternative.get("oneOf")) {
                (None, None, None) => names.push(expected(alternative)),
                _ => names.push(self.choices(alternative)),
            }
        }
        names.join(" or ")
    }

    fn problem(&mut self, path: &str, what: String) {
        let subject =
            if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
        self.problems.push(format!("{subject} {what}"));
    }
}

/// The value names another alternative: a member the schema fixes has another value.
fn contradicts_tag(schema: &Value, value: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, property)| {
        let tag = property.get("const");
        tag.is_some() && value.get(name).is_some_and(|given| Some(given) != tag)
    })
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    }
}

fn is_listed(schema: &Value, value: &Value) -> bool {
    schema.get("const").is_none_or(|only| only == value)
        && schema.get("enum").and_then(Value::as_array).is_none_or(|listed| listed.contains(value))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
