//! How things stand: the token, the limits, and what is switched off.

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::WRITERS;
use crate::backend::Backend;

/// Show whose the token is, what it may do, rate limits, and what is switched off and why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GithubStatus {}

pub(crate) async fn github_status(cx: Context<Backend>, _: GithubStatus) -> ToolResult<Reply> {
    let status = cx.state.api(&cx).impatient().status().await;
    let policy = &cx.state.policy;
    let mut lines = vec![format!("api: {}", status.api), format!("token: {}", status.token)];
    if let Some(version) = status.version {
        lines.push(format!("GitHub Enterprise Server {version}"));
    }
    lines.extend(status.windows);
    lines.extend(status.repos);
    let served = policy.served();
    let served = if served.is_empty() { "all the token reaches".to_owned() } else { served };
    lines.push(format!("repositories: {served}"));
    let writable = policy.writable();
    if !writable.is_empty() {
        lines.push(format!("may be changed, by --write-repos: {writable}"));
    }
    if policy.read_only {
        lines.push(format!("switched off by --read-only: {}", WRITERS.join(", ")));
    }
    if policy.lockdown {
        lines.push("--lockdown: text by outsiders is withheld".to_owned());
    }
    Ok(Reply::text(lines.join("\n")))
}
