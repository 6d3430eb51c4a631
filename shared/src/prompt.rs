//! Prompts: templates a person picks, filled in by the server.

use serde::Serialize;

use crate::content::{Content, Role};
use crate::error::Error;

/// What a prompt handler returns.
pub type PromptResult = Result<Vec<PromptMessage>, Error>;

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// A message from the person.
    pub fn user(content: Content) -> Self {
        Self { role: Role::User, content }
    }

    /// A message from the model.
    pub fn assistant(content: Content) -> Self {
        Self { role: Role::Assistant, content }
    }
}
