//! Changing many issues alike, in two steps: a plan to look at, then the plan's id to apply it.

use std::time::{Duration, Instant};

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::confirm::confirm;
use super::update::{Reason, State};
use crate::backend::model::Issue;
use crate::backend::{Api, Backend, Change, Cursor, Error, Plan, Repo, Room, query};

const MAX_ISSUES: usize = 100;
/// A call stops by itself before its time is up, and the next one goes on.
const MAX_TIME: Duration = Duration::from_secs(40);

/// Change many issues alike. The first call only returns a plan; call again with `plan` to apply,
/// go on or undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueTriage {
    #[serde(default)]
    repo: Option<String>,
    /// Search terms, or `numbers`.
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    numbers: Vec<u64>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
    #[serde(default)]
    assign: Vec<String>,
    #[serde(default, deserialize_with = "super::present")]
    #[schemars(extend("nullable" = true))]
    milestone: Option<Option<String>>,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    state_reason: Option<Reason>,
    #[serde(default)]
    plan: Option<String>,
    #[serde(default)]
    confirm: Option<String>,
}

pub(crate) async fn issue_triage(cx: Context<Backend>, input: IssueTriage) -> ToolResult<Reply> {
    let api = cx.state.api(&cx);
    match &input.plan {
        None => make(&cx, &api, &input).await,
        Some(id) => {
            let plan = cx.state.plans.get(id).ok_or_else(|| {
                ToolError::new("This plan is not known, or forgotten by now. Make a new one.")
            })?;
            apply(&cx, &api, &plan, input.confirm.as_deref()).await
        }
    }
}

async fn make(cx: &Context<Backend>, api: &Api<'_>, input: &IssueTriage) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let change = change(api, &repo, input).await?;
    let mut text = String::new();
    let mut steps = Vec::new();
    for issue in issues(api, &repo, input).await? {
        let (fields, _) = change.fields(&issue);
        if !fields.is_empty() {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {value}"));
            text.push_str(&format!(
                "#{} {}\n",
                issue.number,
                fields.collect::<Vec<_>>().join(", ")
            ));
            steps.push((issue.number, change.clone()));
        }
    }
    if steps.is_empty() {
        return Ok(Reply::text("no issue would change"));
    }
    let plan = api.plan(repo, steps);
    Ok(Reply::text(format!("{text}{} issues; to apply: plan {}", plan.steps.len(), plan.id)))
}

async fn change(api: &Api<'_>, repo: &Repo, input: &IssueTriage) -> Result<Change, ToolError> {
    super::update::check_state(input.state, input.state_reason)?;
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    Ok(Change {
        add_labels: api.label_names(repo, &input.add_labels).await?,
        remove_labels: input.remove_labels.clone(),
        assign: api.assignee_names(repo, &input.assign).await?,
        unassign: Vec::new(),
        milestone: match &input.milestone {
            Some(Some(wanted)) => Some(Some(api.milestone_number(repo, wanted).await?)),
            Some(None) => Some(None),
            None => None,
        },
        state: input.state.and_then(|state| {
            let reason = input.state_reason.and_then(|reason| word(serde_json::json!(reason)));
            Some((word(serde_json::json!(state))?, reason))
        }),
    })
}

async fn issues(api: &Api<'_>, repo: &Repo, input: &IssueTriage) -> Result<Vec<Issue>, ToolError> {
    let mut found = Vec::new();
    match (&input.query, input.numbers.as_slice()) {
        (Some(terms), []) => {
            let q = format!("{terms} is:issue repo:{repo}");
            let start = Cursor::start(query(&[("q", &q), ("per_page", "100")]));
            let here = |item: &serde_json::Value| super::search::place(item).as_ref() == Some(repo);
            api.issues("/search/issues", start, |item, issue| {
                // Whatever the terms made GitHub think, this is about one repository.
                if here(item) {
                    found.push(issue);
                }
                if found.len() >= MAX_ISSUES { Room::Last } else { Room::Taken }
            })
            .await?;
        }
        (None, numbers) if (1..=MAX_ISSUES).contains(&numbers.len()) => {
            for number in numbers {
                found.push(api.issue(repo, *number).await?);
            }
        }
        _ => return Err(ToolError::new("Give `query`, or 1 to 100 `numbers`, not both.")),
    }
    Ok(found)
}

async fn apply(
    cx: &Context<Backend>,
    api: &Api<'_>,
    plan: &Plan,
    word: Option<&str>,
) -> ToolResult<Reply> {
    let total = plan.steps.len();
    if plan.done() == 0 {
        let numbers: Vec<String> =
            plan.steps.iter().map(|(number, _)| format!("#{number}")).collect();
        let act = format!(
            "Change {total} issues of {} by plan {}: {}?",
            plan.repo,
            plan.id,
            numbers.join(" ")
        );
        confirm(cx, &act, word).await?;
    }
    let _turn = plan.turn.lock().await;
    let started = Instant::now();
    let mut lines = Vec::new();
    let mut stopped: Option<Error> = None;
    while plan.done() < total && started.elapsed() < MAX_TIME {
        match api.next_step(plan).await {
            Ok(line) => lines.push(line),
            Err(error) => {
                stopped = Some(error);
                break;
            }
        }
        cx.progress(
            plan.done() as u64,
            Some(total as u64),
            lines.last().map_or("", String::as_str),
        );
    }
    if let Some(error) = &stopped {
        lines.push(format!("stopped: {error}"));
    }
    let left = total - plan.done();
    if left > 0 {
        lines.push(format!("{left} left; to go on: plan {}", plan.id));
    }
    let undo = plan.undo();
    if !undo.is_empty() {
        let undo = api.plan(plan.repo.clone(), undo);
        lines.push(format!("to undo: plan {}", undo.id));
    }
    Ok(Reply::text(lines.join("\n")))
}
