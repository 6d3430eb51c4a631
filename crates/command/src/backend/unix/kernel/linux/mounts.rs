//! A view of the file system for the programs of one call, in which some places are read-only. It
//! belongs to the helper and is gone with it; nobody else sees it.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{getegid, geteuid};

use crate::backend::wire::Mount;

const MAX_TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_micros(100);
/// A mount without a file system of its own has none of these.
const NONE: Option<&str> = None;

/// Must be called when this process has one thread left, unless it is the superuser's. Outer mounts
/// come first.
///
/// `true`: in a space of users of their own, where their processes are counted by themselves.
pub(crate) fn put_on(mounts: &[Mount]) -> io::Result<bool> {
    if mounts.is_empty() {
        return Ok(false);
    }
    let has_own_users = own_view()?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    mounts.iter().try_for_each(put_on_one)?;
    Ok(has_own_users)
}

/// Takes them off, so that what is beneath can be removed.
pub(crate) fn take_off(mounts: &[Mount]) {
    for Mount { path, .. } in mounts.iter().rev() {
        let _not_mounted = umount2(path, MntFlags::MNT_DETACH);
    }
}

/// The superuser makes one at once, everybody else as the superuser of a space of users with
/// nobody else in it, if the system lets them.
fn own_view() -> io::Result<bool> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(false);
    }
    let mut tries = 0;
    while let Err(error) = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS) {
        // A thread that has been waited for is still counted for a moment.
        if error != Errno::EINVAL || tries == MAX_TRIES {
            return Err(error.into());
        }
        tries += 1;
        thread::sleep(BETWEEN_TRIES);
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}

fn put_on_one(Mount { path, read_only }: &Mount) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_symlink() {
        // It would be what it leads to that is protected, and not the link.
        return Err(io::Error::other("a link"));
    }
    mount(Some(path), path, NONE, MsFlags::MS_BIND, NONE)?;
    if *read_only {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | kept(path)?;
        mount(NONE, path, NONE, flags, NONE)?;
    }
    Ok(())
}

/// What the mount has already; only the system's superuser could take it away.
fn kept(path: &Path) -> io::Result<MsFlags> {
    let found = statvfs(path)?.f_flag;
    let known = [
        (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
        (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = known.iter().filter(|(flag, _)| found.contains(*flag));
    Ok(kept.fold(MsFlags::empty(), |all, (_, flag)| all | *flag))
}
