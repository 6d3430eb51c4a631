//! From the name of a program to the file that is run. Each is found once, in directories only
//! the operator can write to, and from then on it must stay the same file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Error;
use super::places::Roots;
use super::system::{self, Identity};

/// The directories programs come from, and those found so far.
#[derive(Debug)]
pub(crate) struct Programs {
    dirs: Vec<PathBuf>,
    found: Mutex<BTreeMap<String, Found>>,
}

/// One program, and how to tell whether it is still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// What runs it, if it is a script.
    pub(crate) interpreter: Option<PathBuf>,
    identity: Identity,
}

impl Programs {
    /// Relative directories, those in a root and those others can write to are left out: a program
    /// put there would be run in place of the real one.
    pub(super) fn search(path: &str, roots: &Roots) -> Self {
        let dirs = path
            .split(system::PATH_SEPARATOR)
            .filter_map(|dir| safe_directory(Path::new(dir), roots));
        Self { dirs: dirs.collect(), found: Mutex::default() }
    }

    pub(super) fn path_variable(&self) -> String {
        let dirs: Vec<_> = self.dirs.iter().map(|dir| dir.to_string_lossy()).collect();
        dirs.join(&system::PATH_SEPARATOR.to_string())
    }

    /// `name` has no slash; `path` is where the policy says it is.
    pub(super) fn find(&self, name: &str, path: Option<&Path>) -> Result<Found, Error> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(name) {
            let same =
                fs::metadata(&known.path).is_ok_and(|now| Identity::of(&now) == known.identity);
            return if same {
                Ok(known.clone())
            } else {
                Err(Error::Changed { name: name.to_owned() })
            };
        }
        let missing = || Error::NotFound { name: name.to_owned() };
        let fresh = match path {
            Some(path) => look(path),
            None => self.dirs.iter().find_map(|dir| look(&dir.join(system::file_name(name)))),
        };
        let fresh = fresh.ok_or_else(missing)?;
        found.insert(name.to_owned(), fresh.clone());
        Ok(fresh)
    }
}

/// A program an operator names is as safe as those that are found: what runs here cannot replace it,
/// nor can other users.
pub(super) fn check_place(path: &Path, roots: &Roots) -> Result<(), Error> {
    let Ok(real) = system::canonicalize(path) else {
        tracing::warn!("the policy names {}, which is not there", path.display());
        return Ok(());
    };
    if roots.holds(&real) {
        return Err(Error::OwnFileInRoot { path: path.to_owned() });
    }
    let is_loose = |path: &Path| fs::metadata(path).is_ok_and(|found| !system::is_private(&found));
    if is_loose(&real) || real.parent().is_some_and(is_loose) {
        return Err(Error::Policy { reason: format!("others can write to {}", path.display()) });
    }
    Ok(())
}

fn safe_directory(dir: &Path, roots: &Roots) -> Option<PathBuf> {
    if dir.is_relative() {
        return None;
    }
    let real = system::canonicalize(dir).ok()?;
    let metadata = fs::metadata(&real).ok()?;
    let safe = metadata.is_dir() && system::is_private(&metadata) && !roots.holds(&real);
    if !safe {
        tracing::warn!("{} is no safe place for programs and left out", dir.display());
    }
    safe.then_some(real)
}

fn look(path: &Path) -> Option<Found> {
    let real = system::canonicalize(path).ok()?;
    let metadata = fs::metadata(&real).ok()?;
    // Started by the path it was found under: many programs look at their own name.
    system::is_program(path, &metadata).then(|| Found {
        path: path.to_owned(),
        interpreter: system::interpreter(&real),
        identity: Identity::of(&metadata),
    })
}
