//! The protocol crate from the outside: a server that has one of everything, in memory, asked in
//! every revision. What bytes do on a real pipe is tested with the built servers, in the
//! workspace's `tests/`.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where it finds something unexpected"
)]

mod fixture;
mod raw;
mod content;
mod calls;
mod batches;
mod asking;
mod asks;
mod replays;
mod limits;
mod lists;
mod subscriptions;
mod tasks;
mod lifecycle;
mod lines;
mod hostile;
