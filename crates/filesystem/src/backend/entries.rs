//! What is in an open directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::root::READ;

pub(super) struct RawEntry {
    pub(super) name: OsString,
    /// Of the entry itself; a link is not followed.
    pub(super) kind: FileType,
}

/// In no order.
pub(super) fn entries(directory: impl AsFd) -> Result<Vec<RawEntry>, Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        found.push(RawEntry { name: name.to_owned(), kind });
    }
    Ok(found)
}

/// The directory called `name`, if it is one and not a link to one.
pub(super) fn subdirectory(directory: impl AsFd, name: &OsStr) -> Result<File, Errno> {
    let flags = READ | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    Ok(openat(directory, name, flags, Mode::empty())?.into())
}
