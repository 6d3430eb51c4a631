//! Answers questions about CSV files, exactly or not at all. Reads only what is in the directories
//! it was given and never writes.
//!
//! Reading order: this file (what there is), `tools.rs`, `resources.rs` and `prompts.rs` (what the
//! model sees), `backend.rs` (how the numbers come about).

mod config;
mod tools;
mod resources;
mod prompts;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{READ_ONLY, ResourceOptions, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::open(&config.dirs)?;
    let server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("CSV analysis")
        .tool("describe_csv", READ_ONLY.title("Describe a CSV file"), tools::describe_csv)
        .tool("analyze_csv", READ_ONLY.title("Analyze a CSV file"), tools::analyze_csv)
        .tool("group_csv", READ_ONLY.title("Aggregate groups of rows"), tools::group_csv)
        .tool("frequency_csv", READ_ONLY.title("Count values"), tools::frequency_csv)
        .tool("query_rows", READ_ONLY.title("Show rows"), tools::query_rows)
        .tool("validate_csv", READ_ONLY.title("Check rows against a schema"), tools::validate_csv)
        .tool("join_csv", READ_ONLY.title("Join two files"), tools::join_csv)
        .tool("diff_csv", READ_ONLY.title("Compare two files"), tools::diff_csv)
        .tool("chart_csv", READ_ONLY.title("Draw a chart"), tools::chart_csv)
        .tool("handoff_csv", READ_ONLY.title("Load into a database"), tools::handoff_csv)
        .resource_template(resources::COLUMN, json("column"), resources::column)
        .resource_template(resources::TABLE, json("table"), resources::table)
        .resource_template(resources::CHART, svg(), resources::chart)
        .resource_list(resources::list)
        .complete_template(resources::TABLE, "path", resources::complete_path)
        .complete_template(resources::COLUMN, "path", resources::complete_path)
        .complete_template(resources::COLUMN, "name", resources::complete_column)
        .prompt("explore_csv", prompts::explore_csv)
        .complete_prompt("explore_csv", "filepath", resources::complete_path);
    resources::watch(&server.state(), server.changes());
    Ok(server)
}

fn svg() -> ResourceOptions {
    ResourceOptions::new("chart").mime_type("image/svg+xml")
}

fn json(name: &str) -> ResourceOptions {
    ResourceOptions::new(name).mime_type("application/json")
}
