//! Searching issues, within what the server may touch.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::default_limit;
use super::rows::{Column, Rows};
use crate::backend::{Backend, Cursor, Listed, Policy, Repo, Room, model, query};

/// What GitHub shows of any search.
const MAX_RESULTS: u64 = 1000;

/// Search issues with GitHub's syntax: `crash label:bug,ui` (a comma in `label:` means either).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueSearch {
    query: String,
    #[serde(default)]
    repo: Option<String>,
    #[serde(default)]
    sort: Option<Sort>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    #[serde(default)]
    cursor: Option<String>,
    // Their names are in the schema of issue_list, and once is enough.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    fields: Option<Vec<Column>>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Sort {
    Created,
    Updated,
    Comments,
    Reactions,
}

pub(crate) async fn issue_search(cx: Context<Backend>, input: IssueSearch) -> ToolResult<Reply> {
    let policy = &cx.state.policy;
    let named = input.repo.as_deref().map(|named| policy.repo(Some(named))).transpose()?;
    let api = cx.state.api(&cx);
    let start = match &input.cursor {
        Some(cursor) => Cursor::parse(cursor)?,
        None => Cursor::start(first_query(&input, policy, named.as_ref())?),
    };
    let mut rows = Rows::new(&cx.state, input.limit, input.fields.clone());
    rows.me = api.me_if_locked_down().await;
    let mut outside = 0;
    let mut last_created = String::new();
    let listed = api
        .issues("/search/issues", start, |item, issue| {
            let Some(place) = place(item) else { return Room::Taken };
            // Whatever the query made GitHub think, only what is served is shown.
            if !policy.serves(&place) {
                outside += 1;
                return Room::Taken;
            }
            let place = if named.is_some() { String::new() } else { place.to_string() };
            last_created.clone_from(&issue.created_at);
            rows.add(&place, &issue)
        })
        .await?;
    let mut text = rows.finish(&listed);
    if outside > 0 {
        text.push_str(&format!("[{outside} results outside of what this server serves]\n"));
    }
    text.push_str(&limit_note(&listed, &last_created));
    Ok(Reply::text(text))
}

fn first_query(
    input: &IssueSearch,
    policy: &Policy,
    named: Option<&Repo>,
) -> Result<String, ToolError> {
    let mut terms = input.query.trim().to_owned();
    let words = || input.query.split_whitespace();
    if !words().any(names_kind) {
        terms.push_str(" is:issue");
    }
    // Several of these widen a search, so with ours there must be no other.
    let scope = |word: &str| {
        ["repo:", "org:", "user:", "owner:"]
            .iter()
            .any(|name| word.trim_start_matches('(').starts_with(name))
    };
    let scopes = named.map_or_else(|| policy.search_scope(), |repo| vec![format!("repo:{repo}")]);
    if !scopes.is_empty() {
        if words().any(scope) {
            return Err(ToolError::new(
                "Leave repo:, org:, user: and owner: out of the query; use `repo` instead.",
            ));
        }
        terms.push(' ');
        terms.push_str(&scopes.join(" "));
    }
    let per_page = input.limit.to_string();
    let mut pairs = vec![("q", terms.as_str()), ("per_page", per_page.as_str())];
    if let Some(sort) = input.sort {
        let sort = match sort {
            Sort::Created => "created",
            Sort::Updated => "updated",
            Sort::Comments => "comments",
            Sort::Reactions => "reactions",
        };
        pairs.push(("sort", sort));
    }
    Ok(query(&pairs))
}

/// GitHub refuses a search that says neither; `is:open` and `type:Bug` say neither.
fn names_kind(word: &str) -> bool {
    let word = word.trim_matches(['(', ')']).to_lowercase();
    ["is:issue", "is:pr", "is:pull-request", "type:issue", "type:pr"].contains(&word.as_str())
}

/// `https://api.github.com/repos/octocat/hello` → `octocat/hello`.
pub(crate) fn place(item: &serde_json::Value) -> Option<Repo> {
    let url = model::text(item, "repository_url")?;
    let (rest, name) = url.rsplit_once('/')?;
    Repo::parse(&format!("{}/{name}", rest.rsplit('/').next()?)).ok()
}

fn limit_note(listed: &Listed, last_created: &str) -> String {
    match listed.total {
        Some(total) if total > MAX_RESULTS => format!(
            "[{total} in all, of which GitHub shows {MAX_RESULTS}; for the rest sort by created and \
             add created:<={}]\n",
            super::rows::day(last_created)
        ),
        Some(total) => format!("[{total} in all]\n"),
        None => String::new(),
    }
}
