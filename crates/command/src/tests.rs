//! Through the protocol, in memory, with real programs.
//!
//! `rig` is what they share, `parts` lets the test runner be the helper process. `running` (what
//! comes back), `refused` and `programs` (the policy), `confined` (what the kernel refuses to programs that may
//! run anything), `privileged` and `protected` (ways around that), `scratch` (the directory of a call), `crowded` (too much), `survivors` (nothing is left), `printed` (output), `jobs`, `told` (text shown), `windows` (names there),
//! `catalogue` (which attack is in which test).

pub(crate) mod parts;
mod rig;
mod running;
mod refused;
mod programs;
mod confined;
#[cfg(target_os = "linux")]
mod privileged;
mod protected;
mod scratch;
mod crowded;
mod survivors;
mod printed;
mod jobs;
mod told;
mod windows;
mod catalogue;
