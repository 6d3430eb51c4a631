//! What the engine must be told about a server to exercise more than its lists.
//!
//! A profile is a small JSON file beside the server's name in `tests/profiles/`. Every field may
//! be left out; the checks that need it are then skipped, with that as the reason.

use crate::check::{Outcome, skip};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What to call on one server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// Arguments the server is started with; `{root}` stands for the root of this workspace,
    /// `{postgres}` for the URL of a throw-away database.
    pub args: Vec<String>,
    /// A call that is answered at once and changes nothing.
    pub quick_call: Option<ToolCall>,
    /// Quick calls run beside each other, so that their answers may overtake one another.
    pub quick_calls_overtake: bool,
    /// Calls whose arguments do not fit the tool's input schema.
    pub refused_calls: Vec<RefusedCall>,
    /// A call whose arguments fit, but which the tool itself must report as failed.
    pub failing_call: Option<ToolCall>,
    /// A call that reports progress and takes between 0.2 and 2 seconds.
    pub slow_call: Option<ToolCall>,
    /// A call that runs for minutes unless it is cancelled.
    pub endless_call: Option<ToolCall>,
    /// A call with an argument that its tool wants repeated in a header (`x-mcp-header`).
    pub header_call: Option<ToolCall>,
    /// The level at which the slow call logs, if it does.
    pub log_level: Option<String>,
    /// The uri of a resource that can be read.
    pub readable: Option<String>,
    /// A uri of the server's own scheme that leads to nothing.
    pub missing: Option<String>,
    /// The uri of a resource the slow call changes.
    pub watched: Option<String>,
    pub prompt: Option<PromptCall>,
    /// Prompt arguments that must be refused.
    pub refused_prompts: Vec<PromptCall>,
    /// Calls that ask the client something before they answer.
    pub asks: Vec<Ask>,
    /// A call that asks the client to open a page.
    pub asks_by_url: Option<Ask>,
    /// A call that asks a question whose answer counts once (2026-07-28).
    pub single_use: Option<Ask>,
    /// A call that asks several questions at once (2026-07-28).
    pub asks_together: Option<Asks>,
    /// Calls that go on as tasks.
    pub tasks: Option<TaskCalls>,
    /// The flag that takes a file of keys for `requestState`, so that another process can go on.
    pub state_key_flag: Option<String>,
    /// The flags of which the last takes a file with the token that then opens the server.
    pub token_flags: Option<Vec<String>>,
    /// What starts a server whose tokens an authorization server issues.
    pub oauth_args: Option<Vec<String>>,
    /// The parameters of a `completion/complete` that finds something.
    pub completion: Option<Value>,
}

/// The parameters of a `tools/call`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub name: String,
    #[serde(default = "no_arguments")]
    pub arguments: Value,
    /// The structured result, where it is known beforehand.
    #[serde(default)]
    pub structured: Option<Value>,
}

/// Calls that go on as tasks, as far as the server has such.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskCalls {
    /// A call that succeeds after a moment of waiting.
    pub brief: Option<ToolCall>,
    /// A call that runs for minutes unless it is cancelled.
    pub endless: Option<ToolCall>,
    /// A call whose tool reports a failure after a moment of waiting.
    pub failing: Option<ToolCall>,
    /// A call whose request itself fails after a moment of waiting.
    pub breaking: Option<ToolCall>,
    /// A call that cannot be made without a task.
    pub required: Option<ToolCall>,
    /// A call that asks once it is a task, in 2026-07-28 too.
    pub asks: Option<Ask>,
    /// A call that asks twice once it is a task; one answer suits both questions.
    pub asks_twice: Option<Ask>,
    /// A call that asks, and then goes on as a task.
    pub asks_first: Option<Ask>,
}

/// A call that asks the client one question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub call: ToolCall,
    /// The method of the question, such as `elicitation/create`.
    pub method: String,
    /// The client capabilities it needs.
    pub capabilities: Value,
    /// A result that lets the call succeed.
    pub answer: Value,
    /// A word of the call's answer then.
    pub expect: String,
}

/// A call that asks the client one question by each of several methods.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asks {
    pub call: ToolCall,
    pub capabilities: Value,
    /// By the method of the question.
    pub answers: BTreeMap<String, Value>,
    /// A word of the call's answer then.
    pub expect: String,
}

/// A call with wrong arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedCall {
    pub name: String,
    pub arguments: Value,
    /// A word the message must hold to be of use: the field at fault.
    pub names: String,
}

/// The parameters of a `prompts/get`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptCall {
    pub name: String,
    #[serde(default = "no_arguments")]
    pub arguments: Value,
}

impl Profile {
    pub fn load(path: &Path) -> Result<Profile> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))
    }
}

impl ToolCall {
    pub fn params(&self) -> Value {
        json!({"name": self.name, "arguments": self.arguments})
    }

    /// The parameters with a `_meta` of their own.
    pub fn params_with(&self, meta: Value) -> Value {
        json!({"name": self.name, "arguments": self.arguments, "_meta": meta})
    }
}

impl PromptCall {
    pub fn params(&self) -> Value {
        json!({"name": self.name, "arguments": self.arguments})
    }
}

/// The value of an optional field of the profile, or the reason to skip.
pub fn told<'a, T>(field: &'a Option<T>, name: &str) -> Result<&'a T, Outcome> {
    field.as_ref().ok_or_else(|| skip(format!("the profile has no `{name}`")))
}

fn no_arguments() -> Value {
    json!({})
}
