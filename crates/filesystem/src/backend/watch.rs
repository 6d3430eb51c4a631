//! Tells when files change. Watches only what was opened in the served directories, by descriptor,
//! so that no link or rename can lead the watcher out.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::fs::fstat;
use rustix::io::Errno;

use super::beneath::path_to;
use super::etag::FileId;
use super::names;
use super::sandbox::Sandbox;
use super::trail::{Matters, trail};
use super::uri;

/// Each costs a descriptor.
const MAX_DIRECTORIES: usize = 512;
/// A change this short before a file was watched may have come after somebody asked for it.
const RECENT: Duration = Duration::from_secs(2);

/// Watches nothing, and costs nothing, until something is to be followed.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    watcher: Option<RecommendedWatcher>,
    /// A directory has one watch, whatever paths lead to it.
    directories: HashMap<FileId, Watched>,
    followed: BTreeSet<String>,
}

struct Watched {
    /// Keeps `path` meaning this directory.
    _open: File,
    path: PathBuf,
}

/// What the thread of the watcher uses as well.
struct Shared {
    sandbox: Sandbox,
    /// By the path a directory is watched under.
    interests: Mutex<HashMap<PathBuf, Vec<Interest>>>,
    changed: Mutex<Changed>,
    wake: Box<dyn Fn() + Send + Sync>,
}

struct Interest {
    uri: String,
    real: PathBuf,
    matters: Matters,
}

#[derive(Default)]
struct Changed {
    uris: BTreeSet<String>,
    /// Those of them that may lead elsewhere now.
    moved: BTreeSet<String>,
}

impl Watch {
    /// `wake` is called, from another thread, when [`Watch::changes`] has something to tell.
    pub(super) fn new(sandbox: Sandbox, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Shared {
            sandbox,
            interests: Mutex::default(),
            changed: Mutex::default(),
            wake: Box::new(wake),
        };
        Self {
            shared: Arc::new(shared),
            watcher: None,
            directories: HashMap::new(),
            followed: BTreeSet::new(),
        }
    }

    /// From now on these `file://` URIs are followed and no others. Those of them that have changed
    /// since the last call, or may have before they were followed.
    pub(crate) fn changes(&mut self, uris: &BTreeSet<String>) -> BTreeSet<String> {
        let Changed { uris: mut changed, moved } = std::mem::take(&mut *self.shared.changed());
        let gone = self.followed.difference(uris).cloned();
        let stale: BTreeSet<String> = gone.chain(moved).collect();
        self.forget(&stale);
        let new: Vec<String> = uris.difference(&self.followed).cloned().collect();
        for uri in new {
            let is_recent = self.follow(&uri).unwrap_or_else(|error| {
                tracing::warn!("a resource cannot be watched: {error}");
                false
            });
            if is_recent {
                changed.insert(uri.clone());
            }
            self.followed.insert(uri);
        }
        self.leave_unused();
        changed.retain(|uri| uris.contains(uri));
        changed
    }

    fn forget(&mut self, uris: &BTreeSet<String>) {
        self.followed.retain(|uri| !uris.contains(uri));
        for interests in self.shared.interests().values_mut() {
            interests.retain(|interest| !uris.contains(&interest.uri));
        }
    }

    /// Whether it may have changed since somebody asked for it to be followed.
    fn follow(&mut self, uri: &str) -> notify::Result<bool> {
        let Some(path) = uri::to_path(uri) else {
            return Ok(false);
        };
        let mut is_recent = false;
        for step in trail(&self.shared.sandbox, &path) {
            // Whatever comes or goes under a name changes its directory.
            is_recent |= !matches!(step.matters, Matters::Way(_)) && is_new(&step.directory);
            let at = self.watch(step.directory)?;
            let interest = Interest { uri: uri.to_owned(), real: step.real, matters: step.matters };
            self.shared.interests().entry(at).or_default().push(interest);
        }
        let found = self.shared.sandbox.open_any(&names::spell_path(&path));
        Ok(is_recent || found.is_ok_and(|found| is_new(&found.file)))
    }

    /// The path under which events of the directory come.
    fn watch(&mut self, directory: File) -> notify::Result<PathBuf> {
        let failed = |errno: Errno| notify::Error::io(errno.into());
        let id = FileId::of(&fstat(&directory).map_err(failed)?);
        if let Some(watched) = self.directories.get(&id) {
            return Ok(watched.path.clone());
        }
        if self.directories.len() >= MAX_DIRECTORIES {
            return Err(notify::Error::generic("too many directories are watched already"));
        }
        let path = path_to(&directory).map_err(failed)?;
        self.watcher()?.watch(&path, RecursiveMode::NonRecursive)?;
        self.directories.insert(id, Watched { _open: directory, path: path.clone() });
        Ok(path)
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

    fn leave_unused(&mut self) {
        let mut interests = self.shared.interests();
        interests.retain(|_, interests| !interests.is_empty());
        self.directories.retain(|_, watched| {
            let is_used = interests.contains_key(&watched.path);
            if let (false, Some(watcher)) = (is_used, &mut self.watcher) {
                // Fails if the directory is gone, and the watch with it.
                let _gone = watcher.unwatch(&watched.path);
            }
            is_used
        });
    }
}

fn is_new(file: &File) -> bool {
    let modified = file.metadata().and_then(|found| found.modified());
    !modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed >= RECENT))
}

impl Shared {
    fn note(&self, event: notify::Result<Event>) {
        let Ok(event) = event else {
            return self.note_all();
        };
        if event.need_rescan() {
            return self.note_all();
        }
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let is_move = !matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
        for path in &event.paths {
            self.note_path(path, is_move);
        }
    }

    /// Events were lost, so any of them may have been about anything.
    fn note_all(&self) {
        let uris = self.interests().values().flatten().map(|one| one.uri.clone()).collect();
        self.tell(uris, true);
    }

    fn note_path(&self, path: &Path, is_move: bool) {
        let interests = self.interests();
        let uris: Vec<String> = match (interests.get(path), path.parent(), path.file_name()) {
            // The directory itself.
            (Some(interests), ..) => interests.iter().map(|one| one.uri.clone()).collect(),
            (None, Some(directory), Some(name)) => interests
                .get(directory)
                .into_iter()
                .flatten()
                .filter(|interest| self.is_meant(interest, name, is_move))
                .map(|interest| interest.uri.clone())
                .collect(),
            _ => return,
        };
        drop(interests);
        self.tell(uris, is_move);
    }

    fn is_meant(&self, interest: &Interest, name: &OsStr, is_move: bool) -> bool {
        match &interest.matters {
            Matters::End(end) => end == name,
            Matters::Way(way) => is_move && way == name,
            Matters::Entries => is_move && !self.sandbox.hides(&interest.real.join(name)),
        }
    }

    fn tell(&self, uris: Vec<String>, is_move: bool) {
        if uris.is_empty() {
            return;
        }
        let mut changed = self.changed();
        if is_move {
            changed.moved.extend(uris.iter().cloned());
        }
        changed.uris.extend(uris);
        drop(changed);
        (self.wake)();
    }

    fn interests(&self) -> MutexGuard<'_, HashMap<PathBuf, Vec<Interest>>> {
        self.interests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
