//! Changing several files at once.

use mcp::{Content, Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend;
use super::edit::Edit;
use crate::backend::{self as files, Backend, Change};

/// Edit, write, move and delete several files, all or none. Answers with a diff, the new etags and
/// an id to undo it all.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApplyChanges {
    #[serde(default)]
    #[schemars(length(max = 100))]
    changes: Vec<FileChange>,
    /// The id to undo, instead of `changes`.
    #[serde(default)]
    undo: Option<String>,
    /// Only show the diff.
    #[serde(default)]
    dry_run: bool,
}

/// One of `edits`, `content`, `moveTo` and `delete`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct FileChange {
    path: String,
    /// As of edit_file.
    #[serde(default)]
    edits: Option<Vec<Edit>>,
    #[serde(default)]
    content: Option<String>,
    /// New path.
    #[serde(default)]
    move_to: Option<String>,
    #[serde(default)]
    delete: bool,
    /// With `content`.
    #[serde(default)]
    create_only: bool,
    /// Not with `moveTo`.
    #[serde(default)]
    if_match: Option<String>,
}

impl FileChange {
    fn read(self, may_delete: bool) -> ToolResult<Change> {
        let Self { path, edits, content, move_to, delete, create_only, if_match } = self;
        match (edits, content, move_to, delete) {
            (Some(edits), None, None, false) if !create_only => Ok(Change::Edit(files::EditFile {
                path,
                edits: edits.into_iter().map(Into::into).collect(),
                dry_run: false,
                if_match,
                encoding: None,
            })),
            (None, Some(text), None, false) => Ok(Change::Write(files::WriteFile {
                path,
                content: files::Content::Text(text),
                create_only,
                if_match,
            })),
            (None, None, Some(destination), false) if if_match.is_none() && !create_only => {
                Ok(Change::Move(files::TwoPaths { source: path, destination, overwrite: false }))
            }
            (None, None, None, true) if !may_delete => {
                Err(ToolError::new("Deleting is not allowed on this server."))
            }
            (None, None, None, true) if !create_only => Ok(Change::Delete { path, if_match }),
            _ => Err(ToolError::new(format!(
                "{path:?} needs one of `edits`, `content`, `moveTo` and `delete`; `createOnly` goes \
                 with `content`, `ifMatch` with all but `moveTo`."
            ))),
        }
    }
}

pub(crate) async fn apply_changes(cx: Context<Backend>, input: ApplyChanges) -> ToolResult<Reply> {
    let ApplyChanges { changes, undo, dry_run } = input;
    if changes.is_empty() != undo.is_some() {
        return Err(ToolError::new("Give `changes` or `undo`, one of them."));
    }
    let backend = backend(&cx).await?;
    let may_delete = backend.may_delete();
    let changes: Vec<Change> =
        changes.into_iter().map(|change| change.read(may_delete)).collect::<ToolResult<_>>()?;
    let apply = move || match undo {
        Some(id) => backend.undo(&id, dry_run),
        None => backend.apply(&changes, dry_run),
    };
    let applied = cx.blocking(apply).await?;
    Ok(Reply::text(applied.diff.clone()).with(Content::text(note(&applied, dry_run))))
}

fn note(applied: &files::Applied, dry_run: bool) -> String {
    if dry_run {
        return "[nothing was written]".to_owned();
    }
    let mut note = String::new();
    for (path, etag) in &applied.etags {
        note += &format!("[{path} etag {etag}]\n");
    }
    match &applied.undo {
        Some(id) => note += &format!("[undo {id}]"),
        None => note += "[too large to be undone]",
    }
    note
}
