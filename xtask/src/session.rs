//! One conversation with a server over its standard streams, for `demo` and `list`. It waits with
//! deadlines, so a server that does not answer is an error message and never a hang.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use workspace_tests::clock::{self, Instant, PATIENCE};

pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Session {
    pub(crate) fn start(command: &[String]) -> Result<Self> {
        let (program, arguments) = command.split_first().context("an empty command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.join(" ")))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the server's output is a pipe")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines, next_id: 1 })
    }

    pub(crate) fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("the server's input is closed")?;
        writeln!(input, "{line}").and_then(|()| input.flush()).context("the server has gone")
    }

    /// The next message, which must be JSON: nothing else may appear on this stream.
    pub(crate) fn receive(&mut self) -> Result<(String, Value)> {
        let line =
            clock::receive(&self.lines, Instant::now() + PATIENCE).map_err(
                |error| match error {
                    RecvTimeoutError::Timeout => anyhow!("no answer within {PATIENCE:?}"),
                    RecvTimeoutError::Disconnected => anyhow!("the server closed its output"),
                },
            )?;
        let message = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        Ok((line, message))
    }

    /// Opens a session of the newest revision that has one.
    pub(crate) fn initialize(&mut self) -> Result<Value> {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "xtask", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.request("initialize", params)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(answer)
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string())?;
        loop {
            let (line, message) = self.receive()?;
            if message.get("id") == Some(&json!(id)) {
                let result = message.get("result").cloned();
                return result.with_context(|| format!("{method} was refused: {line}"));
            }
        }
    }

    /// Closes the server's input and waits for it to end by itself.
    pub(crate) fn close(mut self) -> Result<()> {
        self.input = None;
        let deadline = Instant::now() + PATIENCE;
        // The output ends when the process does; `try_wait` alone would have to be polled.
        loop {
            match clock::receive(&self.lines, deadline) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("the server did not end within {PATIENCE:?} of its input closing")
                }
            }
        }
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a clean close both find nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
