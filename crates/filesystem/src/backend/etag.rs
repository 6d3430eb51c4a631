//! A short mark that is another one after any change of a file, so that nobody overwrites what
//! they have not read.

use std::os::fd::AsFd;

use rustix::fs::{Dev, Stat, fstat};

/// The same as long as it is the same file, wherever it is moved and whatever is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    device: Dev,
    inode: u64,
}

impl FileId {
    pub(super) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// Made of the inode, the size and the time of the last change, which no program can set back.
pub(super) fn of_stat(stat: &Stat) -> String {
    format!("{:x}-{:x}-{:x}{:08x}", stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}

pub(super) fn of_file(file: impl AsFd) -> std::io::Result<String> {
    Ok(of_stat(&fstat(file)?))
}
