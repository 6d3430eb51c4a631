//! The other side of one connection, whatever carries it, seen as messages with deadlines.

use crate::clock::Instant;
use crate::pipes::Pipes;
use crate::transcript::Transcript;
use crate::web::peer::HttpPeer;
use serde_json::Value;
use std::process::ExitStatus;

/// What came from the server.
#[derive(Debug)]
pub enum Incoming {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// A message of a response of HTTP.
    Carried(Carried),
    /// How HTTP answered one message.
    Exchange(Exchange),
    /// Bytes the server left behind without a newline when it closed its stdout.
    Unterminated(Vec<u8>),
    /// The server closed its stdout, or takes no connections any more.
    Eof,
    /// Nothing came before the deadline.
    Silence,
}

/// A message, and which response of HTTP carried it.
#[derive(Debug)]
pub struct Carried {
    pub line: Vec<u8>,
    pub stream: Stream,
    /// The name and the id of its event, where it came as one.
    pub event: Option<String>,
    pub event_id: Option<String>,
}

/// One response of HTTP.
#[derive(Clone, Debug, PartialEq)]
pub enum Stream {
    /// To a POST of the request with this id, or of something without one.
    Post(Option<Value>),
    /// To a GET of what belongs to no request.
    Standing,
    /// The one stream of 2024-11-05.
    Down,
}

/// How HTTP answered one message of ours, or a GET.
#[derive(Debug)]
pub struct Exchange {
    pub sent: Sent,
    pub status: u16,
    pub content_type: String,
    /// The session it names, if any.
    pub session: Option<String>,
    /// `None` where the body is a stream.
    pub body: Option<Vec<u8>>,
}

/// What a request of HTTP was about.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// A request under the revision that has no sessions, or one that has.
    Request { method: String, modern: bool },
    /// A notification or a response.
    Other,
    /// Nothing that is a message.
    Garbage,
    /// A GET for the stream of what belongs to no request.
    Get,
}

/// A connection. Dropping it ends it.
pub enum Peer {
    Pipes(Pipes),
    Http(HttpPeer),
}

impl Peer {
    /// Queues bytes for the server: messages, one a line. Never blocks.
    pub fn send(&mut self, bytes: Vec<u8>) {
        match self {
            Peer::Pipes(pipes) => pipes.send(bytes),
            Peer::Http(http) => http.send(bytes),
        }
    }

    /// The next thing from the server, or [`Incoming::Silence`] at the deadline.
    pub fn receive(&mut self, deadline: Instant) -> Incoming {
        match self {
            Peer::Pipes(pipes) => pipes.receive(deadline),
            Peer::Http(http) => http.receive(deadline),
        }
    }

    /// Gives up the request with this id by closing its response. `false` where that means nothing.
    pub fn hang_up(&mut self, id: &Value) -> bool {
        match self {
            Peer::Pipes(_) => false,
            Peer::Http(http) => http.hang_up(id),
        }
    }

    /// Leaves what the server writes unread from now on, or reads it again. Only a pipe can be left
    /// so.
    pub fn pause_reading(&self, is_paused: bool) {
        if let Peer::Pipes(pipes) = self {
            if is_paused {
                pipes.pause_reading();
            } else {
                pipes.go_on_reading();
            }
        }
    }

    /// Says that nothing more will be sent, once everything queued before has been.
    pub fn close(&mut self) {
        if let Peer::Pipes(pipes) = self {
            pipes.close_stdin();
        }
    }

    /// Waits for the process to end; `None` when it still runs at the deadline, or is not ours.
    pub fn wait_exit(&mut self, deadline: Instant) -> Option<ExitStatus> {
        match self {
            Peer::Pipes(pipes) => pipes.wait_exit(deadline),
            Peer::Http(_) => None,
        }
    }

    /// How much the server has taken so far: bytes on a pipe, messages over HTTP.
    pub fn taken(&self) -> u64 {
        match self {
            Peer::Pipes(pipes) => pipes.written_bytes(),
            Peer::Http(http) => http.taken(),
        }
    }

    /// The server's resident memory, where the system tells it (Linux).
    pub fn resident_kib(&self) -> Option<u64> {
        match self {
            Peer::Pipes(pipes) => pipes.resident_kib(),
            Peer::Http(http) => http.server().resident_kib(),
        }
    }

    /// The last of what the server wrote to stderr.
    pub fn stderr(&self) -> String {
        match self {
            Peer::Pipes(pipes) => pipes.stderr(),
            Peer::Http(http) => http.server().stderr(),
        }
    }

    /// Starts `command`.
    pub fn spawn(command: &[String], transcript: Transcript) -> std::io::Result<Peer> {
        Pipes::spawn(command, transcript).map(Peer::Pipes)
    }
}
