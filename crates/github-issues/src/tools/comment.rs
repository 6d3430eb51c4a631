//! Comments: listing, adding, rewording, deleting. A server that only reads has `issue_get` for them.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confirm::confirm;
use super::rows;
use crate::backend::{Api, Backend, Error, Repo, text};

/// The newest of an issue that one answer looks at, and how long it may be.
const MAX_LISTED: usize = 30;
const MAX_LISTED_BYTES: usize = 16 * 1024;
const MAX_CHARS: usize = 4_000;

/// Add, edit, list, delete or pin. The same text within ten minutes is added once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueComment {
    action: Action,
    #[serde(default)]
    repo: Option<String>,
    /// To add or list.
    #[serde(default)]
    number: Option<u64>,
    /// For the others.
    #[serde(default)]
    comment_id: Option<u64>,
    /// Markdown.
    #[serde(default)]
    #[schemars(length(min = 1))]
    body: Option<String>,
    #[serde(default)]
    allow_duplicate: bool,
    #[serde(default)]
    confirm: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Action {
    Add,
    Edit,
    List,
    Delete,
    Pin,
    Unpin,
}

pub(crate) async fn issue_comment(cx: Context<Backend>, input: IssueComment) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let needs = |name: &str| ToolError::new(format!("`{name}` is missing for this `action`."));
    let id = input.comment_id.ok_or_else(|| needs("comment_id"));
    let body = input.body.as_deref().ok_or_else(|| needs("body"));
    match input.action {
        Action::Add => {
            let number = input.number.ok_or_else(|| needs("number"))?;
            let created = api.create_comment(&repo, number, body?, input.allow_duplicate).await?;
            let done = if created.found { "was there already" } else { "added" };
            Ok(Reply::text(format!("comment {} {done} {}", created.item.id, created.item.url)))
        }
        Action::Edit => {
            let comment = api.edit_comment(&repo, id?, body?).await?;
            Ok(Reply::text(format!("comment {} edited", comment.id)))
        }
        Action::List => {
            let number = input.number.ok_or_else(|| needs("number"))?;
            Ok(Reply::text(list(&api, &repo, number).await?))
        }
        Action::Delete => {
            let id = id?;
            let comment = api.comment(&repo, id).await?;
            // A client that cannot ask shows the question to its model.
            let me = api.me_if_locked_down().await;
            let shown = match rows::is_withheld(&cx.state, me.as_deref(), &comment.author) {
                true => "withheld".to_owned(),
                false => text::line(&comment.body, 80),
            };
            let author = text::line(&comment.author.login, 40);
            let act = format!(
                "Delete comment {id} by @{author} in {repo}, {shown:?}? It cannot be undone."
            );
            confirm(&cx, &act, input.confirm.as_deref()).await?;
            api.delete_comment(&repo, id).await?;
            Ok(Reply::text(format!("comment {id} deleted")))
        }
        Action::Pin | Action::Unpin => {
            let pinned = matches!(input.action, Action::Pin);
            let id = id?;
            api.pin_comment(&repo, id, pinned).await?;
            Ok(Reply::text(format!("comment {id} {}", if pinned { "pinned" } else { "unpinned" })))
        }
    }
}

/// The newest comments in order, as many as fit.
async fn list(api: &Api<'_>, repo: &Repo, number: u64) -> Result<String, Error> {
    let total = api.issue(repo, number).await?.comments;
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let me = api.me_if_locked_down().await;
    let comments = api.comments(repo, number, total.saturating_sub(MAX_LISTED)..total).await?;
    let mut shown: Vec<String> = Vec::new();
    let mut bytes = 0;
    for comment in comments.iter().rev() {
        let text = rows::comment(api.backend, me.as_deref(), comment, MAX_CHARS);
        bytes += text.len();
        if bytes > MAX_LISTED_BYTES && !shown.is_empty() {
            break;
        }
        shown.push(text);
    }
    shown.reverse();
    let count = shown.len();
    Ok(match total - count.min(total) {
        _ if shown.is_empty() => "no comments".to_owned(),
        0 => shown.concat(),
        older => format!(
            "[{older} older comments: issue_get, skip_comments {count}]\n{}",
            shown.concat()
        ),
    })
}
