//! The kinds of field a form can have, in the words of each revision.

use serde_json::{Map, Value, json};

use super::{AskError, unsupported};
use crate::revision::Revision;

/// One field of a form. Start from a kind: [`Field::text`], [`Field::integer`], [`Field::number`],
/// [`Field::boolean`], [`Field::choice`], [`Field::choices`].
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    kind: Kind,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text(Option<TextFormat>),
    Integer,
    Number,
    Boolean,
    Choice { options: Vec<Choice>, enum_names: bool },
    Choices(Vec<Choice>),
}

#[derive(Debug, Clone, PartialEq)]
struct Choice {
    value: String,
    title: Option<String>,
}

/// What a text field should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A day, `2026-07-28`.
    Date,
    /// A moment, `2026-07-28T12:00:00Z`.
    DateTime,
}

impl TextFormat {
    fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    fn fits(self, text: &str) -> bool {
        let is_date = |date: &str| {
            let digits = |range, most: u32| {
                let part: Option<&str> = date.get(range);
                part.and_then(|part| part.parse().ok()).is_some_and(|n: u32| n <= most)
            };
            date.len() == 10
                && date.matches('-').count() == 2
                && digits(0..4, 9999)
                && digits(5..7, 12)
                && digits(8..10, 31)
        };
        match self {
            Self::Email => text
                .split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
            Self::Uri => text
                .split_once(':')
                .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
            Self::Date => is_date(text),
            Self::DateTime => text
                .split_once(['T', 't'])
                .is_some_and(|(date, time)| is_date(date) && time.len() >= 9),
        }
    }
}

impl Field {
    /// Free text.
    pub fn text() -> Self {
        Self::of(Kind::Text(None))
    }

    /// Text of a known format.
    pub fn formatted(format: TextFormat) -> Self {
        Self::of(Kind::Text(Some(format)))
    }

    /// A whole number.
    pub fn integer() -> Self {
        Self::of(Kind::Integer)
    }

    /// Any number.
    pub fn number() -> Self {
        Self::of(Kind::Number)
    }

    /// Yes or no.
    pub fn boolean() -> Self {
        Self::of(Kind::Boolean)
    }

