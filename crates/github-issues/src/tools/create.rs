//! Creating an issue, once.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Written;
use crate::backend::{Backend, NewIssue};

/// Create an issue; the same call within ten minutes finds it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct CreateIssue {
    /// `owner/name`, if the server has several.
    #[serde(default)]
    repo: Option<String>,
    #[schemars(length(min = 1))]
    title: String,
    /// Markdown.
    #[serde(default)]
    body: String,
    #[serde(default)]
    labels: Vec<String>,
    /// Logins.
    #[serde(default)]
    assignees: Vec<String>,
    /// Title or number.
    #[serde(default)]
    milestone: Option<String>,
    #[serde(default)]
    allow_duplicate: bool,
}

pub(crate) async fn github_create_issue(
    cx: Context<Backend>,
    input: CreateIssue,
) -> ToolResult<Written> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let milestone = match &input.milestone {
        Some(wanted) => Some(api.milestone_number(&repo, wanted).await?),
        None => None,
    };
    let new = NewIssue {
        title: input.title,
        body: input.body,
        labels: api.label_names(&repo, &input.labels).await?,
        assignees: api.assignee_names(&repo, &input.assignees).await?,
        milestone,
    };
    let created = api.create_issue(&repo, &new, input.allow_duplicate).await?;
    let issue = created.item;
    let mut ignored = super::missing("label", &new.labels, &issue.labels);
    ignored.extend(super::missing("assignee", &new.assignees, &issue.assignees));
    if milestone.is_some() && issue.milestone.is_none() {
        ignored.push("milestone".to_owned());
    }
    let done = if created.found { "was there already" } else { "created" };
    Ok(Written { done: done.to_owned(), number: Some(issue.number), url: issue.url, ignored })
}
