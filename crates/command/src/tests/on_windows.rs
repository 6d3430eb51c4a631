//! The tests that need Windows, with programs every Windows has. They run there, or anywhere by
//! `cargo test --target x86_64-pc-windows-gnu` with Wine as the target's runner.

pub(crate) mod parts;
mod windows_calls;
