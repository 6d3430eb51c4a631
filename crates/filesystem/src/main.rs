//! Serves the files of chosen directories to a model, and nothing outside them.
//!
//! Reading order: this file (what there is), `tools.rs` and `resources.rs` (what
//! the model sees), `backend.rs` (how
//! a path becomes an open file).

mod config;
mod tools;
mod resources;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{ADDITIVE, DESTRUCTIVE, READ_ONLY, ResourceOptions, Server};

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
    let backend = Backend::open(&config.served(), &config.deny)?.asking(config.client_roots);
    let is_writable = backend.served().iter().any(|served| served.is_writable);
    let mut server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("Filesystem")
        .tool("list_allowed_directories", READ_ONLY.title("Served directories"), tools::served)
        .tool("read_text_file", READ_ONLY.title("Read a text file"), tools::read_text_file)
        .tool("read_multiple_files", READ_ONLY.title("Read files"), tools::read_multiple_files)
        .tool("read_media_file", READ_ONLY.title("Read any file"), tools::read_media_file)
        .tool("list_directory", READ_ONLY.title("List a directory"), tools::list_directory)
        .tool("directory_tree", READ_ONLY.title("Show a directory tree"), tools::directory_tree)
        .tool("search_files", READ_ONLY.title("Find files"), tools::search_files)
        .tool("search_content", READ_ONLY.title("Search in files"), tools::search_content)
        .tool("get_file_info", READ_ONLY.title("Look at one file"), tools::get_file_info)
        .resource_list(resources::directories)
        .resource_template(resources::FILE, ResourceOptions::new("file"), resources::file)
        .complete_template(resources::FILE, "path", resources::complete);
    if is_writable {
        let make = ADDITIVE.title("New directory").idempotent();
        server = server
            .tool("write_file", DESTRUCTIVE.title("Write a file").idempotent(), tools::write_file)
            .tool("edit_file", DESTRUCTIVE.title("Edit a text file"), tools::edit_file)
            .tool("create_directory", make, tools::create_directory)
            .tool("apply_changes", DESTRUCTIVE.title("Change several files"), tools::apply_changes)
            .tool("move_file", DESTRUCTIVE.title("Move or rename"), tools::move_file)
            .tool("copy_file", DESTRUCTIVE.title("Copy a file"), tools::copy_file);
    }
    if is_writable && config.allow_delete {
        server = server.tool("delete", DESTRUCTIVE.title("Delete"), tools::delete);
    }
    Ok(server)
}
