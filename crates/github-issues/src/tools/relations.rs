//! How an issue hangs together with others.

use std::fmt::Write;

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::Rows;
use crate::backend::{Api, Backend, Error, Repo};

/// Show or change an issue's parent, sub-issues and blockers, or find its duplicates.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueRelations {
    action: Action,
    #[serde(default)]
    repo: Option<String>,
    number: u64,
    /// Number of the sub-issue or blocker.
    #[serde(default)]
    other: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    List,
    AddSubIssue,
    RemoveSubIssue,
    AddBlocker,
    RemoveBlocker,
    FindDuplicates,
}

pub(crate) async fn issue_relations(
    cx: Context<Backend>,
    input: IssueRelations,
) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let number = input.number;
    let text = match input.action {
        Action::List => list(&cx, &api, &repo, number).await?,
        Action::FindDuplicates => duplicates(&cx, &api, &repo, number).await?,
        change => {
            let other = input.other.ok_or_else(|| ToolError::new("`other` is missing."))?;
            let id = api.issue_id(&repo, other).await?;
            let said = match change {
                Action::AddSubIssue => {
                    api.add_sub_issue(&repo, number, id).await?;
                    format!("#{other} is a sub-issue of #{number}")
                }
                Action::RemoveSubIssue => {
                    api.remove_sub_issue(&repo, number, id).await?;
                    format!("#{other} is no sub-issue of #{number} any more")
                }
                Action::AddBlocker => {
                    api.add_blocker(&repo, number, id).await?;
                    format!("#{number} is blocked by #{other}")
                }
                _ => {
                    api.remove_blocker(&repo, number, id).await?;
                    format!("#{number} is not blocked by #{other} any more")
                }
            };
            return Ok(Reply::text(said));
        }
    };
    Ok(Reply::text(text))
}

async fn list(
    cx: &Context<Backend>,
    api: &Api<'_>,
    repo: &Repo,
    number: u64,
) -> Result<String, ToolError> {
    let me = api.me_if_locked_down().await;
    // A 404 below is then no missing issue.
    api.issue(repo, number).await?;
    let mut text = String::new();
    for (name, found) in api.relations(repo, number).await? {
        match found {
            Ok(issues) if issues.is_empty() => {}
            Ok(issues) => {
                let mut rows = Rows::new(&cx.state, 100, None);
                rows.me.clone_from(&me);
                for issue in &issues {
                    rows.add("", issue);
                }
                let _ = write!(text, "{name}:\n{}", rows.text);
            }
            // No parent is a 404, and so is a server that knows no parents.
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if text.is_empty() { "no relations, or this GitHub has none".to_owned() } else { text })
}

async fn duplicates(
    cx: &Context<Backend>,
    api: &Api<'_>,
    repo: &Repo,
    number: u64,
) -> Result<String, ToolError> {
    let me = api.me_if_locked_down().await;
    let mut text = String::new();
    for alike in api.alike(repo, number).await? {
        let mut rows = Rows::new(&cx.state, 1, None);
        rows.me.clone_from(&me);
        rows.add("", &alike.issue);
        // Words of a text that is withheld would tell of it.
        let words = if cx.state.policy.lockdown { String::new() } else { alike.words.join(", ") };
        let percent = (alike.likeness * 100.0).round();
        let _ = writeln!(text, "{percent}% {}    shared: {words}", rows.text);
    }
    Ok(if text.is_empty() { "nothing much alike".to_owned() } else { text })
}
