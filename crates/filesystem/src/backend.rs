//! Files of the served directories. Knows nothing of MCP.
//!
//! Reading order: `root`, `beneath` and `sandbox` open what may be opened and say where writing is
//! allowed,
//! `wall` is there in case they are wrong,
//! `hidden` keeps what is denied from sight, `names` spells paths and `near_names` helps with wrong
//! ones. `text` reads lines of a file and `media` all of it, `look` lists and describes,
//! `uri` and `complete` name them for resources. `replace` puts
//! new contents in the place of old, `write` and `edit` say which (`matching` finds what an edit
//! means, `indent` and `near_miss` help it, `charset` keeps the encoding),
//! `apply` makes several changes at once (`step` is one of them, `undo` keeps what was there),
//! `together` makes all of them or none, with `over` for files that must be written over and
//! `journal` (`record` is what is in it) for the case of a crash, after which `recover` finishes
//! what was begun (`pending` is one step). `manage` and `remove` make, move, copy and delete. `walk` visits all below a directory but what `filter` leaves out;
//! `find`, `grep` and `tree` use it, and `page` keeps their answers small. `watch` tells when files
//! change, with `trail` to know where to look.

mod error;
mod root;
mod beneath;
mod hidden;
mod sandbox;
#[cfg_attr(not(target_os = "linux"), path = "backend/wall_missing.rs")]
mod wall;
mod names;
mod near_names;
mod entries;
mod etag;
mod charset;
mod text;
mod media;
mod uri;
mod complete;
mod look;
mod replace;
mod write;
mod edit;
mod matching;
mod indent;
mod near_miss;
mod step;
mod undo;
mod apply;
mod together;
mod over;
mod journal;
mod record;
mod recover;
mod pending;
mod manage;
mod remove;
mod filter;
mod walk;
mod page;
mod find;
mod grep;
mod hits;
mod tree;
mod trail;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use apply::{Applied, Change};
pub(crate) use edit::{Edit, EditFile, Edited};
pub(crate) use error::Error;
pub(crate) use find::{Find, Names};
pub(crate) use grep::{Grep, Matches, Position};
pub(crate) use hits::{Collect, Hits};
pub(crate) use look::{Details, Entry, FileInfo, Kind, List, Listing, Order};
pub(crate) use manage::{Copied, TwoPaths};
pub(crate) use media::{Media, Whole};
#[cfg(test)]
pub(crate) use page::{Page, PageSize};
pub(crate) use root::Access;
pub(crate) use text::{Cut, Lines, ReadText, Text};
pub(crate) use tree::{LookAtTree, Tree};
pub(crate) use wall::{Wall, build as build_wall};
pub(crate) use watch::Watch;
pub(crate) use write::{Content, WriteFile, Written};

use undo::UndoLog;

/// The directories this server may use, opened once at start-up. A clone is another handle.
#[derive(Clone)]
pub(crate) struct Backend {
    sandbox: sandbox::Sandbox,
    /// Held while something is changed, so that calls at the same time do not undo each other.
    changing: Arc<Mutex<UndoLog>>,
    asks_clients: bool,
    may_delete: bool,
}

/// Told how far long work is, and asked whether to go on. Used from several threads.
pub(crate) trait Observer: Send + Sync {
    fn progress(&self, done: u64, total: Option<u64>, what: &str);
    fn is_cancelled(&self) -> bool;
}

/// A served directory, for people.
pub(crate) struct Served {
    pub(crate) path: String,
    pub(crate) uri: String,
    pub(crate) is_writable: bool,
}

impl Backend {
    /// Fails on anything that is not a directory, so that a typing error shows at start-up.
    pub(crate) fn open(dirs: &[(PathBuf, Access)], deny: &[String]) -> Result<Self, Error> {
        let sandbox = sandbox::Sandbox::open(dirs, deny)?;
        recover::at_start(&sandbox);
        Ok(Self { sandbox, changing: Arc::default(), asks_clients: false, may_delete: false })
    }

    /// Whether callers are to be asked for directories of their own, see [`Backend::narrowed`].
    pub(crate) fn asking(self, asks_clients: bool) -> Self {
        Self { asks_clients, ..self }
    }

    /// Whether files may be deleted where they may be written.
    pub(crate) fn deleting(self, may_delete: bool) -> Self {
        Self { may_delete, ..self }
    }

    pub(crate) fn may_delete(&self) -> bool {
        self.may_delete
    }

    pub(crate) fn asks_clients(&self) -> bool {
        self.asks_clients
    }

