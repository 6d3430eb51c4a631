//! `cargo xtask demo`: builds each server and plays `crates/<name>/demo.jsonl` to it, printing what
//! goes either way. The script is one JSON-RPC message a line; `// text` is printed, and the line
//! `// $ mcp-name ARGS` says how the server is started. The first thing a new reader runs, and a
//! test as well: it fails when an answer is missing or is an error.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use workspace_tests::github;

use crate::session::Session;
use crate::workspace::{Profile, Server, Workspace};

const SHOWN_CHARS: usize = 400;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers to show; all when none is named
    names: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let servers = workspace.select(&args.names)?;
    workspace.build(&servers, Profile::Debug)?;
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for server in &servers {
        println!("\n== {}: {}", server.name, server.description);
        match play(workspace, server) {
            Ok(true) => {}
            Ok(false) => skipped.push(server.name.as_str()),
            Err(error) => {
                println!("!! {error:#}");
                failed.push(server.name.as_str());
            }
        }
    }
    if !skipped.is_empty() {
        println!("\nSKIPPED, for want of Node and npm: {}", skipped.join(", "));
    }
    if !failed.is_empty() {
        bail!("the demo failed for: {}", failed.join(", "));
    }
    Ok(())
}

/// Whether it could be shown here.
fn play(workspace: &Workspace, server: &Server) -> Result<bool> {
    let path = server.folder.join("demo.jsonl");
    let script = std::fs::read_to_string(&path)
        .with_context(|| format!("every server has a demo: {}", path.display()))?;
    let steps: Vec<Step> = script.lines().filter_map(Step::parse).collect::<Result<_>>()?;
    let command = workspace.demo_command(server, Profile::Debug)?;
    if command.iter().any(|word| word == github::NOBODY) {
        println!("   skipped: the GitHub it is shown on needs Node and npm");
        return Ok(false);
    }
    let mut session = Session::start(&command)?;
    for (index, step) in steps.iter().enumerate() {
        let (line, message) = match step {
            Step::Say(text) => {
                println!("\n   {text}");
                continue;
            }
            Step::Send(line, message) => (line, message),
        };
        println!(" → {}", shortened(line));
        session.send(line)?;
        if let Some(id) = message.get("id")
            && !steps.iter().skip(index).any(|later| later.cancels(id))
        {
            await_answer(&mut session, id)?;
        }
    }
    session.close()?;
    Ok(true)
}

enum Step {
    Say(String),
    Send(String, Value),
}

impl Step {
    fn parse(line: &str) -> Option<Result<Self>> {
        let line = line.trim();
        if line.is_empty() {
            return None;
        }
        if let Some(comment) = line.strip_prefix("//") {
            return Some(Ok(Self::Say(comment.trim().to_owned())));
        }
        let message = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"));
        Some(message.map(|message| Self::Send(line.to_owned(), message)))
    }

    /// A cancelled request gets no answer, so nobody waits for one.
    fn cancels(&self, id: &Value) -> bool {
        let Self::Send(_, message) = self else {
            return false;
        };
        message.get("method").and_then(Value::as_str) == Some("notifications/cancelled")
            && message.pointer("/params/requestId") == Some(id)
    }
}

fn await_answer(session: &mut Session, id: &Value) -> Result<()> {
    loop {
        let (line, message) = session.receive()?;
        println!(" ← {}", shortened(&line));
        if message.get("id") != Some(id) || message.get("method").is_some() {
            continue;
        }
        ensure!(message.get("error").is_none(), "the answer to {id} is an error");
        let failed = message.pointer("/result/isError") == Some(&Value::Bool(true));
        ensure!(!failed, "the tool called by {id} reports an error");
        return Ok(());
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        None => line.to_owned(),
        Some((end, _)) => {
            let (shown, rest) = line.split_at(end);
            format!("{shown}… ({} bytes more)", rest.len())
        }
    }
}
