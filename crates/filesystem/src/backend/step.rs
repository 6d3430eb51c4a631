//! One change of several: made ready first, then made by one rename, which another rename undoes.

use std::io;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::error::{Error, explain_write};
use super::manage::Moving;
use super::replace::{Old, Prepared, Temporary};
use super::sandbox::Place;

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

    /// New contents it holds in memory.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Put(prepared) => prepared.bytes.len() as u64,
            Self::Move(_) | Self::Remove(_) => 0,
        }
    }

    /// Whether the two could not be made in any order.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let within = |one: &Place, two: &Place| one.real.starts_with(&two.real);
        let others = || other.places().into_iter().flatten();
        let mut places = self.places().into_iter().flatten();
        places.any(|one| others().any(|two| within(one, two) || within(two, one)))
    }

    fn places(&self) -> [Option<&Place>; 2] {
        match self {
            Self::Put(prepared) => [Some(&prepared.place), None],
            Self::Move(moving) => [Some(&moving.source), Some(&moving.target)],
            Self::Remove(removing) => [Some(&removing.place), None],
        }
    }

    pub(super) fn stage(&self) -> Result<Staged<'_>, Error> {
        let failed = |cause| explain_write(cause, self.path());
        match self {
            Self::Put(prepared) => {
                let only_alone = || Error::OnlyAlone { path: prepared.path.clone() };
                let temporary = prepared.stage().map_err(failed)?.ok_or_else(only_alone)?;
                Ok(Staged::Put(prepared, temporary))
            }
            Self::Move(moving) => Ok(Staged::Move(moving)),
            Self::Remove(removing) => {
                let aside = Temporary::beside(&removing.place, Mode::RUSR);
                Ok(Staged::Remove(removing, aside.map_err(|errno| failed(errno.into()))?))
            }
        }
    }
}

impl Staged<'_> {
    pub(super) fn make(&self) -> Result<(), Error> {
        let made = match self {
            Self::Put(prepared, temporary) => temporary.swap_in(prepared.old.as_ref()),
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
            Self::Move(moving) => moving.back(),
            Self::Remove(_, aside) => aside.give_back(),
        }
    }

    /// The change outlives a crash from now on. The etag, if there is a file now.
    pub(super) fn settle(&self) -> Result<Option<String>, Error> {
        let settled = match self {
            Self::Put(_, temporary) => temporary.settle().map(Some),
            Self::Move(moving) => moving.settle().map(|()| None),
            Self::Remove(removing, _) => removing.place.directory.sync_all().map(|()| None),
        };
        settled.map_err(|cause| explain_write(cause, self.path()))
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Put(prepared, _) => &prepared.path,
            Self::Move(moving) => &moving.source_path,
            Self::Remove(removing, _) => &removing.path,
        }
    }
}
