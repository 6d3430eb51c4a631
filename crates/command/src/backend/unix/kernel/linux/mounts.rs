//! A view of the file system for the programs of one call, in which all but some places is read-only:
//! the rules for files do not bound who changes the rights, owners and times of one that can be read.
//! It belongs to the helper and is gone with it; nobody else sees it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
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

/// Must be called when this process has one thread left, unless it is the superuser's. Without
/// anything `writable` nothing is done. Outer mounts come first, and lie in what is writable.
///
/// `true`: in a space of users of their own, where their processes are counted by themselves.
pub(crate) fn put_on(writable: &[PathBuf], mounts: &[Mount]) -> io::Result<bool> {
    if writable.is_empty() {
        return Ok(false);
    }
    let has_own_users = own_view()?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    let found = found()?;
    for path in writable {
        mount(Some(path), path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    }
    // What lies in a writable place is beneath its mount by now.
    let is_open = |path: &Path| writable.iter().any(|open| path.starts_with(open));
    for Found { path, flags, .. } in found.iter().filter(|found| !is_open(&found.path)) {
        match remount(path, *flags | MsFlags::MS_RDONLY) {
            // Nobody gets there by this name: something is mounted over it, or they may not.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT | Errno::EACCES | Errno::ENOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    mounts.iter().try_for_each(put_on_one)?;
    Ok(has_own_users)
}

/// Takes all of it off, so that what is beneath can be removed.
pub(crate) fn take_off(writable: &[PathBuf], mounts: &[Mount]) {
    for path in mounts.iter().map(|mount| &mount.path).chain(writable).rev() {
        let _not_mounted = umount2(path, MntFlags::MNT_DETACH);
    }
    for Found { path, flags } in found().unwrap_or_default() {
        let _was_so_before = remount(&path, flags);
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
        remount(path, MsFlags::MS_RDONLY | kept(path)?)?;
    }
    Ok(())
}

fn remount(path: &Path, flags: MsFlags) -> Result<(), Errno> {
    mount(NONE, path, NONE, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags, NONE)
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

struct Found {
    path: PathBuf,
    /// All but whether it is read-only; only the system's superuser could take one away.
    flags: MsFlags,
}

/// All there is mounted, as `proc_pid_mountinfo(5)` has it.
fn found() -> io::Result<Vec<Found>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let found = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let (path, options) = (fields.next()?, fields.next()?);
        let named = options.split(|byte| *byte == b',').filter_map(flag);
        Some(Found { path: unescaped(path), flags: named.collect() })
    });
    Ok(found.collect())
}

fn flag(name: &[u8]) -> Option<MsFlags> {
    match name {
        b"nosuid" => Some(MsFlags::MS_NOSUID),
        b"nodev" => Some(MsFlags::MS_NODEV),
        b"noexec" => Some(MsFlags::MS_NOEXEC),
        b"noatime" => Some(MsFlags::MS_NOATIME),
        b"nodiratime" => Some(MsFlags::MS_NODIRATIME),
        b"relatime" => Some(MsFlags::MS_RELATIME),
        _ => None,
    }
}

/// Some bytes are written as a backslash and three octal digits.
fn unescaped(mut name: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    while let Some((first, rest)) = name.split_first() {
        let digits =
            rest.get(..3).filter(|_| *first == b'\\').and_then(|it| str::from_utf8(it).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        name = rest.get(if escaped.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    PathBuf::from(OsString::from_vec(bytes))
}
