//! The command server as a process: with real clients, a real kernel and other users.
//!
//! `rig` starts it, `survivors` (nothing is left, however it ends), `floods` (how much is printed
//! matters to nobody), `owners` (clients over HTTP), `unprivileged` (without being the superuser).

mod rig;
mod survivors;
mod floods;
mod owners;
mod unprivileged;
