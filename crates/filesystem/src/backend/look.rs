//! Lists a directory and describes a file through descriptors that are already open.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Dir, FileType};
use schemars::JsonSchema;
use serde::Serialize;

use super::Error;
use super::sandbox::{Opened, explain};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Other,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// In the directory, without those `--deny` hides.
    pub(crate) total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileInfo {
    /// What it is; a link is followed.
    kind: Kind,
    size_bytes: u64,
    /// Seconds since 1970, UTC.
    modified_unix_secs: i64,
    /// Octal, for example `644`.
    permissions: String,
}

pub(super) fn list(opened: Opened, path: &str, skip: usize, max: usize) -> Result<Listing, Error> {
    let failed = |errno| match errno {
        rustix::io::Errno::NOTDIR => Error::NotADirectory { path: path.to_owned() },
        other => explain(other, path),
    };
    let mut entries = Vec::new();
    for entry in Dir::read_from(&opened.file).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || opened.hides(Path::new(name)) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        entries.push(Entry { name: name.to_string_lossy().into_owned(), kind });
    }
    entries.sort_unstable();
    let total = entries.len();
    let entries = entries.into_iter().skip(skip).take(max).collect();
    Ok(Listing { entries, total })
}

pub(super) fn info(opened: Opened, path: &str) -> Result<FileInfo, Error> {
    let found =
        opened.file.metadata().map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
    Ok(FileInfo {
        kind: if found.is_dir() { Kind::Directory } else { Kind::File },
        size_bytes: found.len(),
        modified_unix_secs: found.mtime(),
        permissions: format!("{:o}", found.mode() & 0o7777),
    })
}
