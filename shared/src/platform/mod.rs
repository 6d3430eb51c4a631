//! What systems do differently: who is told to stop and how, standard input and output, sockets
//! with a path. Each question has one function of the same name in every system's file.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as this;
#[cfg(windows)]
use windows as this;

#[cfg(feature = "http")]
pub(crate) use this::LocalListener;
pub(crate) use this::{Stream, sink, source, take_stdio, told_to_stop};
