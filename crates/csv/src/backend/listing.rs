//! Finds files in the served directories: for lists, for completion, and those that a pattern means.
//!
//! Each directory is opened from the one above it and links are not followed, so the walk stays
//! inside, and ends.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

/// A walk through a huge tree ends here, and says nothing of the rest.
pub(super) const MAX_FILES: usize = 1_000;
const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 16;
const EXTENSIONS: [&str; 5] = ["csv", "tsv", "tab", "psv", "ssv"];
const COMPRESSED: [&str; 3] = ["gz", "zst", "bz2"];

struct Walk<'a> {
    is_wanted: &'a dyn Fn(&Path) -> bool,
    files: Vec<String>,
    entries: usize,
    is_cut_short: bool,
}

/// Files found by a walk.
pub(super) struct Found {
    /// Paths relative to the root, sorted.
    pub(super) files: Vec<String>,
    /// There may be more of them.
    pub(super) is_cut_short: bool,
}

/// Files that are named like tables.
pub(super) fn tables(root: &OwnedFd) -> Vec<String> {
    find(root, Path::new(""), &is_table).files
}

/// Files below `root`, which is `path` from where paths are counted.
pub(super) fn find(root: &OwnedFd, path: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Found {
    let mut walk = Walk { is_wanted, files: Vec::new(), entries: 0, is_cut_short: false };
    if let Ok(root) = root.try_clone() {
        walk.directory(&root, path, 0);
    }
    walk.files.sort();
    Found { files: walk.files, is_cut_short: walk.is_cut_short }
}

impl Walk<'_> {
    /// What cannot be read is left out.
    fn directory(&mut self, directory: &OwnedFd, path: &Path, depth: usize) {
        let Ok(entries) = Dir::read_from(directory) else {
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            self.entries += 1;
            if self.files.len() >= MAX_FILES || self.entries > MAX_ENTRIES {
                self.is_cut_short = true;
                return;
            }
            let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes()));
            // Hidden files, the directory itself and the one above it.
            if name.as_os_str().as_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type() {
                FileType::Directory if depth < MAX_DEPTH => {
                    self.below(directory, path, name, depth)
                }
                FileType::RegularFile if (self.is_wanted)(&path.join(name)) => {
                    self.files.extend(path.join(name).to_str().map(str::to_owned));
                }
                FileType::Directory => self.is_cut_short = true,
                _ => {}
            }
        }
    }

    fn below(&mut self, directory: &OwnedFd, path: &Path, name: &Path, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(inner) = openat(directory.as_fd(), name, flags, Mode::empty()) {
            let path: PathBuf = path.join(name);
            self.directory(&inner, &path, depth + 1);
        }
    }
}

fn is_table(name: &Path) -> bool {
    let is_one_of = |name: &Path, extensions: &[&str]| {
        let extension = name.extension().and_then(OsStr::to_str);
        extension.is_some_and(|own| extensions.iter().any(|other| own.eq_ignore_ascii_case(other)))
    };
    match is_one_of(name, &COMPRESSED) {
        true => name.file_stem().is_some_and(|stem| is_one_of(Path::new(stem), &EXTENSIONS)),
        false => is_one_of(name, &EXTENSIONS),
    }
}
