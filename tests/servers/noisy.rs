//! A server that prints wherever one can: while it is built, in a handler, in a thread, through a
//! child process, in a panic. None of it may reach the client's end of standard output.
#![expect(clippy::print_stdout, reason = "printing is what this server is for")]

use std::process::{Command, ExitCode};

use mcp::{Context, READ_ONLY, Reply, Server, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

/// Prints a lot.
#[derive(clap::Parser)]
struct Config {}

/// Makes noise of one kind.
#[derive(Deserialize, JsonSchema)]
struct Noise {
    kind: String,
}

fn main() -> ExitCode {
    mcp::main(|_: Config| {
        println!("noise while the server is built");
        Ok(Server::new("noisy", "0", ()).tool("noise", READ_ONLY, noise))
    })
}

async fn noise(cx: Context<()>, input: Noise) -> ToolResult<Reply> {
    match input.kind.as_str() {
        "print" => println!("noise from a handler"),
        "partial" => print!("{{\"jsonrpc\":"),
        "thread" => cx.blocking(|| println!("noise from a thread")).await,
        "child" => {
            let child = Command::new("sh").args(["-c", "echo noise from a child; cat"]).status();
            child.map_err(|error| ToolError::new("no shell").caused_by(&error))?;
        }
        "panic" => panic!("noise from a panic"),
        _ => return Err(ToolError::new("no such noise")),
    }
    Ok(Reply::text("done"))
}
