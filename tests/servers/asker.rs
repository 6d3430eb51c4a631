//! A server that only asks: the person, the model, for the roots, and all three in one call. The
//! official clients answer it in every revision they speak; no real server asks for all of these.

use std::process::ExitCode;

use mcp::{
    Context, Elicited, Field, Form, READ_ONLY, Reply, Root, SampleRequest, Server, ToolResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks questions.
#[derive(clap::Parser)]
struct Config {}

fn main() -> ExitCode {
    mcp::main(|_: Config| {
        Ok(Server::new("asker", "1.0.0", ())
            .tool("say", READ_ONLY, say)
            .tool("ask_form", READ_ONLY, ask_form)
            .tool("ask_model", READ_ONLY, ask_model)
            .tool("ask_roots", READ_ONLY, ask_roots)
            .tool("ask_in_turn", READ_ONLY, ask_in_turn))
    })
}

/// Say a text without asking anybody.
#[derive(Deserialize, JsonSchema)]
struct Say {
    /// What to say.
    text: String,
}

async fn say(_: Context<()>, input: Say) -> ToolResult<Reply> {
    Ok(Reply::text(input.text))
}

/// Ask the person to order something.
#[derive(Deserialize, JsonSchema)]
struct AskForm {
    /// What the person reads.
    message: String,
}

/// What was ordered.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Order {
    dish: String,
    portions: u32,
    hot: bool,
}

#[derive(Serialize, JsonSchema)]
struct Ordered {
    action: String,
    order: Option<Order>,
}

async fn ask_form(cx: Context<()>, input: AskForm) -> ToolResult<Ordered> {
    let form = Form::new(input.message)
        .field("dish", Field::choice(["soup", "cake"]))
        .field("portions", Field::integer().minimum(1).maximum(9))
        .field("hot", Field::boolean().default(true));
    let (action, order) = match cx.elicit("order", form).await? {
        Elicited::Accepted(answers) => ("accept", Some(answers.parse()?)),
        Elicited::Declined => ("decline", None),
        Elicited::Cancelled => ("cancel", None),
    };
    Ok(Ordered { action: action.to_owned(), order })
}

/// Ask the client's model.
#[derive(Deserialize, JsonSchema)]
struct AskModel {
    /// What the model is asked.
    question: String,
}

#[derive(Serialize, JsonSchema)]
struct Said {
    text: String,
    model: String,
}

async fn ask_model(cx: Context<()>, input: AskModel) -> ToolResult<Said> {
    let request = SampleRequest::new(100).system_prompt("Be short.").user(input.question);
    let said = cx.sample("question", request).await?;
    Ok(Said { text: said.text(), model: said.model })
}

/// Ask which folders the client works in.
#[derive(Deserialize, JsonSchema)]
struct AskRoots {}

#[derive(Serialize, JsonSchema)]
struct Roots {
    uris: Vec<String>,
}

async fn ask_roots(cx: Context<()>, _: AskRoots) -> ToolResult<Roots> {
    Ok(Roots { uris: uris(cx.roots("roots").await?) })
}

/// Ask the model, then the person, then for the roots.
#[derive(Deserialize, JsonSchema)]
struct AskInTurn {}

#[derive(Serialize, JsonSchema)]
struct Answers {
    said: String,
    agreed: bool,
    uris: Vec<String>,
}

async fn ask_in_turn(cx: Context<()>, _: AskInTurn) -> ToolResult<Answers> {
    let said = cx.sample("suggestion", SampleRequest::new(100).user("Suggest a dish.")).await?;
    let question = format!("Do you want {}?", said.text());
    let answer = cx.elicit("agreed", Form::new(question).field("yes", Field::boolean())).await?;
    let agreed = answer.accepted().is_some_and(|answers| answers.get("yes").is_some());
    let uris = uris(cx.roots("roots").await?);
    Ok(Answers { said: said.text(), agreed, uris })
}

fn uris(roots: Vec<Root>) -> Vec<String> {
    roots.into_iter().map(|root| root.uri).collect()
}
