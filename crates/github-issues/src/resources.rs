//! What a client can read by URI, and be told about when it changes: issues, their comments, lists
//! of issues, labels and milestones. The texts are those of the tools.
//!
//! `complete` suggests the parts of a URI, `watch` looks whether what somebody has subscribed to has
//! changed.

pub(crate) mod complete;
pub(crate) mod watch;

use mcp::{Context, Error, Resource, ResourceContents, ResourceOptions, ResourceResult, Server};
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{self, Api, Backend, Cursor, Repo, query};
use crate::tools::rows::{self, Rows};
use crate::tools::{label, milestone};

/// What a resource is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Issue,
    Comments,
    Issues,
    Labels,
    Labelled,
    Milestones,
    Planned,
    Assigned,
}

/// URI template, name, what it is, kind.
const TEMPLATES: &[(&str, &str, &str, Kind)] = &[
    ("github://{owner}/{repo}/issues/{number}", "issue", "An issue with its body", Kind::Issue),
    (
        "github://{owner}/{repo}/issues/{number}/comments",
        "comments",
        "The newest comments of an issue",
        Kind::Comments,
    ),
    ("github://{owner}/{repo}/issues", "issues", "Open issues, newest first", Kind::Issues),
    ("github://{owner}/{repo}/labels", "labels", "All labels", Kind::Labels),
    (
        "github://{owner}/{repo}/labels/{label}",
        "labelled",
        "Open issues of a label",
        Kind::Labelled,
    ),
    ("github://{owner}/{repo}/milestones", "milestones", "All milestones", Kind::Milestones),
    (
        "github://{owner}/{repo}/milestones/{milestone}",
        "planned",
        "Open issues of a milestone, by title or number",
        Kind::Planned,
    ),
    (
        "github://{owner}/{repo}/assignees/{assignee}",
        "assigned",
        "Open issues of an assignee",
        Kind::Assigned,
    ),
];

const MIME_TYPE: &str = "text/plain";
/// Issues of a list, and comments of an issue; the tools have the rest.
const MAX_ITEMS: usize = 100;
/// Characters of a body.
const MAX_CHARS: usize = 64 * 1024;

/// The one that needs no GitHub.
const SERVED: &str = "github://served";

pub(crate) fn add(server: Server<Backend>) -> Server<Backend> {
    let options = ResourceOptions::new("served")
        .description("The repositories this server may touch")
        .mime_type(MIME_TYPE);
    let server = server.resource(SERVED, options, served).resource_list(lists);
    TEMPLATES.iter().fold(server, |server, (uri, name, about, kind)| {
        let options = ResourceOptions::new(name).description(about).mime_type(MIME_TYPE);
        let server =
            server.resource_template(uri, options, move |cx, place| serve(cx, *kind, place));
        complete::add(server, uri)
    })
}

/// The variables of the templates; each has some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
struct Place {
    owner: String,
    repo: String,
    number: u64,
    label: String,
    milestone: String,
    assignee: String,
}

async fn served(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    let served = cx.state.policy.served();
    let text = if served.is_empty() { "all the token reaches".to_owned() } else { served };
    Ok(ResourceContents::text(SERVED, MIME_TYPE, text))
}

/// The lists of the repositories this server is for.
async fn lists(cx: Context<Backend>) -> ResourceResult<Vec<Resource>> {
    let mut resources = Vec::new();
    for repo in cx.state.policy.repos() {
        for list in ["issues", "labels", "milestones"] {
            resources.push(Resource {
                uri: format!("github://{repo}/{list}"),
                name: format!("{list} of {repo}"),
                mime_type: Some(MIME_TYPE.to_owned()),
                ..Resource::default()
            });
        }
    }
    Ok(resources)
}

async fn serve(cx: Context<Backend>, kind: Kind, place: Place) -> ResourceResult<ResourceContents> {
    let uri = cx.subject().to_owned();
    let text = text(&cx.state.api(&cx), kind, &place).await;
    let text = text.map_err(|error| explain(error, &uri))?;
    Ok(ResourceContents::text(uri, MIME_TYPE, text))
}

