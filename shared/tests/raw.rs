//! A peer that sends whatever bytes it likes and reads whole lines.

use mcp::{Frame, Reader, Revision, Transport, Writer, memory};
use serde_json::{Value, json};

use crate::fixture::{State, server};

pub(crate) struct Raw<R, W> {
    reader: R,
    writer: W,
}

/// Connected to a fresh fixture server, nothing said yet.
pub(crate) fn raw() -> Raw<impl Reader, impl Writer> {
    raw_with(server(State::new()))
}

pub(crate) fn raw_with<S: Send + Sync + 'static>(
    server: mcp::Server<S>,
) -> Raw<impl Reader, impl Writer> {
    let (ours, theirs) = memory::pair();
    tokio::spawn(server.serve(theirs));
    let (reader, writer) = ours.split();
    Raw { reader, writer }
}

impl<R: Reader, W: Writer> Raw<R, W> {
    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, line: &[u8]) {
        let mut rest = [line, b"\n"].concat();
        while !rest.is_empty() {
            let written = self.writer.write(&rest).await.expect("write");
            rest.drain(..written);
        }
    }

    /// The next message; `null` when the server has closed.
    pub(crate) async fn receive(&mut self) -> Value {
        receive(&mut self.reader).await
    }

    /// Closes our side.
    pub(crate) async fn close_writing(self) -> Closed<R> {
        drop(self.writer);
        Closed { reader: self.reader }
    }

    pub(crate) async fn ask(&mut self, line: &str) -> Value {
        self.send(line).await;
        self.receive().await
    }

    pub(crate) async fn initialize(&mut self, revision: Revision) -> Value {
        self.ask(&initialize(revision.as_str())).await
    }
}

pub(crate) fn initialize(version: &str) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

/// A request of 2026-07-28 with its envelope.
pub(crate) fn modern(id: Value, method: &str, params: Value) -> String {
    modern_with(json!({}), id, method, params)
}

/// From a client with these capabilities.
pub(crate) fn modern_with(
    capabilities: Value,
    id: Value,
    method: &str,
    mut params: Value,
) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

pub(crate) fn pong() -> Value {
    json!({"jsonrpc": "2.0", "id": "p", "result": {}})
}

/// Nothing more can be sent, but what comes can still be read.
pub(crate) struct Closed<R> {
    reader: R,
}

impl<R: Reader> Closed<R> {
    pub(crate) async fn receive(&mut self) -> Value {
        receive(&mut self.reader).await
    }
}

async fn receive(reader: &mut impl Reader) -> Value {
    loop {
        if let Some(Frame::Message(line)) = reader.next() {
            return serde_json::from_slice(line).expect("JSON");
        }
        if !reader.fill().await.expect("read") {
            return Value::Null;
        }
    }
}
