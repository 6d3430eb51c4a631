//! Linux.

mod bpf;
mod confine;
mod group;
mod mounts;
mod seccomp;
pub(crate) mod tree;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

pub(crate) use confine::{Prepared, confine, no_new_privileges, prepare};
pub(crate) use group::{Group, most_tasks};
pub(crate) use mounts::{put_on as protect, take_off as unprotect};

/// No process of a call gets away from its helper.
pub(crate) const FINDS_ALL: bool = true;

/// Whoever loses its parent becomes a child of this process, if it descends from it.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// No other process of the same user finds this one's environment or memory.
pub(crate) fn hide_from_others() {
    let _shown = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Both sides of a new terminal.
pub(crate) fn terminal() -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((File::from(ours), theirs))
}
