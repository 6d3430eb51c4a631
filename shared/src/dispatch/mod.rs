//! Turns messages into handler calls and their outcomes into messages, for one peer and whatever
//! transport carries it.
//!
//! Reading order: [`session`] takes one message at a time and decides which era it belongs to,
//! [`stateful`] or [`stateless`]; [`route`] finds the method and starts the handler, with [`pages`] for lists and [`complete`] for
//! completion; [`calls`] keeps what is in flight, answers or cancels it, exactly once, [`reply`]
//! knows where answers go, and [`caught`] catches what panics; [`tasks`] are calls that outlive
//! their request; [`listen`] tells subscribers of changes; [`connection`] carries a whole connection
//! through a session.

mod calls;
mod caught;
mod complete;
mod connection;
mod listen;
mod pages;
mod reply;
mod route;
mod session;
mod stateful;
mod stateless;
mod tasks;

pub(crate) use connection::serve;
#[cfg(feature = "http")]
pub(crate) use session::{Carrier, Session};
