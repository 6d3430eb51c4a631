//! The smallest honest MCP server: one of each kind of thing a server can offer. Copy this folder
//! to begin your own.
//!
//! Reading order: this file (what there is), `tools.rs`, `resources.rs` and `prompts.rs` (what
//! the model sees), `backend.rs` (what does the work and knows nothing of MCP).

mod config;
mod tools;
mod resources;
mod prompts;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{ADDITIVE, READ_ONLY, ResourceOptions, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::new(config.max_ticks);
    Ok(Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("Calculator")
        .tool("calculate_sum", READ_ONLY.title("Calculate a sum"), tools::calculate_sum)
        .tool("countdown", ADDITIVE.title("Count down"), tools::countdown)
        .tool("calculate_power", READ_ONLY.title("Calculate a power"), tools::calculate_power)
        .tool("explain_number", READ_ONLY.title("Explain a number"), tools::explain_number)
        .resource(
            tools::COUNTDOWNS,
            ResourceOptions::new("countdowns")
                .title("Countdowns")
                .description("How many countdowns are running, and how many have finished.")
                .mime_type("application/json"),
            resources::countdowns,
        )
        .resource_template(
            resources::TIMES_TABLE,
            ResourceOptions::new("times-table").title("Times table").mime_type("text/plain"),
            resources::times_table,
        )
        .complete_template(resources::TIMES_TABLE, "number", resources::complete_number)
        .prompt("explain_sum", prompts::explain_sum))
}
