//! Finds files in the served directories: for lists, for completion, and those that a pattern means.
//!
//! Each directory is opened from the one above it and links are not followed, so the walk stays
//! inside, and ends.

use std::ffi::OsStr;
use std::path::Path;

use super::system::{self, Directory};

/// A walk through a huge tree ends here, and says nothing of the rest.
pub(super) const MAX_FILES: usize = 1_000;
const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 16;
const EXTENSIONS: [&str; 5] = ["csv", "tsv", "tab", "psv", "ssv"];
const COMPRESSED: [&str; 3] = ["gz", "zst", "bz2"];

struct Walk<'a> {
    is_wanted: &'a dyn Fn(&str) -> bool,
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

/// What an entry of a directory is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Directory,
    File,
    /// Links are among them.
    Other,
}

/// Files that are named like tables.
pub(super) fn tables(root: &Directory) -> Vec<String> {
    find(root, "", &|path| is_table(Path::new(path))).files
}

/// Files below `root`, which is `path` from where paths are counted.
pub(super) fn find(root: &Directory, path: &str, is_wanted: &dyn Fn(&str) -> bool) -> Found {
    let mut walk = Walk { is_wanted, files: Vec::new(), entries: 0, is_cut_short: false };
    walk.directory(root, path, 0);
    walk.files.sort();
    Found { files: walk.files, is_cut_short: walk.is_cut_short }
}

impl Walk<'_> {
    /// What cannot be read is left out.
    fn directory(&mut self, directory: &Directory, path: &str, depth: usize) {
        system::each_entry(directory, |name, kind| {
            self.entries += 1;
            if self.files.len() >= MAX_FILES || self.entries > MAX_ENTRIES {
                self.is_cut_short = true;
                return false;
            }
            // Nor can what has no name in a request be asked for.
            if let Some(name) = name.to_str() {
                self.entry(directory, path, name, kind, depth);
            }
            true
        });
    }

    fn entry(&mut self, directory: &Directory, path: &str, name: &str, kind: Kind, depth: usize) {
        // Hidden files, the directory itself and the one above it.
        if name.starts_with('.') {
            return;
        }
        let slash = if path.is_empty() { "" } else { "/" };
        match kind {
            Kind::Directory if depth < MAX_DEPTH => {
                if let Some(inner) = system::open_entry(directory, OsStr::new(name)) {
                    self.directory(&inner, &format!("{path}{slash}{name}"), depth + 1);
                }
            }
            Kind::Directory => self.is_cut_short = true,
            Kind::File => {
                let path = format!("{path}{slash}{name}");
                if (self.is_wanted)(&path) {
                    self.files.push(path);
                }
            }
            Kind::Other => {}
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
