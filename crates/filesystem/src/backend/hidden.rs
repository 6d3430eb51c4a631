//! What `--deny` keeps from sight, and our own journal.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::Error;
use super::journal::is_journal;
use super::root::Root;

/// The denied entries of all served directories.
pub(super) struct Hidden<'a> {
    pub(super) roots: Vec<(PathBuf, &'a Root)>,
    pub(super) deny: &'a GlobSet,
}

impl<'a> Hidden<'a> {
    /// Whether an entry of a directory that is not hidden itself is.
    pub(super) fn is_hidden(&self, real: &Path) -> bool {
        let is_match = |(root, _): &(PathBuf, _)| {
            real.strip_prefix(root).is_ok_and(|inner| self.deny.is_match(inner))
        };
        real.file_name().is_some_and(is_journal)
            || (!self.deny.is_empty() && self.roots.iter().any(is_match))
    }

    /// The first served directory that holds this, and where it is.
    pub(super) fn root_of(&self, real: &Path) -> Option<(&'a Root, &Path)> {
        let (at, root) = self.roots.iter().find(|(root, _)| real.starts_with(root))?;
        Some((root, at))
    }
}

/// One without a slash fits a name at any depth.
pub(super) fn globs(texts: &[String]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let wrong = |error: globset::Error| Error::Deny {
            glob: text.clone(),
            reason: error.kind().to_string(),
        };
        let anywhere = if text.contains('/') { text.clone() } else { format!("**/{text}") };
        set.add(GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(|error| Error::Deny {
        glob: texts.join(" --deny "),
        reason: error.kind().to_string(),
    })
}
