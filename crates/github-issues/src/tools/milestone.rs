//! A repository's milestones.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::confirm::confirm;
use super::label::Action;
use super::rows::day;
use super::update::State;
use crate::backend::model::Milestone;
use crate::backend::{Backend, text};

/// List, create, change or delete a repository's milestones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct MilestoneManage {
    action: Action,
    #[serde(default)]
    repo: Option<String>,
    /// Title or number.
    #[serde(default)]
    milestone: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// `2026-01-31`.
    #[serde(default)]
    due_on: Option<String>,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    confirm: Option<String>,
}

pub(crate) async fn milestone_manage(
    cx: Context<Backend>,
    input: MilestoneManage,
) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let missing = |name: &str| ToolError::new(format!("`{name}` is missing for this `action`."));
    let which = input.milestone.as_deref().ok_or_else(|| missing("milestone"));
    let fields = fields(&input)?;
    let done = match input.action {
        Action::List => list(&api.milestones(&repo, "all").await?),
        Action::Create => {
            if !fields.contains_key("title") {
                return Err(missing("title"));
            }
            let made = api.create_milestone(&repo, fields).await?;
            format!("created #{} {}", made.number, text::line(&made.title, 100))
        }
        Action::Update => {
            let number = api.milestone_number(&repo, which?).await?;
            let made = api.update_milestone(&repo, number, fields).await?;
            format!("changed #{} {}", made.number, text::line(&made.title, 100))
        }
        Action::Delete => {
            let number = api.milestone_number(&repo, which?).await?;
            let act = format!("Delete milestone #{number} of {repo}? Its issues stay, without it.");
            confirm(&cx, &act, input.confirm.as_deref()).await?;
            api.delete_milestone(&repo, number).await?;
            format!("deleted #{number}")
        }
    };
    Ok(Reply::text(done))
}

fn fields(input: &MilestoneManage) -> Result<Map<String, Value>, ToolError> {
    let mut fields = Map::new();
    if let Some(title) = &input.title {
        fields.insert("title".to_owned(), json!(title));
    }
    if let Some(description) = &input.description {
        fields.insert("description".to_owned(), json!(description));
    }
    if let Some(state) = input.state {
        fields.insert("state".to_owned(), json!(state));
    }
    if let Some(due_on) = &input.due_on {
        fields.insert("due_on".to_owned(), due(due_on)?.into());
    }
    Ok(fields)
}

/// GitHub wants a time and keeps the day of Los Angeles: midnight UTC would be the day before.
fn due(text: &str) -> Result<String, ToolError> {
    let day = text.get(..10).unwrap_or(text);
    let noon = format!("{day}T12:00:00Z");
    match humantime::parse_rfc3339(&noon) {
        Ok(_) => Ok(noon),
        Err(_) => Err(ToolError::new("`due_on` is a day, for example 2026-01-31.")),
    }
}

pub(crate) fn list(milestones: &[Milestone]) -> String {
    if milestones.is_empty() {
        return "no milestones".to_owned();
    }
    let row = |milestone: &Milestone| {
        let due = milestone.due_on.as_deref().map(|due| format!(" due {}", day(due)));
        let row = format!(
            "#{} {} \"{}\"{} {} open, {} closed {}",
            milestone.number,
            text::line(&milestone.state, 20),
            text::line(&milestone.title, 100),
            due.unwrap_or_default(),
            milestone.open_issues,
            milestone.closed_issues,
            text::line(&milestone.description, 100)
        );
        row.trim_end().to_owned()
    };
    milestones.iter().map(row).collect::<Vec<_>>().join("\n")
}
