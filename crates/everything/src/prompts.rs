//! Prompts: plain, with arguments, with a resource, with a picture, with a question, and one that
//! comes and goes.

use mcp::{
    Completing, Content, Context, Error, Field, Form, PromptMessage, PromptResult,
    ResourceContents, Server,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Backend, PNG};
use crate::tools::lists_that_change::GUEST;

pub(crate) fn add(server: Server<Backend>) -> Server<Backend> {
    server
        .prompt("test_simple_prompt", simple)
        .prompt("test_prompt_with_arguments", with_arguments)
        .complete_prompt("test_prompt_with_arguments", "arg1", complete_arg1)
        .prompt("test_prompt_with_embedded_resource", with_embedded_resource)
        .prompt("test_prompt_with_image", with_image)
        .prompt("test_input_required_result_prompt", with_question)
        .prompt(GUEST, simple)
        .hide_prompt(GUEST)
}

/// A prompt without arguments.
#[derive(Deserialize, JsonSchema)]
struct Simple {}

async fn simple(_: Context<Backend>, _: Simple) -> PromptResult {
    Ok(vec![PromptMessage::user(Content::text("This is a simple prompt for testing."))])
}

/// A prompt that is filled in.
#[derive(Deserialize, JsonSchema)]
struct WithArguments {
    /// First argument.
    arg1: String,
    /// Second argument.
    arg2: String,
}

async fn with_arguments(_: Context<Backend>, input: WithArguments) -> PromptResult {
    let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", input.arg1, input.arg2);
    Ok(vec![PromptMessage::user(Content::text(text))])
}

async fn complete_arg1(_: Context<Backend>, typed: Completing) -> Result<Vec<String>, Error> {
    Ok(typed.filter(["paris", "park", "party"]))
}

/// A prompt that brings a resource along.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WithEmbeddedResource {
    /// What the resource is called.
    resource_uri: String,
}

async fn with_embedded_resource(_: Context<Backend>, input: WithEmbeddedResource) -> PromptResult {
    let text = "Embedded resource content for testing.";
    let resource = ResourceContents::text(input.resource_uri, "text/plain", text);
    Ok(vec![
        PromptMessage::user(Content::resource(resource)),
        PromptMessage::user(Content::text("Please process the embedded resource above.")),
    ])
}

/// A prompt that brings a picture along.
#[derive(Deserialize, JsonSchema)]
struct WithImage {}

async fn with_image(_: Context<Backend>, _: WithImage) -> PromptResult {
    Ok(vec![
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user(Content::text("Please analyze the image above.")),
    ])
}

/// A prompt that asks before it is made.
#[derive(Deserialize, JsonSchema)]
struct WithQuestion {}

async fn with_question(cx: Context<Backend>, _: WithQuestion) -> PromptResult {
    let form = Form::new("What context should the prompt use?").field("context", Field::text());
    let answers = cx.elicit("user_context", form).await?.accepted();
    let context = answers.and_then(|answers| answers.get("context")?.as_str().map(str::to_owned));
    let text = format!("Use this context: {}", context.as_deref().unwrap_or("none"));
    Ok(vec![PromptMessage::user(Content::text(text))])
}
