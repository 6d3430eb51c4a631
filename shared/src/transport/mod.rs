//! What carries messages between us and a peer.
//!
//! A transport frames messages and knows nothing of what they say. [`stdio`] and [`memory`] are
//! both [`lines`] over different streams; anything else (a socket, a message queue) can be one by
//! implementing [`Transport`].

pub(crate) mod lines;
pub mod memory;
pub(crate) mod stdio;

use std::future::Future;
use std::io;

use crate::jsonrpc::Id;

/// Both directions of a connection to one peer.
pub trait Transport: Send {
    /// The direction from the peer to us.
    type Reader: Reader;
    /// The direction from us to the peer.
    type Writer: Writer;

    /// Takes the two directions apart, so that one can wait while the other works.
    fn split(self) -> (Self::Reader, Self::Writer);
}

/// Messages from the peer.
pub trait Reader: Send {
    /// Waits until [`Reader::next`] has something to give; `false` if the peer has closed, after
    /// which `next` may still give what came before. Must lose nothing when it is dropped
    /// half-way.
    fn fill(&mut self) -> impl Future<Output = io::Result<bool>> + Send;

    /// The next message that is here already, without waiting.
    fn next(&mut self) -> Option<Frame<'_>>;
}

/// Messages to the peer.
pub trait Writer: Send {
    /// Sends a beginning of `bytes` and says how long it was. `bytes` are whole messages, each
    /// ended by a newline, a message holding no other newline; the call that follows begins where
    /// this one stopped. Must lose nothing when it is dropped half-way.
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> + Send;
}

/// One message, or what is left of one.
#[derive(Debug)]
pub enum Frame<'a> {
    /// The bytes of a message, without the newline.
    Message(&'a [u8]),
    /// A message over the limit, thrown away.
    TooLong(TooLong),
}

/// A message that was longer than allowed.
#[derive(Debug)]
pub struct TooLong {
    /// The limit in bytes.
    pub max_bytes: usize,
    /// The id of the request it was, if it could be found.
    pub(crate) id: Option<Id<'static>>,
}

impl TooLong {
    /// For a transport that cannot tell whose message it was.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, id: None }
    }
}
