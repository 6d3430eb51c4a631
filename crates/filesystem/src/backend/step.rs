//! One change of several: made ready first, then made by one rename, which another rename undoes,
//! or by writing over a file.

use std::io;
use std::path::Path;

use rustix::fs::{Mode, fstat};
use rustix::io::Errno;

use super::error::{Error, explain_write};
use super::etag::FileId;
use super::journal::Entry;
use super::manage::Moving;
use super::over::{Failed, Over};
use super::record::{self, Record, mark, path_of};
use super::replace::{Old, Prepared, Temporary};
use super::sandbox::{Place, Sandbox};
use super::together::Made;

/// Checked; nothing is changed yet.
pub(super) enum Step {
    Put(Prepared),
    Move(Moving),
    Remove(Removing),
}

/// A regular file that is to go.
pub(super) struct Removing {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) old: Old,
}

/// All that takes long, or needs space, is done.
pub(super) enum Staged<'a> {
    Put(&'a Prepared, Temporary<'a>),
    Over(&'a Prepared, Over<'a>),
    Move(&'a Moving),
    Remove(&'a Removing, Temporary<'a>),
}

impl Step {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Put(prepared) => &prepared.path,
            Self::Move(moving) => &moving.source_path,
            Self::Remove(removing) => &removing.path,
        }
    }

    /// Where it is made; beside it lies what is made ready.
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Put(prepared) => &prepared.place,
            Self::Move(moving) => &moving.source,
            Self::Remove(removing) => &removing.place,
        }
    }

    /// New contents it holds in memory.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Put(prepared) => prepared.bytes.len() as u64,
            Self::Move(_) | Self::Remove(_) => 0,
        }
    }

    /// Whether the two could not be made in any order.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let id = |place: &Place| place.found.as_ref().map(FileId::of);
        // One file may have two names.
        let is_same = |one: &Place, two: &Place| id(one).is_some() && id(one) == id(two);
        let within = |one: &Place, two: &Place| one.real.starts_with(&two.real);
        let others = || other.places().into_iter().flatten();
        let mut places = self.places().into_iter().flatten();
        places.any(|one| {
            others().any(|two| within(one, two) || within(two, one) || is_same(one, two))
        })
    }

    fn places(&self) -> [Option<&Place>; 2] {
        match self {
            Self::Put(prepared) => [Some(&prepared.place), None],
            Self::Move(moving) => [Some(&moving.source), Some(&moving.target)],
            Self::Remove(removing) => [Some(&removing.place), None],
        }
    }

    /// As this step of an entry of the journal, if there is one; one is begun if this cannot be
    /// done without.
    pub(super) fn stage(
        &self,
        sandbox: &Sandbox,
        entry: &mut Option<Entry>,
        number: usize,
    ) -> Result<Staged<'_>, Error> {
        let failed = |cause| explain_write(cause, self.path());
        let name = entry.as_ref().map(|entry| record::temporary(entry.id(), number));
        match self {
            Self::Put(prepared) => {
                if let Some(temporary) = prepared.stage(name).map_err(failed)? {
                    return Ok(Staged::Put(prepared, temporary));
                }
                if entry.is_none() {
                    *entry = Entry::begin(sandbox, &[&prepared.place]).map_err(failed)?;
                }
                match (&prepared.old, entry) {
                    (Some(old), Some(entry)) => {
                        Ok(Staged::Over(prepared, Over::stage(prepared, old, entry, number)?))
                    }
                    _ => Err(Error::OnlyAlone { path: prepared.path.clone() }),
                }
            }
            Self::Move(moving) => Ok(Staged::Move(moving)),
            Self::Remove(removing) => {
                let aside = Temporary::beside(&removing.place, name, Mode::RUSR);
                Ok(Staged::Remove(removing, aside.map_err(|errno| failed(errno.into()))?))
            }
        }
    }
}

impl Staged<'_> {
    /// For the journal in the directory `root`.
    pub(super) fn record(&self, root: &Path) -> io::Result<Record> {
        let path = path_of(self.place(), root);
        Ok(match self {
            Self::Put(prepared, temporary) => Record::Put {
                path,
                before: prepared.old.as_ref().map(|old| mark(&old.stat)),
                after: mark(&fstat(&temporary.file)?),
            },
            Self::Over(..) => Record::Over { path },
            Self::Move(moving) => {
                let to = path_of(&moving.target, root);
                Record::Move { path, to, inode: moving.inode() }
            }
            Self::Remove(removing, _) => Record::Remove { path, before: mark(&removing.old.stat) },
        })
    }

    pub(super) fn make(&self) -> Result<(), Error> {
        let made = match self {
            Self::Put(prepared, temporary) => temporary.swap_in(prepared.old.as_ref()),
            Self::Over(_, over) => match over.make() {
                Err(Failed { cause, is_torn: true }) => {
                    let failed = Box::new(explain_write(cause, self.path()));
                    return Err(Error::NotRolledBack { path: self.path().to_owned(), failed });
                }
                made => made.map_err(|failed| failed.cause),
            },
            Self::Move(moving) => return moving.go(false),
            Self::Remove(removing, aside) => aside.take_away(&removing.old),
        };
        made.map_err(|cause| match Errno::from_io_error(&cause) {
            Some(Errno::AGAIN) => Error::Moved { path: self.path().to_owned() },
            _ => explain_write(cause, self.path()),
        })
    }

    /// Undoes [`Staged::make`].
    pub(super) fn take_back(&self) -> io::Result<()> {
        match self {
            Self::Put(prepared, temporary) => temporary.swap_out(prepared.old.as_ref()),
            Self::Over(_, over) => over.take_back(),
            Self::Move(moving) => moving.back(),
            Self::Remove(_, aside) => aside.give_back(),
        }
    }

    /// The change outlives a crash from now on.
    pub(super) fn settle(&self) -> Result<Made, Error> {
        let settle = || {
            let (etag, saved) = match self {
                Self::Put(_, temporary) => (Some(temporary.settle()?), None),
                Self::Over(_, over) => (Some(over.etag()?), Some(over.saved()?)),
                Self::Move(moving) => {
                    moving.settle()?;
                    (None, None)
                }
                Self::Remove(removing, _) => {
                    removing.place.directory.sync_all()?;
                    (None, None)
                }
            };
            Ok(Made { etag, saved })
        };
        settle().map_err(|cause| explain_write(cause, self.path()))
    }

    /// What was made ready stays where it is.
    pub(super) fn leave(self) {
        if let Self::Put(_, temporary) | Self::Remove(_, temporary) = self {
            temporary.leave();
        }
    }

    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Put(prepared, _) | Self::Over(prepared, _) => &prepared.place,
            Self::Move(moving) => &moving.source,
            Self::Remove(removing, _) => &removing.place,
        }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Put(prepared, _) | Self::Over(prepared, _) => &prepared.path,
            Self::Move(moving) => &moving.source_path,
            Self::Remove(removing, _) => &removing.path,
        }
    }
}