    /// One of several values.
    pub fn choice<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Kind::Choice { options: untitled(values), enum_names: false })
    }

    /// One of several values, each with a title for the person.
    pub fn titled_choice<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::of(Kind::Choice { options: titled(options), enum_names: false })
    }

    /// As [`Field::titled_choice`], written with `enumNames` in every revision, which is how
    /// 2025-06-18 did it and some clients still want it.
    pub fn named_choice<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::of(Kind::Choice { options: titled(options), enum_names: true })
    }

    /// Any number of several values (from 2025-11-25).
    pub fn choices<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Kind::Choices(untitled(values)))
    }

    /// Any number of several values, each with a title (from 2025-11-25).
    pub fn titled_choices<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::of(Kind::Choices(titled(options)))
    }

    /// Name for the person.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// What the field means.
    pub fn description(mut self, description: &str) -> Self {
        self.description = Some(description.to_owned());
        self
    }

    /// What is filled in beforehand, and what an absent answer means.
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Least number, or least number of characters or choices.
    pub fn minimum(mut self, minimum: impl Into<f64>) -> Self {
        self.minimum = Some(minimum.into());
        self
    }

    /// Greatest number, or greatest number of characters or choices.
    pub fn maximum(mut self, maximum: impl Into<f64>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Greatest number of characters.
    pub fn max_length(self, characters: u32) -> Self {
        self.maximum(characters)
    }

    fn of(kind: Kind) -> Self {
        Self { kind, title: None, description: None, default: None, minimum: None, maximum: None }
    }

    pub(super) fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    pub(super) fn schema(&self, revision: Revision) -> Result<Value, AskError> {
        let mut schema = Map::new();
        let mut set = |key: &str, value: Value| schema.insert(key.to_owned(), value);
        let (least, most) = match &self.kind {
            Kind::Text(format) => {
                set("type", json!("string"));
                if let Some(format) = format {
                    set("format", json!(format.as_str()));
                }
                ("minLength", "maxLength")
            }
            Kind::Integer | Kind::Number => {
                set("type", json!(if self.kind == Kind::Integer { "integer" } else { "number" }));
                ("minimum", "maximum")
            }
            Kind::Boolean => {
                set("type", json!("boolean"));
                ("", "")
            }
            Kind::Choice { options, enum_names } => {
                set("type", json!("string"));
                let old = *enum_names || !revision.has_elicitation_modes();
                for (key, value) in choice_schema(options, old, "oneOf") {
                    set(key, value);
                }
                ("", "")
            }
            Kind::Choices(_) if !revision.has_elicitation_modes() => {
                return Err(unsupported(revision, "field with several choices"));
            }
            Kind::Choices(options) => {
                set("type", json!("array"));
                let mut items: Map<String, Value> = choice_schema(options, false, "anyOf")
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect();
                if items.contains_key("enum") {
                    items.insert("type".to_owned(), json!("string"));
                }
                set("items", Value::Object(items));
                ("minItems", "maxItems")
            }
        };
        for (key, bound) in [(least, self.minimum), (most, self.maximum)] {
            if let (false, Some(bound)) = (key.is_empty(), bound) {
                set(key, whole(bound, self.kind != Kind::Number));
            }
        }
        for (key, text) in [("title", &self.title), ("description", &self.description)] {
            if let Some(text) = text {
                set(key, json!(text));
            }
        }
        // 2025-06-18 has defaults for booleans only.
        let has_default = revision.has_elicitation_modes() || self.kind == Kind::Boolean;
        if let Some(default) = self.default.as_ref().filter(|_| has_default) {
            set("default", default.clone());
        }
        Ok(Value::Object(schema))
    }

    /// `Err` says what is wrong with an answer, to be read after the field's name.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let measure = match (&self.kind, value) {
            (Kind::Text(format), Value::String(text)) => {
                if let Some(format) = format.filter(|format| !format.fits(text)) {
                    return Err(format!("must be of format {}", format.as_str()));
                }
                Some(text.chars().count() as f64)
            }
            (Kind::Integer, Value::Number(number))
                if number.as_f64().is_some_and(|n| n.fract() == 0.0) =>
            {
                number.as_f64()
            }
            (Kind::Number, Value::Number(number)) => number.as_f64(),
            (Kind::Boolean, Value::Bool(_)) => None,
            (Kind::Choice { options, .. }, Value::String(text)) if has(options, text) => None,
            (Kind::Choices(options), Value::Array(chosen))
                if chosen
                    .iter()
                    .all(|value| value.as_str().is_some_and(|text| has(options, text))) =>
            {
                Some(chosen.len() as f64)
            }
            _ => return Err(format!("must be {}", self.expected())),
        };
        match measure {
            Some(measure) if self.minimum.is_some_and(|minimum| measure < minimum) => {
                Err("is too small".to_owned())
            }
            Some(measure) if self.maximum.is_some_and(|maximum| measure > maximum) => {
                Err("is too large".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn expected(&self) -> String {
        let values = |options: &[Choice]| {
            options
                .iter()
                .map(|option| format!("{:?}", option.value))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match &self.kind {
            Kind::Text(_) => "text".to_owned(),
            Kind::Integer => "a whole number".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Choice { options, .. } => format!("one of {}", values(options)),
            Kind::Choices(options) => format!("a list of {}", values(options)),
        }
    }
}

fn untitled<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<Choice> {
    values.into_iter().map(|value| Choice { value: value.to_owned(), title: None }).collect()
}

fn titled<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Choice> {
    let choice = |(value, title): (&str, &str)| Choice {
        value: value.to_owned(),
        title: Some(title.to_owned()),
    };
    options.into_iter().map(choice).collect()
}

fn has(options: &[Choice], text: &str) -> bool {
    options.iter().any(|option| option.value == text)
}

/// `old`: titles go into `enumNames`; otherwise into `combinator`.
fn choice_schema(
    options: &[Choice],
    old: bool,
    combinator: &'static str,
) -> Vec<(&'static str, Value)> {
    let values: Vec<_> = options.iter().map(|option| &option.value).collect();
    let titles: Vec<_> = options.iter().filter_map(|option| option.title.as_ref()).collect();
    if titles.is_empty() {
        return vec![("enum", json!(values))];
    }
    if old {
        return vec![("enum", json!(values)), ("enumNames", json!(titles))];
    }
    let titled =
        values.iter().zip(titles).map(|(value, title)| json!({"const": value, "title": title}));
    vec![(combinator, titled.collect())]
}

/// Bounds of lengths and whole numbers are whole numbers on the wire.
fn whole(bound: f64, is_whole: bool) -> Value {
    if is_whole && bound.abs() < 9e15 { json!(bound as i64) } else { json!(bound) }
}
