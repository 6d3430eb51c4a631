//! Keeps what is needed to put changes back. A file that was replaced or deleted has no name any
//! more but stays open, so its contents take space on its disk, within bounds, and are gone with
//! the process.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::edit;
use super::error::Error;
use super::etag::FileId;
use super::manage::{self, TwoPaths};
use super::near_names;
use super::replace::{Old, Prepared};
use super::sandbox::Sandbox;
use super::step::{Removing, Step};
use super::together::Made;
use super::write::no_parent;

const MAX_RECORDS: usize = 16;
/// Each costs a descriptor.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The newest last.
#[derive(Default)]
pub(crate) struct UndoLog {
    records: VecDeque<Record>,
    count: u64,
}

struct Record {
    id: String,
    undos: Vec<Undo>,
}

/// How to put one change back.
pub(super) enum Undo {
    /// A file had other contents before. `etag` is what it has after.
    Replaced {
        path: String,
        old: Old,
        etag: String,
        /// It stayed the same file, and has to.
        is_over: bool,
    },
    /// There was no such file before.
    Created {
        path: String,
        etag: String,
    },
    Deleted {
        path: String,
        old: Old,
    },
    Moved {
        from: String,
        to: String,
        id: FileId,
    },
}

impl UndoLog {
    /// The id to undo it by; `None` if that takes more space than there is for all.
    pub(super) fn keep(&mut self, undos: Vec<Undo>) -> Option<String> {
        self.count += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // Not one that an earlier run of the server gave for something else.
        let id = format!("{now:x}-{}", self.count);
        self.records.push_back(Record { id: id.clone(), undos });
        while self.is_too_large() {
            self.records.pop_front();
        }
        self.records.back().is_some_and(|last| last.id == id).then_some(id)
    }

    /// The newest change first, as what has to be done now. It stays in the log until
    /// [`UndoLog::forget`].
    pub(super) fn steps(&self, sandbox: &Sandbox, id: &str) -> Result<Vec<(Step, String)>, Error> {
        let unknown = || Error::UnknownUndo { id: id.to_owned() };
        let record = self.records.iter().find(|record| record.id == id).ok_or_else(unknown)?;
        record.undos.iter().rev().map(|undo| undo.step(sandbox)).collect()
    }

    pub(super) fn forget(&mut self, id: &str) {
        self.records.retain(|record| record.id != id);
    }

    fn is_too_large(&self) -> bool {
        let kept = || self.records.iter().flat_map(|record| &record.undos).filter_map(Undo::kept);
        let bytes = kept().map(|file| file.metadata().map_or(0, |found| found.len()));
        self.records.len() > MAX_RECORDS
            || kept().count() > MAX_FILES
            || bytes.sum::<u64>() > MAX_BYTES
    }
}

impl Undo {
    /// Of a step that has been made.
    pub(super) fn of(step: Step, made: Made) -> Self {
        let etag = made.etag.unwrap_or_default();
        match step {
            Step::Put(Prepared { path, old: Some(mut old), .. }) => {
                let is_over = made.saved.is_some();
                if let Some(saved) = made.saved {
                    old.file = saved;
                }
                Self::Replaced { path, old, etag, is_over }
            }
            Step::Put(Prepared { path, .. }) => Self::Created { path, etag },
            Step::Remove(Removing { path, old, .. }) => Self::Deleted { path, old },
            Step::Move(moving) => {
                let id = moving.id();
                Self::Moved { from: moving.source_path, to: moving.target_path, id }
            }
        }
    }

    fn kept(&self) -> Option<&File> {
        match self {
            Self::Replaced { old, .. } | Self::Deleted { old, .. } => Some(&old.file),
            Self::Created { .. } | Self::Moved { .. } => None,
        }
    }

    /// What has to be done, and the diff it makes.
    fn step(&self, sandbox: &Sandbox) -> Result<(Step, String), Error> {
        match self {
            Self::Replaced { path, old, etag, is_over } => {
                let place = sandbox.place(path)?;
                let mut now = Old::open(&place, path, Some(etag))?;
                let before = edit::read(&mut now.file, path)?;
                let saved = old.again().map_err(|cause| failed(path, cause))?;
                let bytes = contents(&saved, path)?;
                let diff = edit::diff_bytes(path, &before, &bytes);
                let path = path.clone();
                let like = (!is_over).then_some(saved);
                let put = Prepared { path, place, old: Some(now), like, bytes };
                Ok((Step::Put(put), diff))
            }
            Self::Deleted { path, old } => {
                let place = sandbox.place(path).map_err(no_parent)?;
                if place.found.is_some() {
                    return Err(Error::Exists { path: path.clone() });
                }
                let saved = old.again().map_err(|cause| failed(path, cause))?;
                let bytes = contents(&saved, path)?;
                let diff = edit::diff_bytes(path, b"", &bytes);
                let path = path.clone();
                let put = Prepared { path, place, old: None, like: Some(saved), bytes };
                Ok((Step::Put(put), diff))
            }
            Self::Created { path, etag } => removing(sandbox, path, Some(etag)),
            Self::Moved { from, to, id } => {
                let request =
                    TwoPaths { source: to.clone(), destination: from.clone(), overwrite: false };
                let moving = manage::plan_move(sandbox, &request)?;
                if moving.id() != *id {
                    return Err(Error::Moved { path: to.clone() });
                }
                Ok((Step::Move(moving), format!("rename from {to}\nrename to {from}\n")))
            }
        }
    }
}

/// A regular file is to go; with the diff that makes.
pub(super) fn removing(
    sandbox: &Sandbox,
    path: &str,
    if_match: Option<&str>,
) -> Result<(Step, String), Error> {
    let place = sandbox.entry(path)?;
    if place.found.is_none() {
        return Err(near_names::not_found(sandbox, path));
    }
    let mut old = Old::open(&place, path, if_match)?;
    let before = edit::read(&mut old.file, path)?;
    let diff = edit::diff_bytes(path, &before, b"");
    Ok((Step::Remove(Removing { path: path.to_owned(), place, old }), diff))
}

/// Read at its offsets: the descriptor is shared with whoever reads it again.
fn contents(saved: &Old, path: &str) -> Result<Vec<u8>, Error> {
    let read = || {
        let length = usize::try_from(saved.file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        saved.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    read().map_err(|cause| failed(path, cause))
}

fn failed(path: &str, cause: std::io::Error) -> Error {
    Error::Read { path: path.to_owned(), cause }
}
