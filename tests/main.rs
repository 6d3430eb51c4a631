//! The one test binary of the workspace.
//!
//! `engine` proves the conformance engine itself, `every_server` holds the servers to it,
//! `clients` lets the official client SDKs drive them, `copied` takes them out of the workspace,
//! `policies` holds each common flag to what it promises, `http` attacks a server over HTTP,
//! `command` holds the command server to what it promises of processes and users, `postgres` the
//! database server to its promise that no query is left, `handoff` two servers to what they say of
//! each other, `github` plays whole stories with an emulated GitHub.

#[cfg(test)]
mod engine;
#[cfg(test)]
mod every_server;
#[cfg(test)]
mod built;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod copied;
#[cfg(test)]
mod http;
#[cfg(test)]
mod github;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod oauth;
#[cfg(test)]
mod balancer;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod stdout;
#[cfg(test)]
mod replicas;
#[cfg(test)]
mod command;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod handoff;
