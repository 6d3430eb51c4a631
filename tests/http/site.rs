//! The server under attack, and the honest client beside the attackers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use workspace_tests::clock::{Instant, PATIENCE};
use workspace_tests::web::server::HttpServer;
use workspace_tests::web::{Ask, Reply};

use crate::built;

pub(crate) struct Site {
    pub(crate) server: HttpServer,
    pub(crate) address: String,
}

impl Site {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let program = built::binary("mcp-calculator").display().to_string();
        let mut command = vec![program, "--http".to_owned(), "127.0.0.1:0".to_owned()];
        command.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let server = HttpServer::spawn(&command).unwrap();
        let address = server.sibling("").replace("http://", "");
        let site = Self { server, address };
        // What the first request allocates is nobody's fault.
        site.is_well();
        site
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Sends bytes on a connection of their own and gives what comes back until it is closed.
    pub(crate) fn talk(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut socket = self.connect();
        // A server that has heard enough may close before everything is sent.
        let _ = socket.write_all(bytes.as_ref());
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status of what comes back; 0 if the connection was closed without a word.
    pub(crate) fn status(&self, bytes: impl AsRef<[u8]>) -> u16 {
        let answer = self.talk(bytes);
        let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        status.map_or(0, |status| status.parse().unwrap())
    }

    /// An honest client calls a tool and has its answer in time.
    pub(crate) fn is_well(&self) {
        let started = Instant::now();
        let answer = sum(self).send().unwrap().message().unwrap();
        assert_eq!(answer["result"]["structuredContent"]["sum"], 3.0, "{answer}");
        assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    }

    pub(crate) fn modern(&self, method: &str, params: Value) -> Ask {
        let body = modern(method, params.clone());
        let name = params["name"].as_str().unwrap_or_default();
        Ask::post(self.server.url(), &body)
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", method)
            .with("mcp-name", name)
    }

    /// Opens a session of 2025-11-25.
    pub(crate) fn open(&self) -> String {
        let reply = Ask::post(self.server.url(), &initialize()).send().unwrap();
        reply.header("mcp-session-id").expect("a session")
    }

    pub(crate) fn within(&self, session: &str, method: &str, params: &Value) -> Reply {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = Ask::post(self.server.url(), &message).with("mcp-session-id", session);
        ask.send().unwrap()
    }

    pub(crate) fn gauge(&self, name: &str) -> u64 {
        let metrics = Ask::get(self.server.sibling("/metrics")).send().unwrap().body().unwrap();
        let metrics = String::from_utf8(metrics).unwrap();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.expect("a gauge").parse().unwrap()
    }

    pub(crate) fn kib(&self) -> u64 {
        self.server.resident_kib().expect("a process")
    }

    /// Waits until the attackers' descriptors are given back.
    pub(crate) fn returns_to(&self, descriptors: usize) {
        let back = || self.server.descriptors().expect("a process") <= descriptors + 4;
        until("the descriptors are given back", back);
    }
}

fn sum(site: &Site) -> Ask {
    let arguments = json!({"a": 1, "b": 2});
    site.modern("tools/call", json!({"name": "calculate_sum", "arguments": arguments}))
}

pub(crate) fn initialize() -> Value {
    let client = json!({"name": "hostile", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    let progress = params["_meta"]["progressToken"].take();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if !progress.is_null() {
        params["_meta"]["progressToken"] = progress;
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A POST to the endpoint, byte for byte, with these headers besides what it must have.
pub(crate) fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {headers}\r\n{body}"
    )
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "it is not so that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
