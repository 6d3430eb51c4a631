//! Every feature of the protocol once, one tool a file. The official conformance suite runs on it
//! (its names begin with `test_`, and are the suite's), and a person with an inspector can click
//! through it.
//!
//! Reading order: this file, `tools.rs` (what tools there are), then the one file in `tools/` that
//! shows what you are looking for; `resources.rs` and `prompts.rs`.

mod config;
mod tools;
mod resources;
mod prompts;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{CacheHint, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(_: Config) -> anyhow::Result<Server<Backend>> {
    let server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), Backend::default())
        .title("Everything")
        .instructions("Each tool shows one feature of the protocol; none does anything useful.")
        .list_cache(CacheHint { ttl_ms: 60_000, public: true });
    Ok(prompts::add(resources::add(tools::add(server))))
}
