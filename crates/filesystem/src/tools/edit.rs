//! Editing text.

use mcp::{Content, Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend;
use crate::backend::{self as files, Backend};

/// Replace pieces of a text file, each found exactly once; every other byte stays. Line ends and
/// indentation may differ: the file's are kept. Answers with a diff and the new etag.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EditFile {
    path: String,
    /// All or none.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Only show the diff.
    #[serde(default)]
    dry_run: bool,
    /// Fail unless this is still its etag.
    #[serde(default)]
    if_match: Option<String>,
    /// As in read_text_file.
    #[serde(default)]
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Edit {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl From<Edit> for files::Edit {
    fn from(edit: Edit) -> Self {
        Self { old: edit.old_text, new: edit.new_text, replace_all: edit.replace_all }
    }
}

pub(crate) async fn edit_file(cx: Context<Backend>, input: EditFile) -> ToolResult<Reply> {
    let done = if input.dry_run { "nothing was written; " } else { "" };
    let request = files::EditFile {
        path: input.path,
        edits: input.edits.into_iter().map(Into::into).collect(),
        dry_run: input.dry_run,
        if_match: input.if_match,
        encoding: input.encoding,
    };
    let backend = backend(&cx).await?;
    let edited = cx.blocking(move || backend.edit(&request)).await?;
    Ok(Reply::text(edited.diff).with(Content::text(format!("[{done}etag {}]", edited.etag))))
}
