//! Lists that change while clients look: a tool and a prompt that come and go, and a resource
//! that is touched.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;
use crate::resources::WATCHED;

/// The tool, and the prompt, that come and go.
pub(crate) const GUEST: &str = "test_guest";

/// Show a hidden tool, or hide it again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerToolChange {}

pub(crate) async fn trigger_tool_change(
    cx: Context<Backend>,
    _: TriggerToolChange,
) -> ToolResult<Reply> {
    let visible = cx.state.touch() % 2 == 1;
    cx.show_tool(GUEST, visible);
    cx.changes().tool_list_changed();
    Ok(Reply::text("The list of tools has changed."))
}

/// Show a hidden prompt, or hide it again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerPromptChange {}

pub(crate) async fn trigger_prompt_change(
    cx: Context<Backend>,
    _: TriggerPromptChange,
) -> ToolResult<Reply> {
    let visible = cx.state.touch() % 2 == 1;
    cx.show_prompt(GUEST, visible);
    cx.changes().prompt_list_changed();
    Ok(Reply::text("The list of prompts has changed."))
}

/// Change the watched resource.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TouchResource {}

pub(crate) async fn touch_resource(cx: Context<Backend>, _: TouchResource) -> ToolResult<Reply> {
    let touches = cx.state.touch();
    cx.changes().resource_updated(WATCHED);
    Ok(Reply::text(format!("Touched {touches} times.")))
}

/// A tool that is not always there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guest {}

pub(crate) async fn guest(_: Context<Backend>, _: Guest) -> ToolResult<Reply> {
    Ok(Reply::text("I am here."))
}
