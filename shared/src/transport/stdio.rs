//! Standard input and output as a transport, and nobody else's any more.
//!
//! Once taken, standard output leads to standard error and standard input to nothing: a stray print
//! of a dependency, of a handler or of a child process cannot reach the protocol stream.

use std::io;

use super::Transport;
use super::lines::Lines;
use crate::platform;

/// Standard input and output, taken from everybody else.
pub(crate) struct Stdio {
    input: platform::Stream,
    output: platform::Stream,
}

impl Stdio {
    /// Call it before anything can print.
    pub(crate) fn take() -> io::Result<Self> {
        let (input, output) = platform::take_stdio()?;
        Ok(Self { input, output })
    }

    /// Call it on the runtime that will serve.
    pub(crate) fn into_transport(self, max_message_bytes: usize) -> io::Result<impl Transport> {
        let (source, sink) = (platform::source(self.input)?, platform::sink(self.output)?);
        Ok(Lines::new(source, sink, max_message_bytes))
    }
}
