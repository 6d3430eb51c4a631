//! Shows the files of chosen directories to a model, and nothing outside them. Never writes.
//!
//! Reading order: this file (what there is), `tools.rs` (what the model sees), `backend.rs` (how
//! a path becomes an open file).

mod config;
mod tools;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{READ_ONLY, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::open(&config.dirs, &config.deny)?;
    Ok(Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("Filesystem")
        .tool(
            "list_allowed_directories",
            READ_ONLY.title("List the served directories"),
            tools::list_allowed_directories,
        )
        .tool("read_text_file", READ_ONLY.title("Read a text file"), tools::read_text_file)
        .tool("list_directory", READ_ONLY.title("List a directory"), tools::list_directory)
        .tool("get_file_info", READ_ONLY.title("Look at one file"), tools::get_file_info))
}
