//! A repository's labels.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::confirm::confirm;
use crate::backend::{Backend, text};

/// List, create, change or delete a repository's labels.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct LabelManage {
    action: Action,
    #[serde(default)]
    repo: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    new_name: Option<String>,
    /// Six hex digits.
    #[serde(default)]
    color: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    confirm: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Action {
    List,
    Create,
    Update,
    Delete,
}

pub(crate) async fn label_manage(cx: Context<Backend>, input: LabelManage) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let api = cx.state.api(&cx);
    let name = || {
        let name = input.name.clone().filter(|name| !name.is_empty());
        name.ok_or_else(|| ToolError::new("`name` is missing for this `action`."))
    };
    let done = match input.action {
        Action::List => list(api.labels(&repo).await?.as_slice()),
        Action::Create => {
            let mut fields = fields(&input)?;
            fields.insert("name".to_owned(), json!(name()?));
            format!("created {}", api.create_label(&repo, fields).await?.name)
        }
        Action::Update => {
            let name = api.label_name(&repo, &name()?).await?;
            let mut fields = fields(&input)?;
            if let Some(new_name) = &input.new_name {
                fields.insert("new_name".to_owned(), json!(new_name));
            }
            format!("changed {}", api.update_label(&repo, &name, fields).await?.name)
        }
        Action::Delete => {
            let name = api.label_name(&repo, &name()?).await?;
            let act = format!("Delete the label {name:?} of {repo}, and take it off every issue?");
            confirm(&cx, &act, input.confirm.as_deref()).await?;
            api.delete_label(&repo, &name).await?;
            format!("deleted {name}")
        }
    };
    Ok(Reply::text(done))
}

fn fields(input: &LabelManage) -> Result<Map<String, Value>, ToolError> {
    let mut fields = Map::new();
    if let Some(color) = &input.color {
        let color = color.trim_start_matches('#');
        if color.len() != 6 || !color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ToolError::new("`color` is six hex digits, for example d73a4a."));
        }
        fields.insert("color".to_owned(), json!(color));
    }
    if let Some(description) = &input.description {
        fields.insert("description".to_owned(), json!(description));
    }
    Ok(fields)
}

pub(crate) fn list(labels: &[crate::backend::model::Label]) -> String {
    if labels.is_empty() {
        return "no labels".to_owned();
    }
    let row = |label: &crate::backend::model::Label| {
        let name = text::line(&label.name, 60);
        let row = format!(
            "{name} #{} {}",
            text::line(&label.color, 6),
            text::line(&label.description, 100)
        );
        row.trim_end().to_owned()
    };
    labels.iter().map(row).collect::<Vec<_>>().join("\n")
}
