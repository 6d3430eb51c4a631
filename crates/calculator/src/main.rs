//! Placeholder; grows into the server.

fn main() {}
