//! The Model Context Protocol for servers: five revisions, one set of handlers.
//!
//! A server is a table of plain async functions. This crate speaks for them: it reads messages,
//! tells the revisions apart, calls the handler, and writes the answer in the words of the
//! revision the client speaks.
//!
//! ```no_run
//! use mcp::{Context, READ_ONLY, Server, ToolResult};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// Adds two numbers.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Add { a: f64, b: f64 }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Sum { sum: f64 }
//!
//! async fn add(_: Context<()>, input: Add) -> ToolResult<Sum> {
//!     Ok(Sum { sum: input.a + input.b })
//! }
//!
//! /// The smallest server there is.
//! #[derive(clap::Parser)]
//! struct Config {}
//!
//! fn main() -> std::process::ExitCode {
//!     mcp::main(|_: Config| Ok(Server::new("adder", "1.0.0", ()).tool("add", READ_ONLY, add)))
//! }
//! ```
//!
//! # Map, in reading order
//! What a server's author uses: [`Server`] (the table), [`Context`] (what a handler sees),
//! `tool`, `resource`, `prompt`, `completion` and `content` (what handlers take and return),
//! `error` (how they fail), `ask` (how they ask the client), [`main`] (the command line), [`Transport`] (what carries messages).
//!
//! What makes it work: `jsonrpc` (bytes to messages), `revision` (who knows what), `params`,
//! `dispatch` (messages to handlers), `call` (one request while it runs), `answer` and `wire`
//! (handlers' answers to bytes), `outbox` and `changes` (what is sent when), `platform` (what systems do
//! differently).

#![warn(missing_docs)]

mod answer;
mod args;
mod ask;
mod call;
mod changes;
#[cfg(feature = "client")]
pub mod client;
mod completion;
mod content;
mod context;
mod dispatch;
mod error;
#[cfg(feature = "http")]
mod http;
mod jsonrpc;
mod limits;
mod lock;
mod mistakes;
mod outbox;
mod params;
mod platform;
mod policy;
mod principal;
mod prompt;
mod registry;
mod resource;
mod revision;
mod run;
mod salvage;
mod schema;
mod seal;
mod server;
mod strings;
mod tasks;
mod tool;
mod transport;
mod uri_template;
mod validate;
mod wire;

pub use ask::AskError;
pub use ask::elicit::{Answers, Elicitation, Elicited, Field, Form, OpenUrl, TextFormat};
pub use ask::roots::Root;
pub use ask::sample::{
    IncludeContext, ModelHint, ModelPreferences, SampleContent, SampleRequest, SampleTool, Sampled,
    ToolChoice,
};
pub use call::{ClientInfo, Level};
pub use changes::{Changes, Wake};
#[cfg(feature = "client")]
pub use client::Client;
pub use completion::Completing;
pub use content::{Annotations, Content, Media, Role};
pub use context::Context;
pub use error::{Error, ToolError, ToolResult};
pub use limits::Limits;
pub use principal::Principal;
pub use prompt::{PromptMessage, PromptResult};
pub use resource::{Body, CacheHint, Resource, ResourceContents, ResourceOptions, ResourceResult};
pub use revision::Revision;
pub use run::main;
pub use schema::Schema;
pub use server::Server;
pub use tool::{
    ADDITIVE, DESTRUCTIVE, Output, READ_ONLY, Reply, Tasks, ToolOptions, WithContent, WithText,
};
pub use transport::{Frame, Reader, TooLong, Transport, Writer, lines::lines, memory};
