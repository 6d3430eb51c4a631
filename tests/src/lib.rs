//! The conformance engine: drives any MCP server over stdio or HTTP and says which requirements hold.
//!
//! It knows nothing but bytes and JSON. It shares no code with the servers of this workspace or
//! their protocol crate, so that a misreading of the specification there is not repeated here.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the entry: a target and options in, rows out |
//! | [`report`] | the rows as table, JSON and JUnit |
//! | [`check`] | what a check is and what it has at hand |
//! | `checks` | the requirements, by section of the specification |
//! | [`case`] | requirements as data: bytes in, shape out |
//! | [`pattern`] | the shapes |
//! | [`profile`] | what to call on a given server |
//! | [`discover`] | the same, found out from a server nobody knows |
//! | [`watch`] | the rules every single message is held to |
//! | [`findings`] | what the watching has found |
//! | [`schema`] | the official JSON Schemas, where a folder of them is given |
//! | [`clock`] | how long anything is waited for |
//! | [`client`] | a plain client: ids, waiting, silence |
//! | [`peer`] | the other side of a connection, whatever carries it |
//! | [`pipes`] | a server process and its pipes |
//! | [`web`] | HTTP: sessions, streams, headers |
//! | [`official`], [`bridge`] | the official suite, and HTTP in front of a server that has none |
//! | [`transport`] | which of the two, and where |
//! | [`transcript`] | the bytes sent and got, as evidence |
//! | [`revision`] | the five revisions and their envelopes |
//! | [`postgres`], [`cluster`] | a throw-away database for the server that needs one |
//! | [`github`] | an emulated GitHub, and what can go wrong on the way to it |
//! | [`install`] | packages of other languages that tests need |

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a key it lacks gives null; slices are read with `get`"
)]

pub mod run;
pub mod report;
pub mod check;
mod checks;
pub mod case;
pub mod official;
pub mod bridge;
pub mod pattern;
pub mod profile;
pub mod discover;
pub mod watch;
pub mod findings;
pub mod schema;
pub mod clock;
pub mod client;
pub mod peer;
pub mod pipes;
pub mod web;
pub mod transport;
pub mod transcript;
pub mod revision;
pub mod postgres;
pub mod cluster;
pub mod github;
pub mod install;
