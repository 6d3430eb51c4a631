//! What the model can call, a file for each tool or kind of tool. A tool is an input struct, an
//! output and a function; the doc comments are all the description there is. What can be long is
//! sent as text, once.

mod read;
mod media;
mod list;
mod tree;
mod find;
mod grep;
mod write;
mod edit;
mod apply;
mod manage;

use std::path::PathBuf;
use std::sync::Arc;

use mcp::{ADDITIVE, AskError, Context, DESTRUCTIVE, Server, ToolError};

use crate::backend::{Access, Backend, Error, Observer, Wall, build_wall};

use apply::apply_changes;
use edit::edit_file;
pub(crate) use find::search_files;
pub(crate) use grep::search_content;
pub(crate) use list::{get_file_info, list_directory, list_with_sizes, served};
use manage::{copy_file, create_directory, delete, move_file};
pub(crate) use media::read_media_file;
pub(crate) use read::{read_file, read_multiple_files, read_text_file};
pub(crate) use tree::directory_tree;
use write::write_file;

/// An answer of this size is read by a model in one go.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Adds the tools that change something.
pub(crate) fn that_write(server: Server<Backend>, may_delete: bool) -> Server<Backend> {
    let make = ADDITIVE.idempotent();
    let server = server
        .tool("write_file", DESTRUCTIVE.idempotent(), write_file)
        .tool("edit_file", DESTRUCTIVE, edit_file)
        .tool("create_directory", make, create_directory)
        .tool("apply_changes", DESTRUCTIVE, apply_changes)
        .tool("move_file", DESTRUCTIVE, move_file)
        .tool("copy_file", DESTRUCTIVE, copy_file);
    if !may_delete {
        return server;
    }
    server.tool("delete", DESTRUCTIVE, delete)
}

/// What this client may use: all that is served, or with `--client-roots` what is also among the
/// directories it says it works in.
pub(crate) async fn backend(cx: &Context<Backend>) -> Result<Arc<Backend>, AskError> {
    let all = Arc::clone(&cx.state);
    if !all.asks_clients() {
        return Ok(all);
    }
    match cx.roots("roots").await {
        Ok(roots) => {
            let narrow = move || all.narrowed(roots.iter().map(|root| root.uri.as_str()));
            Ok(Arc::new(cx.blocking(narrow).await))
        }
        // It has no such directories to name.
        Err(AskError::Unsupported(_)) => Ok(all),
        Err(error) => Err(error),
    }
}

/// Puts the second wall up, and tells the operator how much of it this kernel has.
pub(crate) fn raise_wall(served: &[(PathBuf, Access)]) -> anyhow::Result<()> {
    match build_wall(served)? {
        Wall::Whole => tracing::info!("landlock keeps all but the served directories out of reach"),
        Wall::Part => tracing::info!("this kernel has an older landlock, which keeps less out"),
        Wall::Missing => tracing::info!("this kernel has no landlock; openat2 stands alone"),
    }
    Ok(())
}

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
