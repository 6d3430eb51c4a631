//! What only the kernel can do for a call: to confine its programs, to hide and to protect files
//! from them, to count them, and to find all they have started. Everything that depends on the
//! kernel's kind is behind this module. Linux has all of it; elsewhere nothing of it is done, and each
//! result says so. The feature `portable` builds the server for Linux as if it were any other system,
//! so that what remains then can be tested.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
mod portable;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as this;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
use portable as this;

pub(crate) use this::{
    FINDS_ALL, Group, Prepared, adopt_orphans, confine, hide_from_others, most_tasks,
    no_new_privileges, prepare, protect, terminal, tree, unprotect,
};
