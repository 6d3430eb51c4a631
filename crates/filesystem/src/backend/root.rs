//! One served directory, and the one call by which anything below it is opened.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlink, readlinkat};
use rustix::io::Errno;

/// Opening a FIFO without a writer, or some devices, would block without `NONBLOCK`.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    ReadWrite,
}

pub(super) struct Root {
    pub(super) descriptor: OwnedFd,
    pub(super) access: Access,
    /// The spellings under which a caller may name this directory in an absolute path.
    prefixes: [PathBuf; 2],
}

impl Root {
    pub(super) fn shown(&self) -> &Path {
        let [given, _] = &self.prefixes;
        given
    }

    /// `path` as seen from this directory, if it can be.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if path.is_relative() {
            return Some(path);
        }
        let inner = self.prefixes.iter().find_map(|prefix| path.strip_prefix(prefix).ok())?;
        Some(if inner.as_os_str().is_empty() { Path::new(".") } else { inner })
    }

    /// Whether this directory is `dir` or below it.
    pub(super) fn is_in(&self, dir: &Path) -> bool {
        self.prefixes.iter().any(|prefix| prefix.starts_with(dir))
    }

    /// A directory below this one, as a root of its own.
    pub(super) fn narrowed(&self, descriptor: OwnedFd, shown: &Path, real: PathBuf) -> Self {
        Self { descriptor, access: self.access, prefixes: [shown.to_owned(), real] }
    }

    /// Where this directory is now, without links.
    pub(super) fn real(&self) -> Result<PathBuf, Errno> {
        real_path(&self.descriptor)
    }
}

pub(super) fn open_root(dir: &Path, access: Access) -> std::io::Result<Root> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(dir, flags, Mode::empty())?;
    let prefixes = [std::path::absolute(dir)?, dir.canonicalize()?];
    Ok(Root { descriptor, access, prefixes })
}

/// Opens what lies below `root`; no link, `..` or rename can lead out.
pub(super) fn beneath(root: &Root, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    const MAX_TRIES: u32 = 16;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 1..MAX_TRIES {
        match openat2(&root.descriptor, inner, flags, Mode::empty(), resolve) {
            // Something was renamed while the kernel walked a `..`.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Where the opened file lies, whatever links led to it.
pub(super) fn real_path(file: &OwnedFd) -> Result<PathBuf, Errno> {
    let target = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Where an opened link points.
pub(super) fn link_target(link: &OwnedFd) -> Result<PathBuf, Errno> {
    let target = readlinkat(link, "", Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}
