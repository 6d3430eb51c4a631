//! Listing a repository's issues.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Column, Rows};
use crate::backend::{Backend, Cursor, query};

/// List a repository's issues, a line each; pull requests are left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueList {
    #[serde(default)]
    repo: Option<String>,
    #[serde(default)]
    state: State,
    /// All of these.
    #[serde(default)]
    labels: Vec<String>,
    /// Login, `none` or `*`.
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    creator: Option<String>,
    /// Title, number, `none` or `*`.
    #[serde(default)]
    milestone: Option<String>,
    /// ISO time.
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    sort: Sort,
    #[serde(default)]
    ascending: bool,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    fields: Option<Vec<Column>>,
    /// Characters of body.
    #[serde(default)]
    #[schemars(range(max = 1000))]
    excerpt: usize,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum State {
    #[default]
    Open,
    Closed,
    All,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Sort {
    #[default]
    Created,
    Updated,
    Comments,
}

pub(crate) fn default_limit() -> usize {
    30
}

pub(crate) async fn issue_list(cx: Context<Backend>, input: IssueList) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let start = match &input.cursor {
        Some(cursor) => Cursor::parse(cursor)?,
        None => {
            let milestone = match input.milestone.as_deref() {
                Some(wanted @ ("none" | "*")) => Some(wanted.to_owned()),
                Some(wanted) => Some(api.milestone_number(&repo, wanted).await?.to_string()),
                None => None,
            };
            let labels = api.label_names(&repo, &input.labels).await?;
            Cursor::start(first_query(&input, &labels.join(","), milestone.as_deref()))
        }
    };
    let mut rows = Rows::new(&cx.state, input.limit, input.fields);
    rows.excerpt_chars = input.excerpt;
    rows.me = api.me_if_locked_down().await;
    let path = repo.path(&["issues"])?;
    let listed = api.issues(&path, start, |_, issue| rows.add("", &issue)).await?;
    Ok(Reply::text(rows.finish(&listed)))
}

fn first_query(input: &IssueList, labels: &str, milestone: Option<&str>) -> String {
    let per_page = input.limit.to_string();
    let state = match input.state {
        State::Open => "open",
        State::Closed => "closed",
        State::All => "all",
    };
    let sort = match input.sort {
        Sort::Created => "created",
        Sort::Updated => "updated",
        Sort::Comments => "comments",
    };
    let direction = if input.ascending { "asc" } else { "desc" };
    let mut pairs =
        vec![("state", state), ("sort", sort), ("direction", direction), ("per_page", &per_page)];
    if !labels.is_empty() {
        pairs.push(("labels", labels));
    }
    let optional = [
        ("assignee", input.assignee.as_deref()),
        ("creator", input.creator.as_deref()),
        ("milestone", milestone),
        ("since", input.since.as_deref()),
    ];
    pairs.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    query(&pairs)
}
