//! Hostile clients over HTTP, on raw sockets: each is refused or put up with, costs a bounded amount
//! of memory, and is in nobody else's way.

mod bodies;
mod crowds;
mod heads;
mod site;
