//! Windows: `cap-std` opens what is beneath a directory, part by part from the handle of the one
//! above, and follows no link out of it.
//!
//! What only looks like a name is refused before: a name there has other spellings, and some that are
//! of devices.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::windows::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::listing::Kind;
use super::sandbox::Refusal;

pub(super) type Directory = Dir;

const DEVICES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];
/// With a digit after them.
const PORTS: [&str; 2] = ["COM", "LPT"];
/// What Windows has no room for in a name. A `:` would lead to a stream of the file.
const NOT_IN_NAMES: [char; 7] = ['<', '>', ':', '"', '|', '?', '*'];
const ERROR_TOO_MANY_LINKS: i32 = 1142;

pub(super) fn open_root(dir: &Path) -> io::Result<Directory> {
    Dir::open_ambient_dir(dir, ambient_authority())
}

/// As people write it, not with `\\?\` in front.
pub(super) fn canonicalize(dir: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(dir)
}

/// A path as a pattern: with `/` between its parts.
pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    Cow::Owned(path.replace('\\', "/"))
}

pub(super) fn open_regular(root: &Directory, path: &Path) -> Result<File, Refusal> {
    let inner = inner(root, path)?;
    if inner.as_os_str().is_empty() {
        let is_root = !path.as_os_str().is_empty();
        return Err(if is_root { Refusal::NotAFile } else { Refusal::Missing });
    }
    let file = match root.open(&inner) {
        Ok(file) => file.into_std(),
        // Which is not what the system says.
        Err(_) if root.metadata(&inner).is_ok_and(|found| found.is_dir()) => {
            return Err(Refusal::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(Refusal::NotAFile) }
}

pub(super) fn open_directory(root: &Directory, path: &Path) -> Result<Directory, Refusal> {
    let inner = inner(root, path)?;
    let is_root = inner.as_os_str().is_empty();
    Ok(if is_root { root.try_clone()? } else { root.open_dir(inner)? })
}

/// How the system names a directory beneath the root, which it names `root_path`.
pub(super) fn real_path(root: &Directory, root_path: &Path, path: &Path) -> Option<PathBuf> {
    let inner = inner(root, path).ok()?;
    let is_root = inner.as_os_str().is_empty();
    Some(if is_root {
        root_path.to_owned()
    } else {
        root_path.join(root.canonicalize(inner).ok()?)
    })
}

/// Until it takes no more.
pub(super) fn each_entry(directory: &Directory, mut take: impl FnMut(&OsStr, Kind) -> bool) {
    let Ok(entries) = directory.entries() else { return };
    for entry in entries.filter_map(Result::ok) {
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => Kind::Directory,
            Ok(kind) if kind.is_file() => Kind::File,
            _ => Kind::Other,
        };
        if !take(&entry.file_name(), kind) {
            return;
        }
    }
}

/// A directory that was an entry of this one. No link is followed out of it.
pub(super) fn open_entry(directory: &Directory, name: &OsStr) -> Option<Directory> {
    directory.open_dir(name).ok()
}

/// Wherever else the file is read at the same time: the offset is part of each reading.
pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(into, offset)
}

/// The path without `.` and `..`, which Windows takes away before it looks, too. Each of its parts is
/// the name of a file and its only one.
fn inner(root: &Directory, path: &Path) -> Result<PathBuf, Refusal> {
    let mut inner = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if inner.pop() => {}
            Component::Normal(name) if !is_plain_name(name) => return Err(Refusal::Missing),
            Component::Normal(name) if may_be_short(name) && !is_listed(root, &inner, name) => {
                return Err(Refusal::Missing);
            }
            Component::Normal(name) => inner.push(name),
            _ => return Err(Refusal::Outside),
        }
    }
    Ok(inner)
}

fn is_plain_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_odd = |letter: char| letter.is_control() || NOT_IN_NAMES.contains(&letter);
    !name.contains(is_odd) && !name.ends_with(['.', ' ']) && !is_device(name)
}

/// Wherever it is and whatever its extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let is_digit = |rest: &str| {
        let mut letters = rest.chars();
        let digit = letters.next().is_some_and(|it| it.is_ascii_digit() || "¹²³".contains(it));
        digit && letters.next().is_none()
    };
    let is_port = |port: &&str| stem.strip_prefix(*port).is_some_and(is_digit);
    DEVICES.contains(&stem.as_str()) || PORTS.iter().any(is_port)
}

/// Of the form of the second names that long ones get: eight letters, a dot and three.
fn may_be_short(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, ""));
    stem.contains('~') && stem.chars().count() <= 8 && extension.chars().count() <= 3
}

/// Listed are long names only.
fn is_listed(root: &Directory, directory: &Path, name: &OsStr) -> bool {
    let is_root = directory.as_os_str().is_empty();
    let opened = if is_root { root.try_clone() } else { root.open_dir(directory) };
    let mut found = false;
    if let Ok(opened) = opened {
        each_entry(&opened, |entry, _| {
            found = entry.eq_ignore_ascii_case(name);
            !found
        });
    }
    found
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match (error.kind(), error.raw_os_error()) {
            // The word of `cap-std`, not of the system.
            (ErrorKind::PermissionDenied, None) | (_, Some(ERROR_TOO_MANY_LINKS)) => Self::Outside,
            (ErrorKind::PermissionDenied, _) => Self::Denied,
            (
                ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::InvalidFilename
                | ErrorKind::InvalidInput,
                _,
            ) => Self::Missing,
            _ => Self::Failed(error),
        }
    }
}
