//! Finds files by name, kind, size and age.

use std::ops::Bound;

use globset::GlobSet;

use super::error::Error;
use super::filter::{Filter, globs};
use super::look::{Kind, kind_of};
use super::page::{Page, PageSize};
use super::sandbox::Sandbox;
use super::walk::{Found, Visitor, Walk};
use super::{Observer, names};

pub(crate) struct Find {
    pub(crate) path: String,
    pub(crate) pattern: String,
    pub(crate) exclude: Vec<String>,
    pub(crate) ignore_case: bool,
    /// Also what `.gitignore` and `.ignore` name.
    pub(crate) include_ignored: bool,
    pub(crate) kind: Option<Kind>,
    pub(crate) min_bytes: Option<u64>,
    pub(crate) max_bytes: Option<u64>,
    /// Seconds since 1970.
    pub(crate) modified_since_unix_secs: Option<i64>,
    pub(crate) max_results: usize,
    /// Of all paths in the answer.
    pub(crate) max_bytes_shown: usize,
    /// The last path of an earlier answer.
    pub(crate) cursor: Option<String>,
}

pub(crate) struct Names {
    /// In order, spelled so that a caller can send them back.
    pub(crate) paths: Vec<String>,
    pub(crate) total: u64,
    pub(crate) is_cut: bool,
    /// Directories that could not be looked into.
    pub(crate) unreadable: u64,
    /// Entries that are ignored or excluded; a directory counts as one.
    pub(crate) left_out: u64,
}

pub(super) fn find(
    sandbox: &Sandbox,
    request: &Find,
    observer: &dyn Observer,
) -> Result<Names, Error> {
    let start = sandbox.open_directory(&request.path)?;
    let filter = Filter::new(sandbox.hidden(), &request.exclude, !request.include_ignored)?;
    let pattern = globs("pattern", std::slice::from_ref(&request.pattern), request.ignore_case)?;
    let walk = Walk { start: &start, filter: &filter, observer };
    let size = PageSize {
        max_items: request.max_results,
        max_bytes: request.max_bytes_shown,
        start: request.cursor.clone().map_or(Bound::Unbounded, Bound::Excluded),
    };
    let walked = walk.run(|| Finder { request, pattern: &pattern, page: Page::new(size.clone()) });
    if walked.is_cancelled {
        return Err(Error::Cancelled);
    }
    let pages = walked.visitors.into_iter().map(|finder| finder.page);
    let page = pages.reduce(Page::merge).unwrap_or_else(|| Page::new(size));
    Ok(Names {
        total: page.total(),
        is_cut: page.is_cut(),
        paths: page.into_kept().into_keys().collect(),
        unreadable: walked.unreadable,
        left_out: filter.left_out(),
    })
}

struct Finder<'a> {
    request: &'a Find,
    pattern: &'a GlobSet,
    page: Page<()>,
}

impl Visitor for Finder<'_> {
    fn visit(&mut self, found: &Found) {
        if self.pattern.is_match(&found.path) && self.fits(found) {
            let path = spelled_below(&self.request.path, found);
            let bytes = path.len() + 1;
            self.page.add(path, (), bytes);
        }
    }
}

impl Finder<'_> {
    fn fits(&self, found: &Found) -> bool {
        let Find { kind, min_bytes, max_bytes, modified_since_unix_secs, .. } = self.request;
        if kind.is_some_and(|kind| kind != kind_of(found.kind)) {
            return false;
        }
        if min_bytes.is_none() && max_bytes.is_none() && modified_since_unix_secs.is_none() {
            return true;
        }
        found.stat().is_ok_and(|stat| {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            min_bytes.is_none_or(|min| size >= min)
                && max_bytes.is_none_or(|max| size <= max)
                && modified_since_unix_secs.is_none_or(|since| stat.st_mtime >= since)
        })
    }
}

/// A path as a caller can send it, below the one it sent.
pub(super) fn spelled_below(start: &str, found: &Found) -> String {
    let path = names::spell_path(&found.path);
    match start.trim_end_matches('/') {
        "" if start.starts_with('/') => format!("/{path}"),
        "" | "." => path,
        start => format!("{start}/{path}"),
    }
}
