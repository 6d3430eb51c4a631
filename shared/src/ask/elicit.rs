//! Elicitation: asking the person at the client, by a form or by a page in their browser.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::field::Field as FieldKind;
use super::{AskError, Question, unsupported};
use crate::revision::Revision;
use crate::validate::write_whole_numbers;

pub use super::field::{Field, TextFormat};

/// A form: a message and flat fields of simple kinds. Never ask for secrets in one; that is what
/// [`OpenUrl`] is for.
///
/// ```
/// # use mcp::{Field, Form};
/// let form = Form::new("How shall the report look?")
///     .field("title", Field::text().max_length(80))
///     .field("format", Field::choice(["pdf", "html"]).default("pdf"))
///     .optional("pages", Field::integer().minimum(1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    message: String,
    fields: Vec<(String, FieldKind, bool)>,
}

impl Form {
    /// `message` tells the person what is asked and why.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fields: Vec::new() }
    }

    /// A field that must be filled in.
    pub fn field(mut self, name: &str, field: Field) -> Self {
        self.fields.push((name.to_owned(), field, true));
        self
    }

    /// A field that may be left empty.
    pub fn optional(mut self, name: &str, field: Field) -> Self {
        self.fields.push((name.to_owned(), field, false));
        self
    }

    fn question(&self, revision: Revision) -> Result<Question, AskError> {
        let mut properties = Map::new();
        for (name, field, _) in &self.fields {
            properties.insert(name.clone(), field.schema(revision)?);
        }
        let required: Vec<_> =
            self.fields.iter().filter(|field| field.2).map(|field| &field.0).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
            schema.insert("required".to_owned(), json!(required));
        }
        let mut params = json!({"message": self.message, "requestedSchema": schema});
        let mut needs: &[_] = &["elicitation"];
        if revision.has_elicitation_modes() {
            needs = &["elicitation", "form"];
            if let Some(params) = params.as_object_mut() {
                params.insert("mode".to_owned(), json!("form"));
            }
        }
        Ok(Question { method: "elicitation/create", params, needs })
    }

    /// Only what was asked for, and only if it fits: the client's word is not taken for it.
    fn check(&self, content: &Map<String, Value>) -> Result<Map<String, Value>, AskError> {
        let mut answers = Map::new();
        for (name, field, required) in &self.fields {
            match content.get(name).filter(|value| !value.is_null()).or(field.default_value()) {
                Some(value) => {
                    field
                        .check(value)
                        .map_err(|reason| AskError::Malformed(format!("`{name}` {reason}")))?;
                    let mut value = value.clone();
                    write_whole_numbers(&mut value);
                    answers.insert(name.clone(), value);
                }
                None if *required => {
                    return Err(AskError::Malformed(format!("`{name}` is missing")));
                }
                None => {}
            }
        }
        Ok(answers)
    }
}

/// A page to open in the browser (from 2025-11-25): for secrets, payments, other services' sign-in.
/// Accepting means the person agreed to open it, not that they are done there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUrl {
    message: String,
    url: String,
}

impl OpenUrl {
    /// `url` must not hold secrets or personal data, and must not be signed in already.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), url: url.into() }
    }

    fn question(&self, revision: Revision) -> Result<Question, AskError> {
        if !revision.has_elicitation_modes() {
            return Err(unsupported(revision, "elicitation by URL"));
        }
        let mut params = json!({"mode": "url", "message": self.message, "url": self.url});
        if let (false, Some(params)) = (revision.is_stateless(), params.as_object_mut()) {
            let id = crate::seal::random_token()
                .ok_or(AskError::Misused("no random numbers".to_owned()))?;
            params.insert("elicitationId".to_owned(), json!(id));
        }
        Ok(Question { method: "elicitation/create", params, needs: &["elicitation", "url"] })
    }
}

/// A [`Form`] or an [`OpenUrl`].
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// Fields to fill in.
    Form(Form),
    /// A page to open.
    Url(OpenUrl),
}

impl From<Form> for Elicitation {
    fn from(form: Form) -> Self {
        Self::Form(form)
    }
}

impl From<OpenUrl> for Elicitation {
    fn from(url: OpenUrl) -> Self {
        Self::Url(url)
    }
}

impl Elicitation {
    pub(crate) fn question(&self, revision: Revision) -> Result<Question, AskError> {
        if !revision.has_elicitation() {
            return Err(unsupported(revision, "elicitation"));
        }
        match self {
            Self::Form(form) => form.question(revision),
            Self::Url(url) => url.question(revision),
        }
    }

    pub(crate) fn read(&self, answer: &Value) -> Result<Elicited, AskError> {
        match answer.get("action").and_then(Value::as_str) {
            Some("decline") => Ok(Elicited::Declined),
            Some("cancel") => Ok(Elicited::Cancelled),
            Some("accept") => match self {
                Self::Url(_) => Ok(Elicited::Accepted(Answers(Map::new()))),
                Self::Form(form) => {
                    let empty = Map::new();
                    let content = match answer.get("content") {
                        None | Some(Value::Null) => &empty,
                        Some(Value::Object(content)) => content,
                        Some(_) => {
                            return Err(AskError::Malformed("`content` is no object".to_owned()));
                        }
                    };
                    form.check(content).map(|answers| Elicited::Accepted(Answers(answers)))
                }
            },
            _ => Err(AskError::Malformed("`action` is none of accept, decline, cancel".to_owned())),
        }
    }
}

/// What the person did.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// Filled in the form, or agreed to open the page.
    Accepted(Answers),
    /// Said no.
    Declined,
    /// Closed the question without deciding.
    Cancelled,
}

impl Elicited {
    /// The answers, if there are any; `None` for a no and for no decision.
    pub fn accepted(self) -> Option<Answers> {
        match self {
            Self::Accepted(answers) => Some(answers),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The fields of a form as filled in, checked against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers(Map<String, Value>);

impl fmt::Display for Answers {
    /// As JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&json)
    }
}

impl Answers {
    /// One field; `None` if it was optional and left empty.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All fields as a struct of the handler's.
    ///
    /// # Errors
    /// [`AskError::Misused`] if the struct does not fit the form.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, AskError> {
        serde_json::from_value(Value::Object(self.0))
            .map_err(|error| AskError::Misused(error.to_string()))
    }
}
