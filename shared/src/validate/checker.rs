//! The rules themselves: one value against one schema, each problem named with its place.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::number::{compare, is_whole};
use super::place::Place;
use super::words::{expected, in_digits, nearest, quoted};

/// Comparisons of a schema with a value for one set of arguments. Alternatives that hold each
/// other could otherwise be tried for ever by a value made for it.
const MAX_STEPS: usize = 1_000_000;

/// Problems named in one answer; more would not be read.
const MAX_PROBLEMS: usize = 5;

/// Walks a schema and a value side by side.
pub(super) struct Checker<'a> {
    root: &'a Value,
    problems: Vec<String>,
    steps_left: usize,
}

impl<'a> Checker<'a> {
    /// What is wrong with `value`, in words; of much that is wrong the first few things.
    pub(super) fn problems(schema: &'a Value, value: &Value) -> Vec<String> {
        let mut checker = Self { root: schema, problems: Vec::new(), steps_left: MAX_STEPS };
        checker.check(schema, value, &Place::Root);
        if checker.steps_left == 0 {
            return vec![
                "the arguments are too many or too deeply nested to be checked".to_owned(),
            ];
        }
        checker.problems
    }

    fn check(&mut self, schema: &'a Value, value: &Value, place: &Place<'_>) {
        if self.is_done() {
            return;
        }
        self.steps_left -= 1;
        if schema == &Value::Bool(false) {
            return self.problem(place, "is not allowed".to_owned());
        }
        if let Some(target) = self.referenced(schema) {
            self.check(target, value, place);
        }
        if !self.check_kind(schema, value, place) || !self.check_alternatives(schema, value, place)
        {
            return;
        }
        for part in list(schema, "allOf") {
            self.check(part, value, place);
        }
        self.check_condition(schema, value, place);
        match value {
            Value::Object(members) => self.check_object(schema, members, place),
            Value::Array(items) => self.check_array(schema, items, place),
            Value::String(text) => self.check_length(schema, text, place),
            Value::Number(number) => self.check_number(schema, number, place),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Whether the value is of the right type, and one of those listed. If not there is no use in
    /// looking further.
    fn check_kind(&mut self, schema: &'a Value, value: &Value, place: &Place<'_>) -> bool {
        if !has_type(schema, value) {
            let problem = format!("must be {}, not {}", expected(schema), quoted(value));
            self.problem(place, problem);
            return false;
        }
        if !is_listed(schema, value) {
            let problem = format!("must be {}, not {}", self.choices(schema), quoted(value));
            self.problem(place, problem);
            return false;
        }
        true
    }

    /// Whether the value fits an alternative, or there are none to fit.
    fn check_alternatives(&mut self, schema: &'a Value, value: &Value, place: &Place<'_>) -> bool {
        for keyword in ["oneOf", "anyOf"] {
            let Some(alternatives) = schema.get(keyword).and_then(Value::as_array) else {
                continue;
            };
            let Err(closest) = self.fits_any(alternatives, value, place) else {
                continue;
            };
            match closest {
                Some(problems) => self.problems.extend(problems),
                None => {
                    let choices = self.choices(schema);
                    self.problem(place, format!("must be {choices}, not {}", quoted(value)));
                }
            }
            return false;
        }
        true
    }

    /// `if` decides between `then` and `else`, and is no problem itself.
    fn check_condition(&mut self, schema: &'a Value, value: &Value, place: &Place<'_>) {
        let Some(condition) = schema.get("if") else {
            return;
        };
        let mut inner = Checker { problems: Vec::new(), ..*self };
        inner.check(condition, value, place);
        self.steps_left = inner.steps_left;
        let branch = if inner.problems.is_empty() { "then" } else { "else" };
        schema.get(branch).into_iter().for_each(|branch| self.check(branch, value, place));
    }

    /// If none fits, the error is what is wrong with the alternative that was probably meant.
    fn fits_any(
        &mut self,
        alternatives: &'a [Value],
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Option<Vec<String>>> {
        let mut closest = None;
        for alternative in alternatives {
            let target = self.resolve(alternative);
            if contradicts_tag(target, value) {
                continue;
            }
            let mut inner = Checker { problems: Vec::new(), ..*self };
            inner.check(alternative, value, place);
            self.steps_left = inner.steps_left;
            if inner.problems.is_empty() {
                return Ok(());
            }
            // One that is of the same type and wrong only inside is probably the one meant.
            if value.is_object() && target.get("type").is_some() && has_type(target, value) {
                closest = Some(inner.problems);
            }
        }
        Err(closest)
    }

    fn check_object(&mut self, schema: &'a Value, members: &Map<String, Value>, place: &Place<'_>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let property = |name: &str| properties.and_then(|properties| properties.get(name));
        for name in list(schema, "required").iter().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let wanted = property(name).map(expected).unwrap_or_default();
                let problem = format!("is missing; it must be {wanted}");
                self.problem(&Place::Member(place, name), problem);
            }
        }
        for (name, value) in members {
            if self.is_done() {
                return;
            }
            let inner = Place::Member(place, name);
            match (property(name), schema.get("additionalProperties")) {
                (Some(property), _) => self.check(property, value, &inner),
                (None, Some(Value::Bool(false))) => {
                    let known = properties.into_iter().flat_map(Map::keys);
                    self.problem(&inner, format!("is not known{}", nearest(name, known)));
                }
                (None, Some(additional)) => self.check(additional, value, &inner),
                (None, None) => {}
            }
        }
    }

    fn check_array(&mut self, schema: &'a Value, items: &[Value], place: &Place<'_>) {
        let count = ("minItems", "maxItems", "items");
        self.check_count(schema, items.len(), count, place);
        if let Some(item) = schema.get("items") {
            for (index, value) in items.iter().enumerate() {
                if self.is_done() {
                    return;
                }
                self.check(item, value, &Place::Item(place, index));
            }
        }
        let wants_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let mut seen = HashSet::new();
        if wants_unique && !items.iter().all(|item| seen.insert(item)) {
            self.problem(place, "must not hold the same item twice".to_owned());
        }
    }

    fn check_length(&mut self, schema: &Value, text: &str, place: &Place<'_>) {
        let count = ("minLength", "maxLength", "characters");
        self.check_count(schema, text.chars().count(), count, place);
    }

    fn check_count(
        &mut self,
        schema: &Value,
        count: usize,
        (least, most, unit): (&str, &str, &str),
        place: &Place<'_>,
    ) {
        if let Some(range) = missed_range(schema, &Number::from(count), least, most) {
            self.problem(place, format!("must have {range} {unit}, not {count}"));
        }
    }

    fn check_number(&mut self, schema: &Value, number: &Number, place: &Place<'_>) {
        let given = in_digits(number);
        if let Some(range) = missed_range(schema, number, "minimum", "maximum") {
            self.problem(place, format!("must be {range}, not {given}"));
        }
        let bounds = [
            ("exclusiveMinimum", Ordering::Greater, "greater"),
            ("exclusiveMaximum", Ordering::Less, "less"),
        ];
        for (keyword, wanted, word) in bounds {
            if let Some(Value::Number(bound)) = schema.get(keyword)
                && compare(number, bound) != wanted
            {
                let problem = format!("must be {word} than {}, not {given}", in_digits(bound));
                self.problem(place, problem);
            }
        }
    }

    fn referenced(&self, schema: &Value) -> Option<&'a Value> {
        let target = schema.get("$ref")?.as_str()?;
        self.root.pointer(target.trim_start_matches('#'))
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        self.referenced(schema).unwrap_or(schema)
    }

