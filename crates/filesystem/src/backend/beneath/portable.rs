//! Name by name, with cap-std.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::backend::entries::subdirectory;
use crate::backend::root::READ;

/// There is no way to look without reading.
pub(in crate::backend) const LOOK: OFlags = READ;

pub(in crate::backend) fn open(
    start: impl AsFd,
    inner: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let start = File::from(start.as_fd().try_clone_to_owned().map_err(errno)?);
    let follow =
        if flags.contains(OFlags::NOFOLLOW) { FollowSymlinks::No } else { FollowSymlinks::Yes };
    let mut options = OpenOptions::new();
    options.read(true)._cap_fs_ext_follow(follow).custom_flags(flags.bits().cast_signed());
    Ok(cap_primitives::fs::open(&start, inner, &options).map_err(errno)?.into())
}

/// A directory below another, without links on the way.
pub(in crate::backend) fn open_directory(start: impl AsFd, path: &Path) -> Result<File, Errno> {
    let start = subdirectory(start, ".".as_ref())?;
    path.iter().try_fold(start, subdirectory)
}

fn errno(error: Error) -> Errno {
    match Errno::from_io_error(&error) {
        Some(errno) => errno,
        // What cap-std itself refuses, it refuses because it leads out.
        None if error.kind() == ErrorKind::PermissionDenied => Errno::XDEV,
        None => Errno::IO,
    }
}

/// Where the opened file lies, whatever links led to it.
#[cfg(target_vendor = "apple")]
pub(in crate::backend) fn real_path(file: impl AsFd) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

/// Where the opened file lies now.
#[cfg(target_vendor = "apple")]
pub(in crate::backend) fn path_to(file: impl AsFd) -> Result<PathBuf, Errno> {
    real_path(file)
}

/// Absolute links are not followed, so nobody has to know where they point.
pub(in crate::backend) fn link_target(_: impl AsFd, _: &Path) -> Result<Option<PathBuf>, Errno> {
    Err(Errno::XDEV)
}

/// The same outcome as the kernel's, for every kind of path.
/// The kernel is asked for the right outcome.
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "inside").unwrap();
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        for (target, name) in [
            ("a/file", "link"),
            ("../secret", "out"),
            ("..", "up"),
            ("/etc/passwd", "absolute"),
            ("/proc/self/root", "magic"),
            ("../nowhere", "dangling"),
            ("loop", "loop"),
            ("a/../a/b/../file", "round"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        let start = File::open(&root).unwrap();
        for path in [
            "a/file",
            "link",
            "round",
            "a/../link",
            "./a//file",
            ".",
            "a/b",
            "out",
            "up",
            "up/secret",
            "absolute",
            "magic/etc/passwd",
            "dangling",
            "loop",
            "..",
            "a/../../secret",
            "/etc/passwd",
            "missing",
            "a/file/x",
        ] {
            let ours = open(&start, Path::new(path), READ).map(|_| ());
            let kernels = super::super::linux::open(&start, Path::new(path), READ).map(|_| ());
            assert_eq!(ours.is_ok(), kernels.is_ok(), "{path}: {ours:?} {kernels:?}");
        }
        for path in ["a", "a/b", "up", "link"] {
            let ours = open_directory(&start, Path::new(path)).is_ok();
            assert_eq!(ours, ["a", "a/b"].contains(&path), "{path}");
        }
    }
}
