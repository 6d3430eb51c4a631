//! Any other system than Linux: the programs of a call are started, limited and ended by their
//! process groups, as everywhere, and nothing else is done. A program that leaves its group is not
//! found again. The compiler accepts it for macOS; nobody has tried it there.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::backend::wire::{Confined, Confinement, Mount};

/// Who leaves the process group is not found again.
pub(crate) const FINDS_ALL: bool = false;
const REASON: &str = "not on this system";

/// Nothing can be done ahead.
pub(crate) struct Prepared;

pub(crate) fn prepare(_: Confinement) -> Prepared {
    Prepared
}

pub(crate) fn confine(_: &Confinement, _: &Command, _: Option<Prepared>) -> Confined {
    Confined { problem: Some(REASON.to_owned()), ..Confined::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn no_new_privileges() -> io::Result<()> {
    Ok(())
}

pub(crate) fn protect(writable: &[PathBuf], _: &[Mount]) -> io::Result<bool> {
    if writable.is_empty() { Ok(false) } else { Err(io::Error::other(REASON)) }
}

pub(crate) fn unprotect(_: &[PathBuf], _: &[Mount]) {}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(crate) fn hide_from_others() {}

/// Both sides of a new terminal.
pub(crate) fn terminal() -> io::Result<(File, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = open(name.as_c_str(), flags, Mode::empty())?;
    Ok((File::from(ours), theirs))
}

pub(crate) fn most_tasks(max_processes: u64) -> u64 {
    max_processes
}

/// There is none.
#[derive(Debug)]
pub(crate) struct Group;

impl Group {
    pub(crate) fn create(_max_processes: u64) -> Option<Self> {
        None
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn limit(&self, _max_processes: u64) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn was_full(&self) -> bool {
        false
    }

    pub(crate) fn enter(&self) -> io::Result<()> {
        Err(io::Error::other(REASON))
    }
}

/// Nobody says which processes descend from this one.
pub(crate) mod tree {
    use rustix::process::Signal;

    pub(crate) fn alive() -> u64 {
        0
    }

    pub(crate) fn signal_all(_: Signal) {}

    pub(crate) fn kill_all() {}

    pub(crate) fn usage(_page_bytes: u64) -> (u64, u64) {
        (0, 0)
    }
}
