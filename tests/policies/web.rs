//! A server that a test talks to over HTTP, request by request.

use std::net::IpAddr;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use workspace_tests::web::server::HttpServer;
use workspace_tests::web::{Ask, Reply};

use super::subject::Subject;

pub(crate) struct Web {
    pub(crate) server: HttpServer,
    /// The address this client is at.
    from: Option<IpAddr>,
}

impl Web {
    /// The server with these flags, at a port of its own choice.
    pub(crate) fn start(subject: &Subject, flags: &[&str]) -> Self {
        Self::spawn(&subject.command(&[&["--http", "127.0.0.1:0"], flags].concat()))
    }

    pub(crate) fn spawn(command: &[String]) -> Self {
        Self { server: HttpServer::spawn(command).unwrap(), from: None }
    }

    /// The same server seen from another address of this machine.
    pub(crate) fn at(self, address: &str) -> Self {
        Self { from: Some(address.parse().unwrap()), ..self }
    }

    /// A request of 2026-07-28.
    pub(crate) fn modern(&self, method: &str, mut params: Value) -> Ask {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "policies", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = self.dressed(Ask::post(self.server.url(), &message));
        ask.with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", method)
            .with("mcp-name", &name)
    }

    pub(crate) fn discover(&self) -> Ask {
        self.modern("server/discover", json!({})).without("mcp-name")
    }

    /// Opens a session of 2025-11-25 and gives its id.
    pub(crate) fn open(&self) -> String {
        let client = json!({"name": "policies", "version": "1.0.0"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let reply = self.within("", "initialize", &params).without("mcp-session-id").send();
        reply.unwrap().header("mcp-session-id").expect("a session")
    }

    /// A request of a session.
    pub(crate) fn within(&self, session: &str, method: &str, params: &Value) -> Ask {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.dressed(Ask::post(self.server.url(), &message)).with("mcp-session-id", session)
    }

    pub(crate) fn ping(&self, session: &str) -> u16 {
        status(&self.within(session, "ping", &json!({})))
    }

    fn dressed(&self, mut ask: Ask) -> Ask {
        ask.from = self.from;
        ask
    }
}

pub(crate) fn status(ask: &Ask) -> u16 {
    ask.send().unwrap().status()
}

pub(crate) fn answer(reply: Reply) -> Value {
    reply.message().unwrap()
}

/// What becomes of a server that is not to start.
pub(crate) fn refused_start(command: &[String]) -> (Option<i32>, String) {
    let Output { status, stderr, stdout } =
        Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).output().unwrap();
    assert!(stdout.is_empty(), "it says where it listens");
    (status.code(), String::from_utf8(stderr).unwrap())
}
