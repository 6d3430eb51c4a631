//! A server process that a test talks to line by line and can signal: no judgement of messages,
//! that is the conformance engine's work, and every byte of what it logs is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use workspace_tests::clock::{self, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    log: Option<JoinHandle<String>>,
    last_id: u64,
    /// Read while something else was waited for.
    aside: Vec<Value>,
}

/// What is left of a server that has ended.
pub(crate) struct Ended {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it still wrote to standard output.
    pub(crate) messages: Vec<Value>,
    /// All it ever wrote to standard error.
    pub(crate) log: String,
    /// From the end of input or the signal to the end.
    pub(crate) took: Took,
}

/// Tells how long something took.
pub(crate) struct Stopwatch {
    wall: std::time::Instant,
    lived: Instant,
}

/// Not less than `lived`, which is without the time this process stood still, and not more than
/// `wall`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    pub(crate) lived: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: std::time::Instant::now(), lived: Instant::now() }
    }

    pub(crate) fn took(&self) -> Took {
        Took { wall: self.wall.elapsed(), lived: self.lived.elapsed() }
    }
}

impl Running {
    pub(crate) fn spawn(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .env_remove("MCP_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let (lines, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let log = thread::spawn(move || {
            let mut log = String::new();
            errors.read_to_string(&mut log).unwrap();
            log
        });
        Self { child, input, output, log: Some(log), last_id: 0, aside: Vec::new() }
    }

    /// Opens a session whose client can be asked everything.
    pub(crate) fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {"form": {}}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "policies", "version": "1.0.0"},
        });
        let id = self.request("initialize", &params);
        assert_eq!(self.answer(id)["result"]["protocolVersion"], "2025-11-25");
        self.write(&[json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]);
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.requests(method, std::slice::from_ref(params)).start
    }

    /// Sends many requests in one write; gives their ids.
    pub(crate) fn requests(&mut self, method: &str, params: &[Value]) -> std::ops::Range<u64> {
        let first = self.last_id + 1;
        let with_id = |(id, params): (u64, &Value)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let messages: Vec<_> = (first..).zip(params).map(with_id).collect();
        self.last_id += params.len() as u64;
        self.write(&messages);
        first..self.last_id + 1
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id});
        self.write(&[
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        ]);
    }

    fn write(&mut self, messages: &[Value]) {
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The answer to one request, whatever else comes before it.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.aside.iter().position(&wanted) {
            return self.aside.remove(index);
        }
        loop {
            let message = clock::receive(&self.output, Instant::now() + PATIENCE)
                .expect("the server stays silent");
            if wanted(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    pub(crate) fn call(&mut self, params: &Value) -> Value {
        let id = self.request("tools/call", params);
        self.answer(id)
    }

    /// Its number among the processes.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's input and waits for its end.
    pub(crate) fn close(mut self) -> Ended {
        self.input = None;
        self.end()
    }

    /// Sends SIGTERM, with the input left open, and waits for its end.
    pub(crate) fn terminate(mut self) -> Ended {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.end()
    }

    fn end(&mut self) -> Ended {
        let told = Stopwatch::start();
        let mut messages = std::mem::take(&mut self.aside);
        while let Ok(message) = clock::receive(&self.output, Instant::now() + PATIENCE) {
            messages.push(message);
        }
        // The output is closed, so the process is at its end, or this test is about to fail.
        let code = self.child.wait().unwrap().code();
        let took = told.took();
        let log = self.log.take().unwrap().join().unwrap();
        Ended { code, messages, log, took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
