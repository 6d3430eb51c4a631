//! How a server is reached: on the pipes of a process, or over HTTP.

use std::fmt;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    Stdio,
    /// Streamable HTTP, and for 2024-11-05 HTTP with server-sent events.
    Http,
}

/// Both transports, in the order of reports.
pub const ALL: &[Transport] = &[Transport::Stdio, Transport::Http];

/// Where a server under test is.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// A command; each connection is a process of its own.
    Stdio(Vec<String>),
    /// A command that serves HTTP and prints its URL as its first line; all connections of a
    /// revision share one process.
    Http(Vec<String>),
    /// A server that runs already.
    Url(String),
}

impl Endpoint {
    pub fn transport(&self) -> Transport {
        match self {
            Endpoint::Stdio(_) => Transport::Stdio,
            Endpoint::Http(_) | Endpoint::Url(_) => Transport::Http,
        }
    }

    /// The same server started with further arguments; `None` for one that runs already.
    pub fn with(&self, arguments: &[String]) -> Option<Endpoint> {
        match self {
            Endpoint::Stdio(command) => Some(Endpoint::Stdio([command, arguments].concat())),
            Endpoint::Http(command) => Some(Endpoint::Http([command, arguments].concat())),
            Endpoint::Url(_) => None,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        })
    }
}
