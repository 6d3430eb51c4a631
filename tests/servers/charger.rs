//! A server with an effect that must happen once: it writes a line to a file, asks, writes
//! another, and asks again.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use mcp::{ADDITIVE, Context, Field, Form, Reply, Server, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

/// Charges.
#[derive(clap::Parser)]
struct Config {}

/// Charges twice, with two questions.
#[derive(Deserialize, JsonSchema)]
struct Charge {
    /// Where the charges are written.
    file: PathBuf,
}

fn main() -> ExitCode {
    mcp::main(|_: Config| Ok(Server::new("charger", "0", ()).tool("charge", ADDITIVE, charge)))
}

async fn charge(cx: Context<()>, input: Charge) -> ToolResult<Reply> {
    cx.once("first", write_line(&input.file, "first")).await?;
    let sure = Form::new("Sure?").field("yes", Field::boolean());
    cx.elicit("sure", sure.clone()).await?;
    cx.once("second", write_line(&input.file, "second")).await?;
    cx.elicit("really", sure).await?;
    Ok(Reply::text("charged"))
}

async fn write_line(file: &PathBuf, line: &str) -> ToolResult<()> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut file| writeln!(file, "{line}"));
    written.map_err(|error| ToolError::new("The charge could not be written.").caused_by(&error))
}
