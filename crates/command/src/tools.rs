//! What the model can call. A tool is an input struct, an output struct and a function; the doc
//! comments are all the description there is.

mod execute;
mod jobs;
mod policy;
mod report;

use mcp::ToolError;

pub(crate) use execute::execute_command;
pub(crate) use jobs::{list_jobs, read_output, signal, wait, write_stdin};
pub(crate) use policy::describe_policy;

use crate::backend::Error;

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
