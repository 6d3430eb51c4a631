//! Lists a directory and describes a file through descriptors that are already open.

use std::os::unix::fs::MetadataExt;

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::entries;
use super::error::{Error, explain};
use super::sandbox::{Opened, Sandbox};
use super::{etag, names};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Other,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// As a caller may send it back.
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
    /// Another one after any change; see `ifMatch` of the tools that write.
    etag: String,
}

pub(super) fn list(
    sandbox: &Sandbox,
    path: &str,
    skip: usize,
    max: usize,
) -> Result<Listing, Error> {
    let Opened { file, real } = sandbox.open_any(path)?;
    let failed = |errno| match errno {
        rustix::io::Errno::NOTDIR => Error::NotADirectory { path: path.to_owned() },
        other => explain(other, path),
    };
    let mut listed: Vec<Entry> = entries(&file)
        .map_err(failed)?
        .into_iter()
        .filter(|entry| !sandbox.hides(&real.join(&entry.name)))
        .map(|entry| Entry { name: names::spell(&entry.name), kind: kind_of(entry.kind) })
        .collect();
    listed.sort_unstable();
    let total = listed.len();
    let entries = listed.into_iter().skip(skip).take(max).collect();
    Ok(Listing { entries, total })
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
