//! What a walk leaves out: what is kept from sight, what `.gitignore` and `.ignore` name, and what
//! the caller does not want. Asked before anything is done with an entry.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags, openat};

use super::entries::{RawEntry, entries, subdirectory};
use super::error::Error;
use super::hidden::Hidden;
use super::root::READ;
use super::sandbox::kind;

/// Longer files of patterns are not what they seem.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

pub(super) struct Filter<'a> {
    hidden: Hidden<'a>,
    exclude: GlobSet,
    obeys_ignore_files: bool,
    /// Entries that are not shown, as ignored or excluded.
    left_out: AtomicU64,
}

/// The patterns of a directory and of those it is in.
#[derive(Clone, Default)]
pub(super) struct Ignores(Option<Arc<IgnoreNode>>);

struct IgnoreNode {
    outer: Ignores,
    /// Absolute.
    directory: PathBuf,
    patterns: Gitignore,
}

impl<'a> Filter<'a> {
    pub(super) fn new(
        hidden: Hidden<'a>,
        exclude: &[String],
        obeys_ignore_files: bool,
    ) -> Result<Self, Error> {
        let exclude = globs("excludePatterns", exclude, false)?;
        Ok(Self { hidden, exclude, obeys_ignore_files, left_out: AtomicU64::new(0) })
    }

    /// How many entries were ignored or excluded; one that is a directory counts as one.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// What the directories between a served one and `start`, which is absolute, say.
    pub(super) fn ignores_above(&self, start: &Path) -> Ignores {
        let mut ignores = Ignores::default();
        let Some((root, at)) = self.hidden.root_of(start) else {
            return ignores;
        };
        let Ok(inner) = start.strip_prefix(at) else {
            return ignores;
        };
        let Ok(mut directory) = subdirectory(&root.descriptor, ".".as_ref()) else {
            return ignores;
        };
        let mut path = at.to_owned();
        for name in inner {
            ignores = self.with_patterns_of(&directory, &path, ignores);
            path.push(name);
            match subdirectory(&directory, name) {
                Ok(next) => directory = next,
                Err(_) => return ignores,
            }
        }
        ignores
    }

    /// Together with the patterns in `directory`, which lies at `path`.
    fn with_patterns_of(&self, directory: &File, path: &Path, outer: Ignores) -> Ignores {
        let mut builder = GitignoreBuilder::new(".");
        // The later has the last word.
        for name in [".gitignore", ".ignore"] {
            if let Some(text) = ignore_file(directory, name) {
                for line in text.lines() {
                    // A line that is no pattern says nothing.
                    let _ignored = builder.add_line(None, line);
                }
            }
        }
        match builder.build() {
            Ok(patterns) if !patterns.is_empty() => {
                let directory = path.to_owned();
                Ignores(Some(Arc::new(IgnoreNode { outer, directory, patterns })))
            }
            _ => outer,
        }
    }

    /// What is left of a directory, which lies at `path`, and the patterns for what is below it.
    /// `relative` is its path as seen from where the walk began.
    pub(super) fn scan(
        &self,
        directory: &File,
        path: &Path,
        relative: &Path,
        outer: &Ignores,
    ) -> Result<(Vec<RawEntry>, Ignores), rustix::io::Errno> {
        let mut found = entries(directory)?;
        let mut ignores = outer.clone();
        if self.obeys_ignore_files {
            let has_patterns =
                |entry: &RawEntry| entry.name == ".gitignore" || entry.name == ".ignore";
            if found.iter().any(has_patterns) {
                ignores = self.with_patterns_of(directory, path, ignores);
            }
        }
        let mut left_out = 0;
        found.retain(|entry| {
            let path = path.join(&entry.name);
            if self.hidden.is_hidden(&path) {
                return false;
            }
            let is_unwanted = (self.obeys_ignore_files && ignores.names(&path, entry))
                || (!self.exclude.is_empty() && self.exclude.is_match(relative.join(&entry.name)));
            left_out += u64::from(is_unwanted);
            !is_unwanted
        });
        self.left_out.fetch_add(left_out, Ordering::Relaxed);
        Ok((found, ignores))
    }
}

impl Ignores {
    /// The innermost pattern that fits decides.
    fn names(&self, path: &Path, entry: &RawEntry) -> bool {
        let is_directory = entry.kind == FileType::Directory;
        if is_directory && entry.name == ".git" {
            return true;
        }
        let mut node = self.0.as_deref();
        while let Some(IgnoreNode { outer, directory, patterns }) = node {
            let relative = path.strip_prefix(directory).unwrap_or(path);
            match patterns.matched(relative, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => node = outer.0.as_deref(),
            }
        }
        false
    }
}

/// `None` if there is none; a link, which could lead anywhere, is none.
fn ignore_file(directory: &File, name: &str) -> Option<String> {
    let file = openat(directory, name, READ | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    if kind(&file).ok()? != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Patterns of paths as seen from where a walk begins. One without a slash fits a name at any
/// depth.
pub(super) fn globs(
    argument: &'static str,
    patterns: &[String],
    ignore_case: bool,
) -> Result<GlobSet, Error> {
    let wrong = |error: globset::Error| Error::Pattern { argument, reason: error.to_string() };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // As in `.gitignore`, and as people write paths.
        let pattern = if pattern == "/" { pattern } else { pattern.trim_end_matches('/') };
        let anywhere = match pattern.strip_prefix('/').or_else(|| pattern.strip_prefix("./")) {
            Some(anchored) => anchored.to_owned(),
            None if pattern.contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        };
        let glob = GlobBuilder::new(&anywhere)
            .literal_separator(true)
            .case_insensitive(ignore_case)
            .build()
            .map_err(wrong)?;
        set.add(glob);
    }
    set.build().map_err(wrong)
}
