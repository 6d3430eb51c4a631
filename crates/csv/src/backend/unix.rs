//! Unix: the kernel opens what is beneath a directory, and nothing else.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::listing::Kind;
use super::sandbox::Refusal;

pub(super) type Directory = OwnedFd;

pub(super) fn open_root(dir: &Path) -> io::Result<Directory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(dir, flags, Mode::empty())?)
}

pub(super) fn canonicalize(dir: &Path) -> io::Result<PathBuf> {
    dir.canonicalize()
}

/// A path as a pattern: with `/` between its parts.
pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    Cow::Borrowed(path)
}

pub(super) fn open_regular(root: &Directory, path: &Path) -> Result<File, Refusal> {
    let file = open_beneath(root, path)?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(Refusal::NotAFile),
    }
}

pub(super) fn open_directory(root: &Directory, path: &Path) -> Result<Directory, Refusal> {
    if path.as_os_str().is_empty() {
        return root.try_clone().map_err(Refusal::Failed);
    }
    let directory = open_beneath(root, path)?;
    match FileType::from_raw_mode(fstat(&directory)?.st_mode) {
        FileType::Directory => Ok(directory),
        _ => Err(Refusal::Missing),
    }
}

/// How the system names a directory beneath the root, which it names `root_path`.
#[cfg(target_os = "linux")]
pub(super) fn real_path(root: &Directory, _root_path: &Path, path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let directory = open_directory(root, path).ok()?;
    std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()
}

/// Right as it is written, because no link is followed to open it.
#[cfg(not(target_os = "linux"))]
pub(super) fn real_path(root: &Directory, root_path: &Path, path: &Path) -> Option<PathBuf> {
    open_directory(root, path).ok().map(|_| root_path.join(path))
}

/// Until it takes no more.
pub(super) fn each_entry(directory: &Directory, mut take: impl FnMut(&OsStr, Kind) -> bool) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let kind = match entry.file_type() {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File,
            _ => Kind::Other,
        };
        if !take(OsStr::from_bytes(entry.file_name().to_bytes()), kind) {
            return;
        }
    }
}

/// A directory that was an entry of this one. No link is followed.
pub(super) fn open_entry(directory: &Directory, name: &OsStr) -> Option<Directory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory.as_fd(), name, flags, Mode::empty()).ok()
}

/// Wherever else the file is read at the same time.
pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

/// Opening a FIFO without a writer, or some devices, would block without `NONBLOCK`.
const OPEN_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_beneath(root: &Directory, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, OPEN_FLAGS, Mode::empty(), resolve) {
        // Before Linux 5.6, and under some container filters.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(root, path),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &Directory, path: &Path) -> Result<OwnedFd, Errno> {
    open_by_steps(root, path)
}

/// Stricter than the kernel's way: no `..` and no link at all, so no step can leave the directory.
fn open_by_steps(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut components = path.components().filter(|part| *part != Component::CurDir).peekable();
    let mut directory = root.try_clone().map_err(|_| Errno::MFILE)?;
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV);
        };
        let is_last = components.peek().is_none();
        let kind = if is_last { OFlags::empty() } else { OFlags::DIRECTORY };
        let flags = OPEN_FLAGS | OFlags::NOFOLLOW | kind;
        directory = openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV | Errno::LOOP => Self::Outside,
            Errno::ISDIR | Errno::NXIO | Errno::NODEV => Self::NotAFile,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => Self::Missing,
            other => Self::Failed(other.into()),
        }
    }
}

/// The fallback is not reached on the machines that run the tests, so they call it directly.
#[cfg(test)]
pub(crate) fn opens_by_steps(dir: &Path, path: &str) -> bool {
    open_root(dir).is_ok_and(|root| open_by_steps(&root, Path::new(path)).is_ok())
}
