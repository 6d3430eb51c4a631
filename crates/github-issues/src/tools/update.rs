//! Changing an issue's fields. Its body has a tool of its own, which cannot lose any of it.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::backend::model::Issue;
use crate::backend::{Api, Backend, Error, Repo};

/// Change an issue's fields. What is left out stays; [] and null clear; `labels` and `assignees`
/// replace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueUpdate {
    #[serde(default)]
    repo: Option<String>,
    number: u64,
    #[serde(default)]
    #[schemars(length(min = 1))]
    title: Option<String>,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    state_reason: Option<Reason>,
    #[serde(default, deserialize_with = "super::emptied")]
    labels: Option<Vec<String>>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
    #[serde(default, deserialize_with = "super::emptied")]
    assignees: Option<Vec<String>>,
    /// Title or number.
    #[serde(default, deserialize_with = "super::present")]
    #[schemars(extend("nullable" = true))]
    milestone: Option<Option<String>>,
    /// Issue type.
    #[serde(default, rename = "type", deserialize_with = "super::present")]
    #[schemars(extend("nullable" = true))]
    kind: Option<Option<String>>,
    #[serde(default)]
    locked: Option<bool>,
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    lock_reason: Option<LockReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum State {
    Open,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Reason {
    Completed,
    NotPlanned,
    Duplicate,
    Reopened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LockReason {
    OffTopic,
    #[serde(rename = "too heated")]
    TooHeated,
    Resolved,
    Spam,
}

pub(crate) async fn issue_update(cx: Context<Backend>, input: IssueUpdate) -> ToolResult<Reply> {
    check(&input)?;
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    // Also finds out whether it is an issue: to GitHub a pull request is one as well.
    let mut issue = api.issue(&repo, input.number).await?;
    // All names are looked up before anything is changed.
    let added = api.label_names(&repo, &input.add_labels).await?;
    let fields = fields(&api, &repo, &input).await?;
    let mut done = Vec::new();
    let applied = apply(&api, &repo, &input, &fields, &added, &mut done).await;
    let told = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    match applied {
        Ok(changed) => {
            issue = changed.unwrap_or(issue);
            let ignored = not_taken(&fields, &issue);
            Ok(Reply::text(match ignored.is_empty() {
                true => told,
                false => format!("{told}; not taken over by GitHub: {}", ignored.join(", ")),
            }))
        }
        Err(error) if done.is_empty() => Err(error.into()),
        Err(error) => Err(ToolError::new(format!("Done: {told}. The rest is not: {error}"))),
    }
}

/// Step by step, noting in `done` what has been; gives the issue as the PATCH left it.
async fn apply(
    api: &Api<'_>,
    repo: &Repo,
    input: &IssueUpdate,
    fields: &Map<String, Value>,
    added: &[String],
    done: &mut Vec<String>,
) -> Result<Option<Issue>, Error> {
    let mut changed = None;
    if !fields.is_empty() {
        let path = repo.issue(input.number, &[])?;
        let answer = api.patch(&path, &Value::Object(fields.clone())).await?;
        changed = Issue::read(&answer.value);
        done.extend(fields.keys().cloned());
    }
    if !added.is_empty() {
        api.add_labels(repo, input.number, added).await?;
        done.push("add_labels".to_owned());
    }
    for label in &input.remove_labels {
        done.push(match api.remove_label(repo, input.number, label).await? {
            true => format!("remove label {label}"),
            false => format!("label {label} was not there"),
        });
    }
    if let Some(locked) = input.locked {
        let reason = input.lock_reason.map(|reason| json!(reason));
        api.lock(repo, input.number, locked, reason).await?;
        done.push(if locked { "lock" } else { "unlock" }.to_owned());
    }
    Ok(changed)
}

fn check(input: &IssueUpdate) -> Result<(), ToolError> {
    let edits_labels = !input.add_labels.is_empty() || !input.remove_labels.is_empty();
    if input.labels.is_some() && edits_labels {
        return Err(ToolError::new(
            "Give `labels`, or `add_labels` and `remove_labels`, not both.",
        ));
    }
    if input.lock_reason.is_some() && input.locked != Some(true) {
        return Err(ToolError::new("`lock_reason` goes with `locked`: true."));
    }
    check_state(input.state, input.state_reason)
}

pub(crate) fn check_state(state: Option<State>, reason: Option<Reason>) -> Result<(), ToolError> {
    let fits = match (state, reason) {
        (_, None) => true,
        (Some(State::Open), Some(reason)) => reason == Reason::Reopened,
        (Some(State::Closed), Some(reason)) => reason != Reason::Reopened,
        (None, Some(_)) => false,
    };
    if !fits {
        return Err(ToolError::new(
            "`state_reason` goes with a `state`: \"reopened\" with \"open\", the others with \"closed\".",
        ));
    }
    Ok(())
}

/// The members of the PATCH: only what was asked for.
async fn fields(
    api: &Api<'_>,
    repo: &Repo,
    input: &IssueUpdate,
) -> Result<Map<String, Value>, ToolError> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(title) = &input.title {
        set("title", json!(title));
    }
    if let Some(state) = input.state {
        set("state", json!(state));
    }
    if let Some(reason) = input.state_reason {
        set("state_reason", json!(reason));
    }
    if let Some(labels) = &input.labels {
        set("labels", json!(api.label_names(repo, labels).await?));
    }
    if let Some(assignees) = &input.assignees {
        set("assignees", json!(api.assignee_names(repo, assignees).await?));
    }
    if let Some(milestone) = &input.milestone {
        let number = match milestone {
            Some(wanted) => Some(api.milestone_number(repo, wanted).await?),
            None => None,
        };
        set("milestone", json!(number));
    }
    if let Some(kind) = &input.kind {
        set("type", json!(kind));
    }
    Ok(fields)
}

/// GitHub leaves out, without a word, what the token has no right to.
fn not_taken(fields: &Map<String, Value>, issue: &Issue) -> Vec<String> {
    let asked = |name: &str| -> Option<Vec<String>> {
        let list = fields.get(name)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    let mut ignored = Vec::new();
    for (name, kind, there) in
        [("labels", "label", &issue.labels), ("assignees", "assignee", &issue.assignees)]
    {
        if let Some(asked) = asked(name) {
            ignored.extend(super::missing(kind, &asked, there));
            ignored.extend(
                super::missing(kind, there, &asked).into_iter().map(|kept| format!("{kept} stays")),
            );
        }
    }
    if let Some(milestone) = fields.get("milestone")
        && milestone.as_u64() != issue.milestone.as_ref().map(|(number, _)| *number)
    {
        ignored.push("milestone".to_owned());
    }
    let word = |name: &str| fields.get(name).and_then(Value::as_str);
    if let Some(state) = word("state")
        && state != issue.state
    {
        ignored.push(format!("state {state}"));
    } else if let Some(reason) = word("state_reason")
        && issue.state == "closed"
        && issue.state_reason.as_deref() != Some(reason)
    {
        ignored.push(format!("state_reason {reason}"));
    }
    if let Some(kind) = fields.get("type") {
        let there = issue.kind.as_deref().map(str::to_lowercase);
        if kind.as_str().map(str::to_lowercase) != there {
            ignored.push("type".to_owned());
        }
    }
    ignored
}
