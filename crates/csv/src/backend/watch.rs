//! Tells when files change. Nothing is watched, and nothing spent, until somebody wants to know.
//!
//! It is the directory of a file that is watched, because editors replace files. It is opened beneath
//! the served ones first, so that no link leads the watcher out.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::EventKind;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::sandbox::Sandbox;

const MAX_DIRECTORIES: usize = 256;
/// A change this short before a file was watched may have come after somebody asked for it.
const RECENT: Duration = Duration::from_secs(2);

pub(crate) struct Watch {
    sandbox: Arc<Sandbox>,
    shared: Arc<Shared>,
    watcher: Option<RecommendedWatcher>,
    followed: BTreeSet<String>,
}

/// What the thread of the watcher uses as well.
struct Shared {
    /// By the directory they are in.
    files: Mutex<HashMap<PathBuf, Vec<(OsString, String)>>>,
    changed: Mutex<BTreeSet<String>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Watch {
    /// `wake` is called, from another thread, when [`Watch::changes`] has something to tell.
    pub(super) fn new(sandbox: &Arc<Sandbox>, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared =
            Shared { files: Mutex::default(), changed: Mutex::default(), wake: Box::new(wake) };
        Self {
            sandbox: Arc::clone(sandbox),
            shared: Arc::new(shared),
            watcher: None,
            followed: BTreeSet::new(),
        }
    }

    /// From now on these paths are followed and no others. Those of them that have changed since the
    /// last call, or may have before they were followed.
    pub(crate) fn changes(&mut self, paths: &BTreeSet<String>) -> BTreeSet<String> {
        let mut changed = std::mem::take(&mut *locked(&self.shared.changed));
        self.forget_all_but(paths);
        for path in paths.difference(&self.followed.clone()) {
            // What cannot be watched is as silent as a file that does not change.
            if self.follow(path).is_ok_and(|is_recent| is_recent) {
                changed.insert(path.clone());
            }
            self.followed.insert(path.clone());
        }
        changed.retain(|path| paths.contains(path));
        changed
    }

    fn forget_all_but(&mut self, paths: &BTreeSet<String>) {
        self.followed.retain(|path| paths.contains(path));
        let mut files = locked(&self.shared.files);
        files.retain(|directory, files| {
            files.retain(|(_, path)| paths.contains(path));
            if let (true, Some(watcher)) = (files.is_empty(), &mut self.watcher) {
                // Fails if the directory is gone, and the watch with it.
                let _gone = watcher.unwatch(directory);
            }
            !files.is_empty()
        });
    }

    /// Whether it may have changed since somebody asked for it to be followed.
    fn follow(&mut self, path: &str) -> notify::Result<bool> {
        let Some((directory, name)) = self.sandbox.directory_of(path) else {
            return Ok(false);
        };
        let count = locked(&self.shared.files).len();
        let is_watched = locked(&self.shared.files).contains_key(&directory);
        if !is_watched {
            if count >= MAX_DIRECTORIES {
                return Err(notify::Error::generic("too many directories are watched already"));
            }
            self.watcher()?.watch(&directory, RecursiveMode::NonRecursive)?;
        }
        let file = (name, path.to_owned());
        locked(&self.shared.files).entry(directory).or_default().push(file);
        let modified = self.sandbox.open_file(path).ok().and_then(|file| file.metadata().ok());
        let age = modified.and_then(|found| found.modified().ok()?.elapsed().ok());
        Ok(age.is_none_or(|age| age < RECENT))
    }

    fn watcher(&mut self) -> notify::Result<&mut RecommendedWatcher> {
        let watcher = match self.watcher.take() {
            Some(watcher) => watcher,
            None => {
                let shared = Arc::clone(&self.shared);
                notify::recommended_watcher(move |event| shared.note(event))?
            }
        };
        Ok(self.watcher.insert(watcher))
    }
}

impl Shared {
    fn note(&self, event: notify::Result<Event>) {
        let files = locked(&self.files);
        let changed: Vec<String> = match event {
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) if !event.need_rescan() => {
                event.paths.iter().flat_map(|changed| named(&files, changed)).collect()
            }
            // Events were lost, so any of them may have been about anything.
            _ => files.values().flatten().map(|(_, path)| path.clone()).collect(),
        };
        drop(files);
        if !changed.is_empty() {
            locked(&self.changed).extend(changed);
            (self.wake)();
        }
    }
}

fn named(files: &HashMap<PathBuf, Vec<(OsString, String)>>, changed: &Path) -> Vec<String> {
    let in_directory = changed.parent().and_then(|directory| files.get(directory));
    let is_it = |(name, _): &&(OsString, String)| changed.file_name() == Some(name);
    in_directory.into_iter().flatten().filter(is_it).map(|(_, path)| path.clone()).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
