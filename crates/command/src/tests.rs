//! Through the protocol, in memory, with real programs.
//!
//! `rig` is what they share, `parts` lets the test runner be the helper process. `running` (what
//! comes back), `refused` (the policy), `confined` (what the kernel refuses to programs that may
//! run anything), `survivors` (nothing is left), `printed` (output), `jobs`, `told` (text shown).

pub(crate) mod parts;
mod rig;
mod running;
mod refused;
mod confined;
mod survivors;
mod printed;
mod jobs;
mod told;
