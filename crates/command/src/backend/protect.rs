//! What no program may change although it lies in a root: files that make the tools of whoever works
//! there run something later, the hooks of a repository for one. The helper mounts them read-only
//! for its programs (`unix/kernel`). What is absent cannot be mounted, so something empty is put
//! there for as long as a program runs that could make it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::system;
use super::wire::Mount;

/// Paths from each root. One that ends with a slash is a directory.
#[derive(Debug)]
pub(super) struct Protected {
    paths: Vec<String>,
    /// What is put where nothing was, and for how many calls.
    held: Mutex<BTreeMap<PathBuf, usize>>,
}

/// Keeps in place what was put there for a call.
#[derive(Debug)]
pub(super) struct Held {
    by: Arc<Protected>,
    paths: Vec<PathBuf>,
}

impl Protected {
    pub(super) fn new(paths: Vec<String>) -> Arc<Self> {
        Arc::new(Self { paths, held: Mutex::default() })
    }

    /// What is to be mounted for a call that may write in these roots, outer ones first.
    pub(super) fn hold(self: &Arc<Self>, roots: &[PathBuf]) -> io::Result<(Vec<Mount>, Held)> {
        let mut held = Held { by: Arc::clone(self), paths: Vec::new() };
        let mut mounts = BTreeMap::new();
        for root in roots {
            for path in &self.paths {
                self.add(root, path, &mut mounts, &mut held)?;
            }
        }
        let mounts = mounts.into_iter().map(|(path, read_only)| Mount { path, read_only });
        Ok((mounts.collect(), held))
    }

    /// A directory on the way is mounted as it is: otherwise it could be renamed, and another made
    /// in its place.
    fn add(
        &self,
        root: &Path,
        path: &str,
        mounts: &mut BTreeMap<PathBuf, bool>,
        held: &mut Held,
    ) -> io::Result<()> {
        let mut whole = root.to_owned();
        let mut parts = Path::new(path).components().peekable();
        while let Some(part) = parts.next() {
            whole.push(part);
            let is_last = parts.peek().is_none();
            let ours = match self.put(&whole, !is_last || path.ends_with('/'), held) {
                Ok(ours) => ours,
                Err(error) if may_not(&error) => {
                    // Nor can a program, unless it gives the directory more rights, as its owner may.
                    if let Some(parent) = whole.parent().filter(|parent| is_own(parent)) {
                        mounts.insert(parent.to_owned(), true);
                    }
                    break;
                }
                Err(error) => return Err(error),
            };
            let is_directory = fs::symlink_metadata(&whole)?.is_dir();
            let read_only = ours || is_last || !is_directory;
            let known = mounts.entry(whole.clone()).or_insert(read_only);
            *known |= read_only;
            if read_only {
                break;
            }
        }
        Ok(())
    }

    /// `true`: there was nothing, so what is there now is ours.
    fn put(&self, path: &Path, is_directory: bool, held: &mut Held) -> io::Result<bool> {
        let mut all = self.lock();
        let made = if is_directory {
            fs::create_dir(path)
        } else {
            File::create_new(path).and_then(|mut file| file.write_all(contents(path).as_bytes()))
        };
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !all.contains_key(path) {
                    return Ok(false);
                }
            }
            Err(error) => return Err(error),
        }
        *all.entry(path.to_owned()).or_default() += 1;
        held.paths.push(path.to_owned());
        Ok(true)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// For who has to clear up if the server cannot.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.by.lock();
        for path in &self.paths {
            let Some(count) = all.get_mut(path) else { continue };
            *count -= 1;
            if *count == 0 {
                all.remove(path);
                remove(path);
            }
        }
    }
}

fn may_not(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn is_own(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|found| system::is_own(&found))
}

/// Unless somebody has put something into it meanwhile.
pub(super) fn remove(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let untouched = || fs::read(path).is_ok_and(|bytes| bytes == contents(path).as_bytes());
    let _filled_meanwhile = if found.is_dir() {
        fs::remove_dir(path)
    } else if found.is_file() && untouched() {
        fs::remove_file(path)
    } else {
        Ok(())
    };
}

/// Nothing, in the language of the file. A repository's configuration is in the directory that
/// `commondir` names: without one, its own.
fn contents(path: &Path) -> &'static str {
    if path.ends_with(".git/commondir") {
        ".\n"
    } else if path.extension().is_some_and(|extension| extension == "json") {
        "{}\n"
    } else {
        ""
    }
}
