//! What `--deny` keeps from sight, and our own journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// One without a slash fits a name at any depth. One that would fit nothing, or everything, is a
/// mistake that somebody would find out about too late.
pub(super) fn globs(texts: &[String], served: &[Arc<Root>]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let wrong = |reason: String| Error::Deny { glob: text.clone(), reason };
        let glob = as_seen_from_inside(text, served).map_err(|reason| wrong(reason.to_owned()))?;
        let built = GlobBuilder::new(&glob).literal_separator(true).build();
        set.add(built.map_err(|error| wrong(error.kind().to_string()))?);
    }
    set.build().map_err(|error| Error::Deny {
        glob: texts.join(" --deny "),
        reason: error.kind().to_string(),
    })
}

fn as_seen_from_inside(text: &str, served: &[Arc<Root>]) -> Result<String, &'static str> {
    let trimmed = text.trim_end_matches('/');
    let (is_anchored, inner) = match trimmed.strip_prefix("./") {
        _ if trimmed.is_empty() => return Err("it names nothing"),
        Some(inner) => (true, inner),
        None if trimmed.starts_with('/') => {
            let inner = served.iter().find_map(|root| root.relative(Path::new(trimmed)));
            let inner = inner.and_then(Path::to_str);
            (true, inner.ok_or("it begins with a slash and lies in no served directory")?)
        }
        None => (trimmed.contains('/'), trimmed),
    };
    if inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("no path has such a part: `.`, `..` or nothing between two slashes");
    }
    Ok(if is_anchored { inner.to_owned() } else { format!("**/{inner}") })
}
