//! A small client that speaks both eras, for tests and tools.
//!
//! It says what it is told to and hands back what came, mostly as JSON: its purpose is to show
//! what a server does, not to hide it.
//!
//! Reading order: this file (what one can ask), `link.rs` (how answers find their questions).

mod link;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::revision::Revision;
use crate::server::Server;
use crate::transport::{Transport, memory};
pub use link::Pending;
use link::{Link, take};

/// Rounds of questions for one request before the client gives up.
const MAX_ROUNDS: usize = 10;

/// A connection to one server.
#[derive(Debug)]
pub struct Client {
    link: Link,
    revision: Revision,
    /// The result of `initialize` or `server/discover`.
    greeting: Value,
    answering: Answering,
    /// Members added to `_meta` of each request.
    meta: Map<String, Value>,
}

/// Why a request brought no result.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientError {
    /// The server answered with an error object.
    Rpc {
        /// JSON-RPC or MCP error code.
        code: i64,
        /// What the server says.
        message: String,
        /// `error.data`, or `null`.
        data: Value,
    },
    /// The connection is gone; the answer will not come.
    Closed,
    /// The server answered with something that is not MCP.
    Unexpected(String),
}

/// The answer to `tools/call`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// Content blocks as they came.
    pub content: Vec<Value>,
    /// `structuredContent`, or `null`.
    pub structured: Value,
    /// The tool failed; the text says why.
    pub is_error: bool,
}

/// A notification as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// For example `notifications/progress`.
    pub method: String,
    /// Its parameters, or `null`.
    pub params: Value,
}

/// How a client answers what a server asks it.
#[derive(Clone)]
pub struct Answering {
    capabilities: Value,
    answer: Arc<Answer>,
}

type Answer = dyn Fn(&str, &Value) -> Result<Value, String> + Send + Sync;

impl Answering {
    /// `capabilities` is what the client declares; `answer` gets the method and the parameters of
    /// a question, for example `elicitation/create`, and returns the result, or the message of an
    /// error.
    pub fn new(
        capabilities: Value,
        answer: impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self { capabilities, answer: Arc::new(answer) }
    }

