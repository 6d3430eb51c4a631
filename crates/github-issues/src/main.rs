//! Reads, files, edits and sorts the issues of GitHub repositories.
//!
//! Reading order: this file (what there is), `tools.rs`, `resources.rs` and `prompts.rs` (what a
//! client sees), `backend.rs` (how GitHub is asked).

mod config;
mod tools;
mod resources;
mod prompts;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{ADDITIVE, DESTRUCTIVE, READ_ONLY, Server, ToolOptions};

use crate::backend::{Backend, Pauses};
use crate::config::Config;

const READ: ToolOptions = READ_ONLY.open_world();
const ADD: ToolOptions = ADDITIVE.open_world().idempotent();
const CHANGE: ToolOptions = DESTRUCTIVE.open_world();

fn main() -> ExitCode {
    mcp::main(|config| server(&config, Pauses::new(&config)))
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: &Config, pauses: Pauses) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::open(config, pauses)?;
    let server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("GitHub issues")
        .tool("github_create_issue", ADD, tools::github_create_issue)
        .tool("issue_get", READ, tools::issue_get)
        .tool("issue_list", READ, tools::issue_list)
        .tool("issue_search", READ, tools::issue_search)
        .tool("issue_update", CHANGE, tools::issue_update)
        .tool("issue_comment", CHANGE, tools::issue_comment)
        .tool("issue_edit_body", CHANGE, tools::issue_edit_body)
        .tool("issue_triage", CHANGE, tools::issue_triage)
        .tool("issue_relations", CHANGE, tools::issue_relations)
        .tool("label_manage", CHANGE, tools::label_manage)
        .tool("milestone_manage", CHANGE, tools::milestone_manage)
        .tool("github_status", READ, tools::github_status);
    let server = prompts::add(resources::add(server));
    let hidden = if config.read_only { tools::WRITERS } else { &[] };
    let server = hidden.iter().fold(server, |server, name| server.hide_tool(name));
    tokio::spawn(resources::watch::watch(server.state(), server.changes()));
    Ok(server)
}
