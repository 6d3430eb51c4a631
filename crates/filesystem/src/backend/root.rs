//! One served directory, and the spellings of paths below it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::beneath::real_path;

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
