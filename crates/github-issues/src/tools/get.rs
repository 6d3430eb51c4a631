//! Reading one issue, with comments if wanted.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::rows;
use crate::backend::Backend;

/// Show an issue with its body, and comments if asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueGet {
    #[serde(default)]
    repo: Option<String>,
    number: u64,
    /// How many of the newest.
    #[serde(default)]
    #[schemars(range(max = 100))]
    comments: usize,
    /// Newest to leave out.
    #[serde(default)]
    skip_comments: usize,
    /// Characters of each text.
    #[serde(default = "default_chars")]
    max_chars: usize,
}

fn default_chars() -> usize {
    4000
}

pub(crate) async fn issue_get(cx: Context<Backend>, input: IssueGet) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let issue = api.issue(&repo, input.number).await?;
    let me = api.me_if_locked_down().await;
    let me = me.as_deref();
    let mut out = rows::head(&cx.state, me, &repo.to_string(), &issue);
    out.push_str(&format!("body (hash {}):\n", cx.state.shown.keep(&issue.body)));
    out.push_str(&rows::quoted(&cx.state, me, &issue.author, &issue.body, input.max_chars));
    if input.comments > 0 {
        let total = usize::try_from(issue.comments).unwrap_or(usize::MAX);
        let end = total.saturating_sub(input.skip_comments);
        let start = end.saturating_sub(input.comments);
        for comment in api.comments(&repo, input.number, start..end).await? {
            out.push_str(&rows::comment(&cx.state, me, &comment, input.max_chars));
        }
        if start > 0 {
            out.push_str(&format!("[{start} older comments: skip_comments {}]\n", total - start));
        }
    }
    Ok(Reply::text(out))
}
