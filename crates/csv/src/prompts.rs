//! What a person can pick from a menu to begin a conversation.

use mcp::{Content, Context, PromptMessage, PromptResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

/// Get to know a CSV file: what it holds, whether it can be trusted, and what is worth asking.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExploreCsv {
    /// Path of the file, relative to a served directory.
    filepath: String,
    /// What you want to find out.
    #[serde(default)]
    question: Option<String>,
}

pub(crate) async fn explore_csv(_: Context<Backend>, input: ExploreCsv) -> PromptResult {
    let path = serde_json::Value::from(input.filepath);
    let mut text = format!(
        "Explore the CSV file {path}.\n\
         1. Call `describe_csv`. Say what each column holds, and read `oddities` and `assumptions` \
         aloud where they could change a number.\n\
         2. Where something is ambiguous (a date order, a decimal mark, a word that may mean no \
         value), ask me before you compute with it, and pass my answer in `read`.\n\
         3. Use `analyze_csv`, `group_csv` and `frequency_csv` for numbers, and `query_rows` to show \
         the rows behind a surprising one. Do no arithmetic yourself, and say of each number \
         whether it is exact.\n"
    );
    match input.question {
        Some(question) => text.push_str(&format!("Then answer: {question}")),
        None => text.push_str("Then name three questions this file can answer, and answer one."),
    }
    Ok(vec![PromptMessage::user(Content::text(text))])
}
