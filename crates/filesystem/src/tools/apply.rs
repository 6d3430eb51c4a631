//! Changing several files at once.

use mcp::{Content, Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend;
use super::edit::Edit;
use crate::backend::{self as files, Backend, Change};

/// Edit and write several files, all of them or none. Answers with one unified diff and the new
/// etags.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApplyChanges {
    /// One for each file.
    #[schemars(length(min = 1, max = 100))]
    changes: Vec<FileChange>,
    /// Show the diff and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Give `edits`, or `content`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FileChange {
    /// Path of the file, relative to a served directory, or absolute inside one.
    path: String,
    /// As in edit_file.
    #[serde(default)]
    edits: Option<Vec<Edit>>,
    /// All of the text, as in write_file.
    #[serde(default)]
    content: Option<String>,
    /// Fail if the file exists; with `content`.
    #[serde(default)]
    create_only: bool,
    /// Fail unless the file still has this etag.
    #[serde(default)]
    if_match: Option<String>,
}

impl FileChange {
    fn read(self) -> ToolResult<Change> {
        let Self { path, edits, content, create_only, if_match } = self;
        match (edits, content) {
            (Some(edits), None) if !create_only => Ok(Change::Edit(files::EditFile {
                path,
                edits: edits.into_iter().map(Into::into).collect(),
                dry_run: false,
                if_match,
                encoding: None,
            })),
            (None, Some(text)) => Ok(Change::Write(files::WriteFile {
                path,
                content: files::Content::Text(text),
                create_only,
                if_match,
            })),
            _ => Err(ToolError::new(format!("{path:?} needs `edits` or `content`, one of them."))),
        }
    }
}

pub(crate) async fn apply_changes(cx: Context<Backend>, input: ApplyChanges) -> ToolResult<Reply> {
    let changes: Vec<Change> =
        input.changes.into_iter().map(FileChange::read).collect::<ToolResult<_>>()?;
    let backend = backend(&cx).await?;
    let dry_run = input.dry_run;
    let applied = cx.blocking(move || backend.apply(&changes, dry_run)).await?;
    let note = if dry_run {
        "[nothing was written]".to_owned()
    } else {
        let etags = applied.etags.iter().map(|(path, etag)| format!("[{path} etag {etag}]"));
        etags.collect::<Vec<_>>().join("\n")
    };
    Ok(Reply::text(applied.diff).with(Content::text(note)))
}
