//! In one call: openat2, which Linux has from 5.6 on.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlink, readlinkat};
use rustix::io::Errno;

use crate::backend::root::READ;

/// To ask what something is, without permission to read it.
pub(in crate::backend) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

pub(in crate::backend) fn open(
    start: impl AsFd,
    inner: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    const MAX_TRIES: u32 = 16;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 1..MAX_TRIES {
        match openat2(&start, inner, flags, Mode::empty(), resolve) {
            // Something was renamed while the kernel walked a `..`.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

pub(in crate::backend) fn open_directory(start: impl AsFd, path: &Path) -> Result<File, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(openat2(start, path, READ | OFlags::DIRECTORY, Mode::empty(), resolve)?.into())
}

/// Where the opened file lies, whatever links led to it.
pub(in crate::backend) fn real_path(file: &impl AsRawFd) -> Result<PathBuf, Errno> {
    let target = readlink(path_to(file)?, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Leads to the opened file itself, wherever it has been moved.
pub(in crate::backend) fn path_to(file: &impl AsRawFd) -> Result<PathBuf, Errno> {
    Ok(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
}

/// Where a link points; `None` if it is not a link.
pub(in crate::backend) fn link_target(
    start: impl AsFd,
    link: &Path,
) -> Result<Option<PathBuf>, Errno> {
    let opened = open(start, link, LOOK | OFlags::NOFOLLOW)?;
    match readlinkat(&opened, "", Vec::new()) {
        Ok(target) => Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes())))),
        Err(Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno),
    }
}
