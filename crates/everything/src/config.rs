//! The command line of this server: nothing beyond the common options.

/// An MCP server that shows every feature of the protocol once.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) struct Config {}
