//! What the model can call. A tool is an input struct, an output and a function; the doc comments
//! are all the description there is.
//!
//! One file a tool, and what they share: `rows` (how issues look), `confirm` (asking before what
//! cannot be undone).

mod confirm;
pub(crate) mod rows;
mod create;
mod get;
mod list;
mod search;
mod triage;
mod update;
mod comment;
mod edit_body;
pub(crate) mod label;
pub(crate) mod milestone;
mod relations;
mod status;

pub(crate) use comment::issue_comment;
pub(crate) use create::github_create_issue;
pub(crate) use edit_body::issue_edit_body;
pub(crate) use get::issue_get;
pub(crate) use label::label_manage;
pub(crate) use list::issue_list;
pub(crate) use milestone::milestone_manage;
pub(crate) use relations::issue_relations;
pub(crate) use search::issue_search;
pub(crate) use status::github_status;
pub(crate) use triage::issue_triage;
pub(crate) use update::issue_update;

use mcp::{Context, ToolError};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::backend::{Backend, Error, Observer};

/// Tools that do nothing but write; `--read-only` leaves them out.
pub(crate) const WRITERS: &[&str] =
    &["github_create_issue", "issue_update", "issue_comment", "issue_edit_body", "issue_triage"];

/// What came of creating; `ignored` is what GitHub did not take over, for want of permission.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = frugal)]
pub(crate) struct Written {
    #[schemars(skip)]
    done: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    url: String,
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
}

/// Takes out of a schema what tells a model nothing: that what is left out is empty, and that
/// unknown fields are refused; the refusal says so, and what was meant.
fn frugal(schema: &mut Schema) {
    schema.remove("additionalProperties");
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        let is_empty = |value: &Value| {
            *value == Value::Bool(false)
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_str().is_some_and(str::is_empty)
                || value.as_u64() == Some(0)
        };
        for name in ["default", "minimum"] {
            if property.get(name).is_some_and(is_empty) {
                property.remove(name);
            }
        }
    }
}

/// What was asked for and is not there afterwards.
fn missing(kind: &str, asked: &[String], there: &[String]) -> Vec<String> {
    let is_there = |name: &&String| there.iter().any(|there| there.eq_ignore_ascii_case(name));
    asked.iter().filter(|name| !is_there(name)).map(|name| format!("{kind} {name}")).collect()
}

/// Tells `null` (clear it) from a field that is not there (leave it).
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// A list that is cleared by `null` as well as by `[]`.
fn emptied<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Option::deserialize(deserializer).map(|list| Some(list.unwrap_or_default()))
}

/// A call that waits says so to its client.
impl Observer for Context<Backend> {
    fn waiting(&self, done_secs: u64, total_secs: u64, why: &str) {
        self.progress(done_secs, Some(total_secs), why);
    }
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let told = Self::new(error.to_string());
        match error.cause() {
            Some(cause) => told.caused_by(cause),
            None => told,
        }
    }
}
