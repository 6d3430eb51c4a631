//! Runs programs for a model: by an operator's policy, without a shell, in a sandbox of the kernel,
//! and so that nothing of a call survives it.
//!
//! Reading order: this file (what there is), `tools.rs` and `resources.rs` (what the model
//! sees), `backend.rs` (from an argument list to a tree of processes and back).

mod config;
mod tools;
mod resources;
mod backend;
#[cfg(test)]
#[cfg_attr(windows, path = "tests/on_windows.rs")]
mod tests;

use std::process::ExitCode;

use mcp::{DESTRUCTIVE, READ_ONLY, ResourceOptions, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    // The same binary is also the process each call runs under.
    if let Some(code) = backend::run_as_helper() {
        return code;
    }
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::open(&config.settings())?;
    Ok(Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("Command")
        .when_session_ends(Backend::end_session)
        .tool(
            "execute_command",
            DESTRUCTIVE.open_world().title("Run a program"),
            tools::execute_command,
        )
        .tool("describe_policy", READ_ONLY.title("What may be run"), tools::describe_policy)
        .tool("list_jobs", READ_ONLY.title("List jobs"), tools::list_jobs)
        .tool("read_output", READ_ONLY.title("Read a job's output"), tools::read_output)
        .tool("wait", READ_ONLY.title("Wait for a job"), tools::wait)
        .tool("write_stdin", DESTRUCTIVE.title("Type into a job"), tools::write_stdin)
        .tool("signal", DESTRUCTIVE.title("Send a signal to a job"), tools::signal)
        .resource_template(
            resources::OUTPUT,
            ResourceOptions::new("output").title("Output of a job"),
            resources::output,
        )
        .resource_template(
            resources::OUTPUT_FROM,
            ResourceOptions::new("output-from").title("Output of a job, from a byte on"),
            resources::output_from,
        ))
}
