//! Asking the person at the client, by forms of every kind.

use mcp::{Context, Elicited, Field, Form, Reply, TextFormat, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Ask the person for a name and an address.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elicitation {
    /// What the person reads.
    message: String,
}

pub(crate) async fn elicitation(cx: Context<Backend>, input: Elicitation) -> ToolResult<Reply> {
    let form = Form::new(input.message)
        .field("username", Field::text().description("User's response"))
        .field("email", Field::text().description("User's email address"));
    Ok(Reply::text(format!("User response: {}", told(cx.elicit("person", form).await?))))
}

/// Ask with an answer already filled in for each kind of field.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {}

pub(crate) async fn defaults(cx: Context<Backend>, _: Defaults) -> ToolResult<Reply> {
    let form = Form::new("Please review and update the form fields with defaults")
        .optional("name", Field::text().default("John Doe"))
        .optional("age", Field::integer().default(30))
        .optional("score", Field::number().default(95.5))
        .optional("status", Field::choice(["active", "inactive", "pending"]).default("active"))
        .optional("verified", Field::boolean().default(true));
    Ok(Reply::text(format!("Elicitation completed: {}", told(cx.elicit("defaults", form).await?))))
}

/// Ask for choices of every kind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Enums {}

pub(crate) async fn enums(cx: Context<Backend>, _: Enums) -> ToolResult<Reply> {
    let options = ["option1", "option2", "option3"];
    let titled =
        [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let legacy = [("opt1", "Option One"), ("opt2", "Option Two"), ("opt3", "Option Three")];
    let choices =
        [("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")];
    let form = Form::new("Please select from the various enum options")
        .optional("untitledSingle", Field::choice(options))
        .optional("titledSingle", Field::titled_choice(titled))
        .optional("legacyEnum", Field::named_choice(legacy))
        .optional("untitledMulti", Field::choices(options))
        .optional("titledMulti", Field::titled_choices(choices));
    Ok(Reply::text(format!("Elicitation completed: {}", told(cx.elicit("enums", form).await?))))
}

/// Ask for a name and greet it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Name {}

pub(crate) async fn name(cx: Context<Backend>, _: Name) -> ToolResult<Reply> {
    let form = Form::new("What is your name?").field("name", Field::text());
    let answers = match cx.elicit("user_name", form).await? {
        Elicited::Accepted(answers) => answers,
        other => return Ok(Reply::text(format!("No greeting: {}", told(other)))),
    };
    let name = answers.get("name").and_then(|name| name.as_str()).unwrap_or_default();
    Ok(Reply::text(format!("Hello, {name}!")))
}

/// Ask for texts that have a format.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Formats {}

pub(crate) async fn formats(cx: Context<Backend>, _: Formats) -> ToolResult<Reply> {
    let form = Form::new("When and where?")
        .field("day", Field::formatted(TextFormat::Date))
        .optional("moment", Field::formatted(TextFormat::DateTime))
        .optional("mail", Field::formatted(TextFormat::Email))
        .optional("page", Field::formatted(TextFormat::Uri));
    Ok(Reply::text(format!("Elicitation completed: {}", told(cx.elicit("formats", form).await?))))
}

/// An answer in words.
fn told(elicited: Elicited) -> String {
    let (action, content) = match &elicited {
        Elicited::Accepted(answers) => ("accept", answers.to_string()),
        Elicited::Declined => ("decline", "{}".to_owned()),
        Elicited::Cancelled => ("cancel", "{}".to_owned()),
    };
    format!("action={action}, content={content}")
}