/// What is not there, not served and not allowed look alike, so that nobody can tell which.
fn explain(error: backend::Error, uri: &str) -> Error {
    use backend::Error as Failure;
    match error {
        Failure::BadRepo { .. }
        | Failure::NotServed { .. }
        | Failure::BadName { .. }
        | Failure::NotFound { .. }
        | Failure::Gone { .. }
        | Failure::UnknownName { .. } => Error::resource_not_found(uri),
        Failure::RateLimited { retry_at, .. } => {
            let now = std::time::SystemTime::now();
            Error::RateLimited { retry_after: retry_at.duration_since(now).unwrap_or_default() }
        }
        Failure::Unreadable { .. } => Error::internal(&error),
        // Words for the model, which say what to do; a resource has no other place for them.
        told => Error::invalid_params(told.to_string()),
    }
}

async fn text(api: &Api<'_>, kind: Kind, place: &Place) -> Result<String, backend::Error> {
    let named = format!("{}/{}", place.owner, place.repo);
    let repo = api.backend.policy.repo(Some(&named))?;
    match kind {
        Kind::Issue => issue(api, &repo, place.number).await,
        Kind::Comments => comments(api, &repo, place.number).await,
        Kind::Issues => issues(api, &repo, &[]).await,
        Kind::Labels => Ok(label::list(&api.labels(&repo).await?)),
        Kind::Labelled => {
            let label = api.label_name(&repo, &place.label).await?;
            issues(api, &repo, &[("labels", &label)]).await
        }
        Kind::Milestones => Ok(milestone::list(&api.milestones(&repo, "all").await?)),
        Kind::Planned => {
            let number = api.milestone_number(&repo, &place.milestone).await?.to_string();
            issues(api, &repo, &[("milestone", &number)]).await
        }
        Kind::Assigned => issues(api, &repo, &[("assignee", &place.assignee)]).await,
    }
}

async fn issue(api: &Api<'_>, repo: &Repo, number: u64) -> Result<String, backend::Error> {
    let issue = api.issue(repo, number).await?;
    let me = api.me_if_locked_down().await;
    let mut text = rows::head(api.backend, me.as_deref(), &repo.to_string(), &issue);
    text += &rows::quoted(api.backend, me.as_deref(), &issue.author, &issue.body, MAX_CHARS);
    Ok(text)
}

async fn comments(api: &Api<'_>, repo: &Repo, number: u64) -> Result<String, backend::Error> {
    let issue = api.issue(repo, number).await?;
    let me = api.me_if_locked_down().await;
    let total = usize::try_from(issue.comments).unwrap_or(usize::MAX);
    let mut text = String::new();
    for comment in api.comments(repo, number, total.saturating_sub(MAX_ITEMS)..total).await? {
        text += &rows::comment(api.backend, me.as_deref(), &comment, MAX_CHARS);
    }
    Ok(if text.is_empty() { "no comments".to_owned() } else { text })
}

async fn issues(
    api: &Api<'_>,
    repo: &Repo,
    filter: &[(&str, &str)],
) -> Result<String, backend::Error> {
    let mut pairs = vec![("state", "open"), ("per_page", "100")];
    pairs.extend_from_slice(filter);
    let mut rows = Rows::new(api.backend, MAX_ITEMS, None);
    rows.me = api.me_if_locked_down().await;
    let start = Cursor::start(query(&pairs));
    let listed = api.issues(&repo.path(&["issues"])?, start, |_, item| rows.add("", &item)).await?;
    Ok(rows.finish(&listed))
}

/// The kind and place a URI means: what a template would have made of it.
fn parse(uri: &str) -> Option<(Kind, Place)> {
    let segments: Vec<String> = uri
        .strip_prefix("github://")?
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8().map(Into::into))
        .collect::<Result<_, _>>()
        .ok()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let [owner, repo, rest @ ..] = segments.as_slice() else { return None };
    let mut place =
        Place { owner: (*owner).to_owned(), repo: (*repo).to_owned(), ..Place::default() };
    let kind = match rest {
        ["issues"] => Kind::Issues,
        ["issues", number] => {
            place.number = number.parse().ok()?;
            Kind::Issue
        }
        ["issues", number, "comments"] => {
            place.number = number.parse().ok()?;
            Kind::Comments
        }
        ["labels"] => Kind::Labels,
        ["labels", label] => {
            place.label = (*label).to_owned();
            Kind::Labelled
        }
        ["milestones"] => Kind::Milestones,
        ["milestones", milestone] => {
            place.milestone = (*milestone).to_owned();
            Kind::Planned
        }
        ["assignees", assignee] => {
            place.assignee = (*assignee).to_owned();
            Kind::Assigned
        }
        _ => return None,
    };
    Some((kind, place))
}
