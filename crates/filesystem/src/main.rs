//! Serves the files of chosen directories to a model, and nothing outside them.
//!
//! Reading order: this file (what there is), `tools.rs` and `resources.rs` (what the model sees),
//! `backend.rs` (how a path becomes an open file).

mod config;
mod tools;
mod resources;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{READ_ONLY, ResourceOptions, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(|config: Config| {
        tools::raise_wall(&config.served())?;
        server(config)
    })
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    let backend = Backend::open(&config.served(), &config.deny)?
        .asking(config.client_roots)
        .deleting(config.allow_delete);
    let watching = backend.clone();
    let is_writable = backend.served().iter().any(|served| served.is_writable);
    let mut server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("Filesystem")
        .instructions("Paths are absolute, or relative to a served directory.")
        .tool("list_allowed_directories", READ_ONLY, tools::served)
        .tool("read_text_file", READ_ONLY, tools::read_text_file)
        .tool("read_file", READ_ONLY, tools::read_file)
        .tool("read_multiple_files", READ_ONLY, tools::read_multiple_files)
        .tool("read_media_file", READ_ONLY, tools::read_media_file)
        .tool("list_directory", READ_ONLY, tools::list_directory)
        .tool("list_directory_with_sizes", READ_ONLY, tools::list_with_sizes)
        .tool("directory_tree", READ_ONLY, tools::directory_tree)
        .tool("search_files", READ_ONLY, tools::search_files)
        .tool("search_content", READ_ONLY, tools::search_content)
        .tool("get_file_info", READ_ONLY, tools::get_file_info)
        .resource_list(resources::directories)
        .resource_template(resources::FILE, ResourceOptions::new("file"), resources::file)
        .complete_template(resources::FILE, "path", resources::complete);
    if is_writable {
        server = tools::that_write(server, config.allow_delete);
    }
    resources::watch(&watching, server.changes());
    Ok(server)
}
