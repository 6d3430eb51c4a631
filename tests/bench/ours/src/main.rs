//! A server with one tool that returns what it is given: what a megabyte costs on its way through
//! the protocol crate, with nothing else in between.

use std::process::ExitCode;

use mcp::{Context, READ_ONLY, Reply, Server, ToolResult};

/// Returns messages.
#[derive(clap::Parser)]
struct Config {}

/// Return the message.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn main() -> ExitCode {
    mcp::main(|_: Config| Ok(Server::new("echo", "0.1.0", ()).tool("echo", READ_ONLY, echo)))
}

async fn echo(_: Context<()>, input: Echo) -> ToolResult<Reply> {
    Ok(Reply::text(input.message))
}
