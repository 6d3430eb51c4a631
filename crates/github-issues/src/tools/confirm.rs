//! Asking a person before what cannot be undone. A client that cannot ask gets a word to repeat:
//! the model then has to tell its user in between.

use mcp::{AskError, Context, Field, Form, ToolError};

use crate::backend::Backend;

/// Returns only if the act may go ahead. `act` is a sentence for the person, and names everything
/// the act depends on: the word of one act is no word for another.
pub(crate) async fn confirm(
    cx: &Context<Backend>,
    act: &str,
    word: Option<&str>,
) -> Result<(), ToolError> {
    if cx.state.policy.yes {
        return Ok(());
    }
    let right = cx.state.mark(act);
    if word == Some(right.as_str()) {
        return Ok(());
    }
    let form = Form::new(act).field("go_ahead", Field::boolean().default(false));
    let answer = match cx.elicit("confirm", form).await {
        Ok(answer) => answer.accepted(),
        Err(AskError::Unsupported(_)) => {
            return Err(ToolError::new(format!(
                "Not done yet. {act} Ask the user; if they agree, call again with `confirm`: \"{right}\"."
            )));
        }
        Err(error) => return Err(error.into()),
    };
    match answer.and_then(|answer| answer.get("go_ahead")?.as_bool()) {
        Some(true) => Ok(()),
        _ => Err(ToolError::new("The user does not want this; nothing was changed.")),
    }
}
