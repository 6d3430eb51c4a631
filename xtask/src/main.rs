//! The workspace runner.

fn main() {}
