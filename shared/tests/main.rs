//! The protocol crate from the outside: a server that has one of everything, in memory, asked in
//! every revision. What bytes do on a real pipe is tested with the built servers, in the
//! workspace's `tests/`.

mod fixture;
mod raw;
mod content;
mod calls;
mod lists;
mod subscriptions;
mod lifecycle;
mod lines;