    /// The values a schema of alternatives allows, as far as they can be named.
    fn choices(&self, schema: &'a Value) -> String {
        let mut names: Vec<_> =
            schema.get("const").into_iter().chain(list(schema, "enum")).map(quoted).collect();
        for alternative in list(schema, "oneOf").iter().chain(list(schema, "anyOf")) {
            let alternative = self.resolve(alternative);
            match (alternative.get("const"), alternative.get("enum"), alternative.get("oneOf")) {
                (None, None, None) => names.push(expected(alternative)),
                _ => names.push(self.choices(alternative)),
            }
        }
        names.join(" or ")
    }

    /// Enough is known to be wrong, or it has taken too long to find out.
    fn is_done(&self) -> bool {
        self.steps_left == 0 || self.problems.len() >= MAX_PROBLEMS
    }

    fn problem(&mut self, place: &Place<'_>, what: String) {
        if !self.is_done() {
            self.problems.push(format!("{} {what}", place.in_words()));
        }
    }
}

/// The list under a keyword, empty if there is none.
fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The value names another alternative: a member the schema fixes has another value.
fn contradicts_tag(schema: &Value, value: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, property)| {
        let tag = property.get("const");
        tag.is_some() && value.get(name).is_some_and(|given| Some(given) != tag)
    })
}

fn has_type(schema: &Value, value: &Value) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::String(name)) => is_of_type(value, name),
        Some(_) => {
            let names = list(schema, "type").iter().filter_map(Value::as_str);
            names.into_iter().any(|name| is_of_type(value, name))
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(is_whole),
        _ => true,
    }
}

fn is_listed(schema: &Value, value: &Value) -> bool {
    schema.get("const").is_none_or(|only| only == value)
        && schema.get("enum").and_then(Value::as_array).is_none_or(|listed| listed.contains(value))
}

/// The range between two bounds in words, if the number is outside it.
fn missed_range(schema: &Value, number: &Number, least: &str, most: &str) -> Option<String> {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_number);
    let (least, most) = (bound(least), bound(most));
    let is_inside = least.is_none_or(|least| compare(number, least).is_ge())
        && most.is_none_or(|most| compare(number, most).is_le());
    if is_inside {
        return None;
    }
    Some(match (least.map(in_digits), most.map(in_digits)) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, most) => format!("at most {}", most.unwrap_or_default()),
    })
}
