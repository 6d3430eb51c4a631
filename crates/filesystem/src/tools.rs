//! What the model can call, a file for each tool or kind of tool. A tool is an input struct, an
//! output and a function; the doc comments are all the description there is. What can be long is
//! sent as text, once.

mod read;
mod list;
mod tree;
mod find;
mod grep;
mod write;
mod edit;
mod manage;

use mcp::{Context, ToolError};

use crate::backend::{Backend, Error, Observer};

pub(crate) use edit::edit_file;
pub(crate) use find::search_files;
pub(crate) use grep::search_content;
pub(crate) use list::{get_file_info, list_directory, served};
pub(crate) use manage::{copy_file, create_directory, delete, move_file};
pub(crate) use read::read_text_file;
pub(crate) use tree::directory_tree;
pub(crate) use write::write_file;

/// An answer of this size is read by a model in one go.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Long work reports to the client that asked for it.
impl Observer for Context<Backend> {
    fn progress(&self, done: u64, total: Option<u64>, what: &str) {
        Context::progress(self, done, total, what);
    }

    fn is_cancelled(&self) -> bool {
        Context::is_cancelled(self)
    }
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Read { cause, .. } | Error::Write { cause, .. } => {
                Self::new(text).caused_by(&cause)
            }
            // Nothing is behind these but arguments, which have no place in a log.
            _ => Self::new(text),
        }
    }
}
