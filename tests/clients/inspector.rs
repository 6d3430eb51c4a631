//! The official Inspector, from its command line, on the server that shows everything: over both
//! transports of HTTP and a pipe, in the era of sessions and the stateless one. It also judges
//! whether the schemas of every server can be read by clients that know only some of JSON Schema.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use workspace_tests::official::Suite;
use workspace_tests::run::Target;
use workspace_tests::transport::{Endpoint, Transport};
use workspace_tests::web::server::HttpServer;

use super::install_from_npm;
use crate::built;

#[test]
fn the_inspector_over_http() -> Result<()> {
    let Some(inspector) = Inspector::install()? else { return Ok(()) };
    let program = built::binary("mcp-everything").display().to_string();
    let server = HttpServer::spawn(&[program, "--http".into(), "127.0.0.1:0".into()])?;
    let url = server.url().to_owned();
    let pair = server.sse_url();
    for target in [
        vec!["--transport", "http", "--protocol-era", "legacy", "--server-url", &url],
        vec!["--transport", "http", "--protocol-era", "modern", "--server-url", &url],
        vec!["--transport", "sse", "--protocol-era", "legacy", "--server-url", &pair],
    ] {
        inspector.look_around(&target).with_context(|| target.join(" "))?;
    }
    Ok(())
}

#[test]
fn the_inspector_over_a_pipe() -> Result<()> {
    let Some(inspector) = Inspector::install()? else { return Ok(()) };
    let program = built::binary("mcp-everything").display().to_string();
    for era in ["legacy", "modern"] {
        let target = ["--transport", "stdio", "--protocol-era", era, &program];
        inspector.look_around(&target).with_context(|| target.join(" "))?;
    }
    Ok(())
}

/// A schema the Inspector calls an error is one that some clients cannot read.
#[test]
fn every_client_can_read_our_schemas() -> Result<()> {
    let Some(inspector) = Inspector::install()? else { return Ok(()) };
    for folder in built::servers() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let program = built::binary(&format!("mcp-{name}"));
        let target = Target::in_workspace(&name, &program, Transport::Stdio)?;
        let Endpoint::Stdio(command) = target.endpoint else { continue };
        let mut command: Vec<&str> = command.iter().map(String::as_str).collect();
        // Flags of the server are no flags of the Inspector.
        command.insert(0, "--transport=stdio");
        let list = inspector.ask(&["--method", "tools/list", "--strict"], &command);
        list.with_context(|| name.clone())?;
    }
    Ok(())
}

struct Inspector {
    node: PathBuf,
    folder: PathBuf,
}

impl Inspector {
    /// `None` where there is no npm to install it with.
    fn install() -> Result<Option<Inspector>> {
        let Some(folder) = install_from_npm("inspector")? else { return Ok(None) };
        let suite = Suite::install(&built::target_folder().join("official-suite"))?;
        Ok(Some(Inspector { node: suite.node().to_owned(), folder }))
    }

    /// What a person clicks through first.
    fn look_around(&self, target: &[&str]) -> Result<()> {
        let tools = self.ask(&["--method", "tools/list", "--strict"], target)?;
        let tools = tools["tools"].as_array().context("tools")?;
        ensure!(tools.iter().any(|tool| tool["name"] == "greet"), "{tools:?}");
        let greeting = r#"{"name": "you"}"#;
        let call = ["--method", "tools/call", "--tool-name", "greet", "--tool-args-json", greeting];
        let called = self.ask(&call, target)?;
        ensure!(called["content"][0]["text"] == "Hello, you!", "{called}");
        let read = ["--method", "resources/read", "--uri", "test://static-text"];
        let read = self.ask(&read, target)?;
        ensure!(read["contents"][0]["uri"] == "test://static-text", "{read}");
        let prompt = ["--method", "prompts/get", "--prompt-name", "test_simple_prompt"];
        let prompt = self.ask(&prompt, target)?;
        ensure!(prompt["messages"][0]["role"] == json!("user"), "{prompt}");
        Ok(())
    }

    /// The result of one request.
    fn ask(&self, request: &[&str], target: &[&str]) -> Result<Value> {
        let launcher =
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let mut command = Command::new(&self.node);
        command.arg(self.folder.join(launcher)).arg("--cli").args(request);
        // Its list of known servers stays out of the home folder of whoever runs the tests.
        command.env("MCP_CATALOG_PATH", self.folder.join("catalog.json"));
        let output = command.arg("-q").args(target).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{request:?}: {said}{errors}");
        serde_json::from_str(&said).with_context(|| format!("{request:?}: {said}{errors}"))
    }
}
