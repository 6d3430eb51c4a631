//! Lists a directory and describes a file through descriptors that are already open.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, FileType, statat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{RawEntry, entries};
use super::error::{Error, explain};
use super::sandbox::{Opened, Sandbox};
use super::{etag, names};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Name,
    /// Largest first.
    Size,
    /// Newest first.
    Modified,
}

pub(crate) struct List {
    pub(crate) path: String,
    pub(crate) order: Order,
    /// Sizes and times are wanted.
    pub(crate) with_details: bool,
    pub(crate) skip: usize,
    pub(crate) max_entries: usize,
}

#[derive(Debug)]
pub(crate) struct Entry {
    /// As a caller may send it back.
    pub(crate) name: String,
    /// Of the entry itself; a link is not followed.
    pub(crate) kind: Kind,
    pub(crate) details: Option<Details>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Details {
    pub(crate) size_bytes: u64,
    /// Seconds since 1970, UTC.
    pub(crate) modified_unix_secs: i64,
}

#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// In the directory, without those `--deny` hides.
    pub(crate) total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileInfo {
    // A link is followed.
    kind: Kind,
    size_bytes: u64,
    modified_unix_secs: i64,
    /// Octal, as `644`.
    permissions: String,
    etag: String,
}

pub(super) fn list(sandbox: &Sandbox, request: &List) -> Result<Listing, Error> {
    let Opened { file, real } = sandbox.open_directory(&request.path)?;
    let hidden = sandbox.hidden();
    let mut found = entries(&file).map_err(|errno| explain(errno, &request.path))?;
    found.retain(|entry| !hidden.is_hidden(&real.join(&entry.name)));
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let total = found.len();
    let page = request.skip..request.skip.saturating_add(request.max_entries);
    if request.order == Order::Name {
        // Only those that are shown are asked for details.
        found = in_range(found, &page);
    }
    let with_details = request.with_details || request.order != Order::Name;
    let entry = |raw: RawEntry| Entry {
        details: with_details.then(|| details(&file, &raw.name)).flatten(),
        name: names::spell(&raw.name),
        kind: kind_of(raw.kind),
    };
    let mut entries: Vec<Entry> = found.into_iter().map(entry).collect();
    let size = |entry: &Entry| Reverse(entry.details.map(|details| details.size_bytes));
    let time = |entry: &Entry| Reverse(entry.details.map(|details| details.modified_unix_secs));
    match request.order {
        Order::Name => return Ok(Listing { entries, total }),
        Order::Size => entries.sort_by_key(size),
        Order::Modified => entries.sort_by_key(time),
    }
    Ok(Listing { entries: in_range(entries, &page), total })
}

fn in_range<T>(all: Vec<T>, range: &Range<usize>) -> Vec<T> {
    all.into_iter().take(range.end).skip(range.start).collect()
}

fn details(directory: &File, name: &OsStr) -> Option<Details> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
    Some(Details { size_bytes, modified_unix_secs: stat.st_mtime })
}

pub(super) fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

pub(super) fn info(opened: Opened, path: &str) -> Result<FileInfo, Error> {
    let failed = |cause| Error::Read { path: path.to_owned(), cause };
    let found = opened.file.metadata().map_err(failed)?;
    Ok(FileInfo {
        kind: if found.is_dir() { Kind::Directory } else { Kind::File },
        size_bytes: found.len(),
        modified_unix_secs: found.mtime(),
        permissions: format!("{:o}", found.mode() & 0o7777),
        etag: etag::of_file(&opened.file).map_err(failed)?,
    })
}
