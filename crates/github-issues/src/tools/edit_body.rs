//! Changing a body by its parts, against what GitHub holds now and never against what was shown.

use mcp::{Context, Reply, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows;
use crate::backend::edit::Edit;
use crate::backend::{Backend, Edited};

/// Edit an issue's body; every byte not asked about stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal)]
pub(crate) struct IssueEditBody {
    #[serde(default)]
    repo: Option<String>,
    number: u64,
    #[schemars(length(min = 1))]
    edits: Vec<OneEdit>,
    /// Hash from issue_get.
    #[serde(default)]
    expect: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = super::frugal, inline)]
pub(crate) struct OneEdit {
    op: Op,
    /// Text to replace, checklist item, or heading.
    #[serde(default)]
    find: Option<String>,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Op {
    Replace,
    Append,
    Check,
    Uncheck,
    Section,
    Set,
}

pub(crate) async fn issue_edit_body(
    cx: Context<Backend>,
    input: IssueEditBody,
) -> ToolResult<Reply> {
    let repo = cx.state.policy.repo(input.repo.as_deref())?;
    let is_set = input.edits.iter().any(|edit| matches!(edit.op, Op::Set));
    if input.edits.is_empty() {
        return Err(ToolError::new("`edits` is empty."));
    }
    if is_set && input.expect.is_none() {
        return Err(ToolError::new("\"set\" replaces all of it and needs `expect`."));
    }
    let edits = input.edits.into_iter().map(OneEdit::read).collect::<Result<Vec<_>, _>>()?;
    let api = cx.state.api(&cx);
    let edited = api.edit_body(&repo, input.number, &edits, input.expect.as_deref()).await?;
    let text = match edited {
        Edited::Same { hash } => format!("nothing to change (hash {hash})"),
        Edited::Changed { hash } => format!("changed (hash {hash})"),
        Edited::Conflict { issue, diff } => {
            let shown = match diff {
                Some(diff) => {
                    let me = api.me().await;
                    rows::quoted(&cx.state, me.as_deref(), &issue.author, &diff, 4000)
                }
                None => "Read it with issue_get.".to_owned(),
            };
            return Err(ToolError::new(format!(
                "The body has changed meanwhile and nothing was written.\n{shown}"
            )));
        }
    };
    Ok(Reply::text(text))
}

impl OneEdit {
    fn read(self) -> Result<Edit, ToolError> {
        let missing =
            |name: &str| ToolError::new(format!("`{name}` is missing for {:?}.", self.op));
        let find = self.find.ok_or_else(|| missing("find"));
        let text = self.text.ok_or_else(|| missing("text"));
        Ok(match self.op {
            Op::Replace => Edit::Replace { find: find?, text: text? },
            Op::Append => Edit::Append { text: text? },
            Op::Check => Edit::Check { item: find?, checked: true },
            Op::Uncheck => Edit::Check { item: find?, checked: false },
            Op::Section => Edit::Section { heading: find?, text: text? },
            Op::Set => Edit::Set { text: text? },
        })
    }
}
