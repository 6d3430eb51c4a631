//! Suggestions for the variables of the templates and the arguments of the prompts. A guess that
//! cannot be made is no suggestion and no error: somebody is typing.

use mcp::{Completing, Context, Error, Server};

use crate::backend::{Api, Backend, Repo};

type Suggestions = Result<Vec<String>, Error>;

/// What a client shows at most.
const MAX: usize = 100;

/// Suggests every variable the template has.
pub(super) fn add(server: Server<Backend>, template: &str) -> Server<Backend> {
    ["owner", "repo", "number", "label", "milestone", "assignee"]
        .into_iter()
        .filter(|name| template.contains(&format!("{{{name}}}")))
        .fold(server, |server, name| {
            server.complete_template(template, name, move |cx, typed| suggest(cx, name, typed))
        })
}

/// Suggestions for what is called `name`. In a template the repository is two variables, in a prompt
/// one argument.
pub(crate) async fn suggest(
    cx: Context<Backend>,
    name: &'static str,
    typed: Completing,
) -> Suggestions {
    let api = cx.state.api(&cx).impatient();
    let chosen = |name: &str| typed.arguments.get(name).map(String::as_str);
    let named = match (chosen("owner"), chosen("repo")) {
        (Some(owner), Some(repo)) => Some(format!("{owner}/{repo}")),
        (None, Some(repo)) => Some(repo.to_owned()),
        _ => None,
    };
    let candidates = match name {
        "owner" => owners(&api).await,
        "repo" => repos(&api, chosen("owner")).await,
        "full_repo" => full_repos(&api).await,
        _ => match cx.state.policy.repo(named.as_deref()) {
            Ok(repo) => of_repo(&api, &repo, name, &typed.value).await,
            Err(_) => Vec::new(),
        },
    };
    let begins = |candidate: &String| {
        name == "number" || candidate.to_lowercase().starts_with(&typed.value.to_lowercase())
    };
    Ok(candidates.into_iter().filter(begins).take(MAX).collect())
}

async fn owners(api: &Api<'_>) -> Vec<String> {
    let mut owners = api.backend.policy.owners();
    if owners.is_empty() {
        owners.extend(api.me().await);
    }
    owners
}

/// Names of the owner's repositories.
async fn repos(api: &Api<'_>, owner: Option<&str>) -> Vec<String> {
    let of_owner = |repo: &Repo| owner.is_none_or(|owner| owner.eq_ignore_ascii_case(&repo.owner));
    let mut names: Vec<String> = api
        .backend
        .policy
        .repos()
        .filter(|repo| of_owner(repo))
        .map(|repo| repo.name.clone())
        .collect();
    if let Some(owner) = owner {
        let found = api.repos_of(owner).await.unwrap_or_default();
        names.extend(
            found.into_iter().filter(|repo| api.backend.policy.serves(repo)).map(|repo| repo.name),
        );
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// `owner/name` of the repositories served, or else of the token's owner.
async fn full_repos(api: &Api<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for owner in owners(api).await {
        names.extend(
            repos(api, Some(&owner)).await.into_iter().map(|name| format!("{owner}/{name}")),
        );
    }
    names
}

async fn of_repo(api: &Api<'_>, repo: &Repo, name: &str, typed: &str) -> Vec<String> {
    match name {
        "label" => {
            let labels = api.labels(repo).await.unwrap_or_default();
            labels.into_iter().map(|label| label.name).collect()
        }
        "milestone" => {
            let milestones = api.milestones(repo, "all").await.unwrap_or_default();
            milestones.into_iter().map(|milestone| milestone.title).collect()
        }
        "assignee" => api.assignees(repo).await.unwrap_or_default(),
        "number" => numbers(api, repo, typed).await,
        _ => Vec::new(),
    }
}

/// Open issues by the beginning of their number, or by words of their title.
async fn numbers(api: &Api<'_>, repo: &Repo, typed: &str) -> Vec<String> {
    let typed = typed.trim_start_matches('#').to_lowercase();
    let fits = |number: u64, title: &str| {
        number.to_string().starts_with(&typed) || title.to_lowercase().contains(&typed)
    };
    let issues = api.newest_open(repo).await.unwrap_or_default();
    issues
        .iter()
        .filter(|issue| fits(issue.number, &issue.title))
        .map(|issue| issue.number.to_string())
        .collect()
}
