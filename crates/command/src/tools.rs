//! What the model can call. A tool is an input struct, an output struct and a function; the doc
//! comments are all the description there is.

mod execute;
mod jobs;
mod policy;
mod report;

use mcp::{Context, ToolError};

pub(crate) use execute::execute_command;
pub(crate) use jobs::{list_jobs, read_output, signal, wait, write_stdin};
pub(crate) use policy::describe_policy;

use crate::backend::{Backend, Error, Owner};

/// Whose jobs a request may see.
pub(crate) fn owner(cx: &Context<Backend>) -> Owner {
    match (cx.principal(), cx.session()) {
        (Some(principal), _) => Owner::Principal(principal.name.clone()),
        (None, Some(session)) => Owner::Session(session),
        (None, None) => Owner::Bearer,
    }
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let told = Self::new(error.to_string());
        match &error {
            Error::System(cause) => told.caused_by(cause),
            Error::Start { reason, .. } => told.caused_by(reason),
            _ => told,
        }
    }
}
