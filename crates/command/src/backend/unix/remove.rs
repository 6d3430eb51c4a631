//! Removes a directory with all that programs have put in it, however deep it is and whatever its
//! rights say. A way that goes down level by level takes a descriptor and some stack for each, and a
//! program can make more levels than this process has of either; so what lies deeper is moved up.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::stat::{FchmodatFlags, Mode as Rights, fchmodat};
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// Somebody may be making more all the time.
const AT_MOST: Duration = Duration::from_secs(60);

/// Nothing outside of it is touched: links are removed, not followed.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    if fs::remove_dir(dir).is_ok() {
        return Ok(());
    }
    let until = Instant::now() + AT_MOST;
    let mut removal = Removal { top: open(CWD, dir)?, moved: 0, done: 0, failed: None };
    while removal.pass()? && Instant::now() < until {}
    fs::remove_dir(dir).map_err(|error| removal.failed.unwrap_or(error))
}

struct Removal {
    top: OwnedFd,
    /// So many names for what is moved to the top were tried.
    moved: u64,
    /// So much is no longer where it was.
    done: u64,
    failed: Option<io::Error>,
}

impl Removal {
    /// Over everything at the top. `false` if that is of no use any more.
    fn pass(&mut self) -> io::Result<bool> {
        let before = self.done;
        for entry in Dir::read_from(&self.top)? {
            let entry = entry?;
            let name = name(&entry);
            let outcome = unlink(&self.top, name).or_else(|_| self.take_apart(name));
            self.note(outcome);
        }
        Ok(self.done > before)
    }

    /// A directory at the top. What is in it is removed or moved to the top.
    fn take_apart(&mut self, dir: &Path) -> io::Result<bool> {
        let inner = open(&self.top, dir)?;
        for entry in Dir::read_from(&inner)? {
            let entry = entry?;
            let name = name(&entry);
            let outcome = unlink(&inner, name).or_else(|_| self.move_up(&inner, name));
            self.note(outcome);
        }
        unlink(&self.top, dir)
    }

    fn move_up(&mut self, from: &OwnedFd, name: &Path) -> io::Result<bool> {
        // Without its rights it is not moved either.
        open_up(from, name);
        loop {
            self.moved += 1;
            match renameat(from, name, &self.top, self.moved.to_string()) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => {}
                other => return Ok(other.map(|()| true)?),
            }
        }
    }

    fn note(&mut self, outcome: io::Result<bool>) {
        match outcome {
            Ok(is_done) => self.done += u64::from(is_done),
            Err(error) => self.failed = Some(error),
        }
    }
}

fn name(entry: &DirEntry) -> &Path {
    Path::new(OsStr::from_bytes(entry.file_name().to_bytes()))
}

/// A file or an empty directory. `false` for what is not to be removed, or is not there.
fn unlink(dir: &OwnedFd, name: &Path) -> io::Result<bool> {
    if matches!(name.as_os_str().as_bytes(), b"." | b"..") {
        return Ok(false);
    }
    let as_file = unlinkat(dir, name, AtFlags::empty());
    match as_file.or_else(|_| unlinkat(dir, name, AtFlags::REMOVEDIR)) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn open(at: impl AsFd, dir: &Path) -> io::Result<OwnedFd> {
    open_up(&at, dir);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, dir, flags, Mode::empty())?)
}

/// Takes the right to change what is in a directory, if it can be had.
fn open_up(at: impl AsFd, name: &Path) {
    let found = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW);
    if found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory) {
        let _somebody_elses = fchmodat(at, name, Rights::S_IRWXU, FchmodatFlags::NoFollowSymlink);
    }
}
