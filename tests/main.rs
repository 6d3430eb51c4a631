//! The one test binary of the workspace.
//!
//! `engine` proves the conformance engine itself, `every_server` holds the servers to it,
//! `clients` lets the official client SDKs drive them.

#[cfg(test)]
mod engine;
#[cfg(test)]
mod every_server;
mod clients;
mod stdout;