    /// The same, for somebody who is to see only what is also in these `file://` URIs.
    pub(crate) fn narrowed<'a>(&self, uris: impl IntoIterator<Item = &'a str>) -> Self {
        let dirs: Vec<PathBuf> = uris.into_iter().filter_map(uri::to_path).collect();
        Self { sandbox: self.sandbox.narrowed(&dirs), ..self.clone() }
    }

    pub(crate) fn served(&self) -> Vec<Served> {
        let served = |root: &Arc<root::Root>| Served {
            path: names::spell_path(root.shown()),
            uri: uri::of_path(root.shown()),
            is_writable: root.real().is_ok_and(|real| self.sandbox.is_writable(&real)),
        };
        self.sandbox.roots().iter().map(served).collect()
    }

    /// Paths that begin with `typed`, which is absolute: of directories, with a slash at the end,
    /// and of files.
    pub(crate) fn complete(&self, typed: &str) -> Vec<String> {
        complete::complete(&self.sandbox, typed)
    }

    /// To be told of changes; see [`Watch::new`] about `wake`.
    pub(crate) fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> Watch {
        Watch::new(self.sandbox.clone(), wake)
    }

    pub(crate) fn read(&self, request: &ReadText) -> Result<Text, Error> {
        text::read(self.sandbox.open_file(&request.path)?.file, request)
    }

    pub(crate) fn list(&self, request: &List) -> Result<Listing, Error> {
        look::list(&self.sandbox, request)
    }

    /// All of a file, unless it is longer than `max_bytes`.
    pub(crate) fn read_whole(&self, path: &str, max_bytes: u64) -> Result<Whole, Error> {
        media::read(self.sandbox.open_file(path)?.file, path, max_bytes)
    }

    /// `None` if there is no such file, or none that may be read.
    pub(crate) fn uri(&self, path: &str) -> Option<String> {
        Some(uri::of_path(&self.sandbox.open_any(path).ok()?.real))
    }

    pub(crate) fn info(&self, path: &str) -> Result<FileInfo, Error> {
        look::info(self.sandbox.open_any(path)?, path)
    }

    pub(crate) fn find(&self, request: &Find, observer: &dyn Observer) -> Result<Names, Error> {
        find::find(&self.sandbox, request, observer)
    }

    pub(crate) fn grep(&self, request: &Grep, observer: &dyn Observer) -> Result<Matches, Error> {
        grep::grep(&self.sandbox, request, observer)
    }

    pub(crate) fn tree(
        &self,
        request: &LookAtTree,
        observer: &dyn Observer,
    ) -> Result<Tree, Error> {
        tree::tree(&self.sandbox, request, observer)
    }

    pub(crate) fn write(&self, request: &WriteFile) -> Result<Written, Error> {
        let _alone = self.alone();
        write::write(&self.sandbox, request)
    }

    pub(crate) fn edit(&self, request: &EditFile) -> Result<Edited, Error> {
        let _alone = self.alone();
        edit::edit(&self.sandbox, request)
    }

    /// All of the changes or none.
    pub(crate) fn apply(&self, changes: &[Change], dry_run: bool) -> Result<Applied, Error> {
        apply::apply(&self.sandbox, &mut self.alone(), changes, dry_run)
    }

    /// Puts back all that an [`Backend::apply`] changed, or nothing.
    pub(crate) fn undo(&self, id: &str, dry_run: bool) -> Result<Applied, Error> {
        apply::undo(&self.sandbox, &mut self.alone(), id, dry_run)
    }

    /// `false` if the directory was there.
    pub(crate) fn create_directory(&self, path: &str) -> Result<bool, Error> {
        let _alone = self.alone();
        manage::create_directory(&self.sandbox, path)
    }

    pub(crate) fn move_file(&self, request: &TwoPaths) -> Result<(), Error> {
        let _alone = self.alone();
        manage::move_file(&self.sandbox, request)
    }

    /// Not alone: the copy is put in place in one step, and may take long before.
    pub(crate) fn copy_file(
        &self,
        request: &TwoPaths,
        observer: &dyn Observer,
    ) -> Result<Copied, Error> {
        recover::recover(&self.sandbox);
        manage::copy_file(&self.sandbox, request, observer)
    }

    /// How many files and directories are gone.
    pub(crate) fn delete(
        &self,
        path: &str,
        recursive: bool,
        observer: &dyn Observer,
    ) -> Result<u64, Error> {
        let _alone = self.alone();
        remove::delete(&self.sandbox, path, recursive, observer)
    }

    /// What is in the lock is whole after each call on it, whatever happens between them; and so is
    /// what lies on the disk.
    fn alone(&self) -> MutexGuard<'_, UndoLog> {
        let alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        recover::recover(&self.sandbox);
        alone
    }
}