    /// Declares nothing and answers nothing.
    pub fn nothing() -> Self {
        Self::new(json!({}), |method, _| Err(format!("Method not found: {method}")))
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering")
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects in the given revision: `initialize` or `server/discover`, as it wants. Must be
    /// called on a tokio runtime.
    ///
    /// # Errors
    /// If the server refuses or answers with another revision.
    pub async fn connect(
        transport: impl Transport + 'static,
        revision: Revision,
        answering: Answering,
    ) -> Result<Self, ClientError> {
        let mut client = Self {
            link: Link::open(transport, answering.clone()),
            revision,
            answering,
            greeting: Value::Null,
            meta: Map::new(),
        };
        let capabilities = client.answering.capabilities.clone();
        if revision.is_stateless() {
            client.meta = envelope(&capabilities);
            client.greeting = client.request("server/discover", json!({})).await?;
            return Ok(client);
        }
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "mcp-shared client", "version": env!("CARGO_PKG_VERSION")},
        });
        client.greeting = client.request("initialize", params).await?;
        if client.greeting.get("protocolVersion") != Some(&json!(revision)) {
            return Err(ClientError::Unexpected(format!(
                "asked for {revision}: {}",
                client.greeting
            )));
        }
        client.notify("notifications/initialized", json!({}));
        Ok(client)
    }

    /// Connects to a server in this process, which is served until the client is dropped.
    ///
    /// # Errors
    /// As [`Client::connect`]; a server that is put together wrongly closes the connection.
    pub async fn in_memory<S: Send + Sync + 'static>(
        server: Server<S>,
        revision: Revision,
        answering: Answering,
    ) -> Result<Self, ClientError> {
        let (ours, theirs) = memory::pair();
        tokio::spawn(async move {
            if let Err(error) = server.serve(theirs).await {
                tracing::error!("{error:#}");
            }
        });
        Self::connect(ours, revision, answering).await
    }

    /// The result of `initialize` or `server/discover`.
    pub fn greeting(&self) -> &Value {
        &self.greeting
    }

    /// The revision spoken.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Asks for log messages of each request from now on (2026-07-28), or of the session.
    ///
    /// # Errors
    /// If the server refuses the level.
    pub async fn set_log_level(&mut self, level: &str) -> Result<(), ClientError> {
        if self.revision.is_stateless() {
            self.meta.insert("io.modelcontextprotocol/logLevel".to_owned(), json!(level));
            return Ok(());
        }
        self.request("logging/setLevel", json!({"level": level})).await.map(drop)
    }

    /// Sends a request and waits for its result. Questions of the server are answered on the way.
    ///
    /// # Errors
    /// The server's error object, or the end of the connection.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let mut result = self.start(method, params.clone()).answer().await?;
        for _ in 0..MAX_ROUNDS {
            if result.get("resultType") != Some(&json!("input_required")) {
                return Ok(result);
            }
            let retry = self.retry(params.clone(), &mut result)?;
            result = self.start(method, retry).answer().await?;
        }
        Err(ClientError::Unexpected(format!("{method}: questions without end")))
    }

    /// The same request with answers to what an `input_required` result asks (2026-07-28).
    fn retry(&self, mut params: Value, asked: &mut Value) -> Result<Value, ClientError> {
        let mut responses = Map::new();
        if let Value::Object(requests) = take(asked, "inputRequests") {
            for (key, mut request) in requests {
                let question = take(&mut request, "params");
                let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
                let answer = (self.answering.answer)(method, &question);
                responses.insert(key, answer.map_err(ClientError::Unexpected)?);
            }
        }
        if let Some(params) = params.as_object_mut() {
            params.insert("inputResponses".to_owned(), Value::Object(responses));
            if let state @ Value::String(_) = take(asked, "requestState") {
                params.insert("requestState".to_owned(), state);
            }
        }
        Ok(params)
    }

    /// Sends a request without waiting: its answer can be awaited or cancelled.
    pub fn start(&self, method: &str, params: Value) -> Pending {
        self.link.request(method, self.with_meta(params))
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.link.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`Client::request`]; a tool that fails is an answer with `is_error`.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<ToolAnswer, ClientError> {
        let result =
            self.request("tools/call", json!({"name": name, "arguments": arguments})).await?;
        ToolAnswer::read(result)
    }

    /// All entries of a list such as `tools/list`, page after page. `member` is the list's name
    /// in the result, for example `tools`.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list(&self, method: &str, member: &str) -> Result<Vec<Value>, ClientError> {
        let mut items = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.request(method, params).await?;
            match take(&mut page, member) {
                Value::Array(more) => items.extend(more),
                other => return Err(ClientError::Unexpected(format!("{method}: {other}"))),
            }
            match take(&mut page, "nextCursor") {
                Value::Null => return Ok(items),
                cursor => params = json!({"cursor": cursor}),
            }
        }
    }

    /// Reads a resource; the contents as they came.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn read_resource(&self, uri: &str) -> Result<Value, ClientError> {
        let mut result = self.request("resources/read", json!({"uri": uri})).await?;
        Ok(take(&mut result, "contents"))
    }

    /// The next notification that has not been taken yet; `None` when the connection is closed.
    pub async fn notification(&self) -> Option<Notification> {
        self.link.notification().await
    }

    fn with_meta(&self, mut params: Value) -> Value {
        if let (false, Some(params)) = (self.meta.is_empty(), params.as_object_mut()) {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.extend(self.meta.clone());
            }
        }
        params
    }
}

/// What every request of 2026-07-28 carries.
fn envelope(capabilities: &Value) -> Map<String, Value> {
    let members = [
        ("io.modelcontextprotocol/protocolVersion", json!(Revision::V2026_07_28)),
        ("io.modelcontextprotocol/clientCapabilities", capabilities.clone()),
        (
            "io.modelcontextprotocol/clientInfo",
            json!({"name": "mcp-shared client", "version": env!("CARGO_PKG_VERSION")}),
        ),
    ];
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl ToolAnswer {
    fn read(mut result: Value) -> Result<Self, ClientError> {
        let Value::Array(content) = take(&mut result, "content") else {
            return Err(ClientError::Unexpected(format!("tools/call: {result}")));
        };
        Ok(Self {
            content,
            structured: take(&mut result, "structuredContent"),
            is_error: result.get("isError") == Some(&Value::Bool(true)),
        })
    }

    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> =
            self.content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        texts.join("\n")
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc { code, message, .. } => write!(f, "{message} ({code})"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::Unexpected(what) => write!(f, "unexpected answer: {what}"),
        }
    }
}

impl std::error::Error for ClientError {}
