//! Tools: what a server says when it registers one, and what a handler may return.

use schemars::JsonSchema;
use serde::Serialize;

use crate::content::Content;
use crate::error::ToolError;
use crate::schema::{self, Schema};

/// What a tool does to the world, as hints for the client, and its name for people.
///
/// Start from one of the constants: `READ_ONLY.title("Calculate a sum")`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOptions {
    pub(crate) title: Option<&'static str>,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
    pub(crate) tasks: Tasks,
    pub(crate) single_use: bool,
}

/// Whether a call of a tool may go on after its request has been answered, as a task (2025-11-25,
/// and 2026-07-28 for clients that declare the extension).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tasks {
    /// The client waits for the answer.
    Never,
    /// As a task where the client can have one; otherwise it waits.
    Also,
    /// As a task or not at all, in revisions that have tasks.
    Only,
}

/// Looks and changes nothing; calling twice is the same as once.
pub const READ_ONLY: ToolOptions = ToolOptions {
    title: None,
    read_only: true,
    destructive: false,
    idempotent: true,
    open_world: false,
    tasks: Tasks::Never,
    single_use: false,
};

/// Adds something and destroys nothing.
pub const ADDITIVE: ToolOptions = ToolOptions {
    title: None,
    read_only: false,
    destructive: false,
    idempotent: false,
    open_world: false,
    tasks: Tasks::Never,
    single_use: false,
};

/// May change or delete what was there.
pub const DESTRUCTIVE: ToolOptions = ToolOptions {
    title: None,
    read_only: false,
    destructive: true,
    idempotent: false,
    open_world: false,
    tasks: Tasks::Never,
    single_use: false,
};

impl ToolOptions {
    /// Name for people.
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Calling it again with the same arguments changes nothing more.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Calls may go on as tasks. The handler is written as any other.
    pub const fn tasks(mut self, tasks: Tasks) -> Self {
        self.tasks = tasks;
        self
    }

    /// Answers to its questions count once: a retry sent a second time with the same state is
    /// refused (2026-07-28; a session asks and answers once in any case). The process remembers, so
    /// of several replicas one has to serve all retries of a call.
    pub const fn single_use(mut self) -> Self {
        self.single_use = true;
        self
    }

    /// It reaches systems outside this server, such as the web.
    pub const fn open_world(mut self) -> Self {
        self.open_world = true;
        self
    }
}

/// A tool's answer, put together by hand: images, links, several blocks.
///
/// A handler whose answer is plain data returns that data instead, see [`Output`].
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub(crate) content: Vec<Content>,
    /// JSON text of `structuredContent`; also sent as a text block when `content` is empty.
    pub(crate) structured: Option<String>,
    pub(crate) is_error: bool,
    /// The schema of `structured` has no object at its root, so revisions that want an object get
    /// `{"result": …}`, whatever this one value is.
    pub(crate) wraps_structured: bool,
}

impl Reply {
    /// One text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().with(Content::text(text))
    }

    /// The same answer with one more block.
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// The same answer as a failed call, where a [`ToolError`] has no room for what there is to
    /// say: `isError` is set.
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

impl From<Vec<Content>> for Reply {
    fn from(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }
}

impl From<ToolError> for Reply {
    fn from(error: ToolError) -> Self {
        Self { is_error: true, ..Self::text(error.message()) }
    }
}

/// Data together with a text of its own for the model, where the JSON would not read well.
#[derive(Debug, Clone)]
pub struct WithText<T> {
    /// Sent as `structuredContent`; its type is the tool's `outputSchema`.
    pub data: T,
    /// Sent as the text block.
    pub text: String,
}

/// Data together with blocks of its own for the model: a picture of the data, a link.
#[derive(Debug, Clone)]
pub struct WithContent<T> {
    /// Sent as `structuredContent`; its type is the tool's `outputSchema`.
    pub data: T,
    /// Sent as `content`.
    pub content: Vec<Content>,
}

/// What a tool handler may return: any `Serialize + JsonSchema` type (its schema becomes the
/// tool's `outputSchema`, its value `structuredContent` and a text block), the same
/// [`WithText`] or [`WithContent`], or a [`Reply`].
pub trait Output {
    /// JSON Schema of the structured part, if there is one.
    fn schema() -> Option<Schema>;

    /// The value as it goes to the client.
    fn into_reply(self) -> Result<Reply, ToolError>;
}

impl<T: Serialize + JsonSchema> Output for T {
    fn schema() -> Option<Schema> {
        Some(schema::output::<T>())
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        structured(&self)
            .map(|structured| Reply { structured: Some(structured), ..Reply::default() })
    }
}

impl<T: Serialize + JsonSchema> Output for WithText<T> {
    fn schema() -> Option<Schema> {
        Some(schema::output::<T>())
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(Reply { structured: Some(structured(&self.data)?), ..Reply::text(self.text) })
    }
}

impl<T: Serialize + JsonSchema> Output for WithContent<T> {
    fn schema() -> Option<Schema> {
        Some(schema::output::<T>())
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(Reply { structured: Some(structured(&self.data)?), ..Reply::from(self.content) })
    }
}

impl Output for Reply {
    fn schema() -> Option<Schema> {
        None
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(self)
    }
}

fn structured(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|error| {
        ToolError::new("The result could not be written as JSON").caused_by(&error)
    })
}
