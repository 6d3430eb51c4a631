//! One step that a dead process has made, or not, or half: told by what is there now.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, RenameFlags, renameat_with, statat};
use rustix::io::Errno;

use super::journal::Journal;
use super::over::{self, MAX_BYTES, is_mix, is_same};
use super::record::{self, Record, mark};
use super::sandbox::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Done,
    /// It can be made, or made again.
    Ready,
    /// Somebody has changed what it was about.
    Blocked,
}

pub(super) struct Pending<'a> {
    journal: &'a Journal,
    id: &'a str,
    number: usize,
    record: Record,
    /// `None` if its directory is gone.
    place: Option<Place>,
    to: Option<Place>,
    contents: Option<Contents>,
}

/// Of a file that is written over.
struct Contents {
    old: File,
    new: File,
}

impl<'a> Pending<'a> {
    pub(super) fn new(
        journal: &'a Journal,
        id: &'a str,
        number: usize,
        record: Record,
        place: Option<Place>,
        to: Option<Place>,
    ) -> io::Result<Self> {
        let open = |kind| match journal.file(&format!("{id}-{number}.{kind}")) {
            Err(Errno::NOENT) => Ok(None),
            Ok(file) if file.metadata()?.len() > MAX_BYTES => Err(io::Error::from(Errno::FBIG)),
            opened => Ok(Some(opened?)),
        };
        let contents = match record {
            Record::Over { .. } => open("old")?.zip(open("new")?),
            _ => None,
        };
        let contents = contents.map(|(old, new)| Contents { old, new });
        Ok(Self { journal, id, number, record, place, to, contents })
    }

    pub(super) fn state(&self) -> io::Result<State> {
        let Some(place) = &self.place else {
            return Ok(State::Blocked);
        };
        let (now, aside) = (found(place)?, self.aside(place)?);
        let or_blocked = |is_ready| if is_ready { State::Ready } else { State::Blocked };
        Ok(match &self.record {
            Record::Put { before, .. } if aside.is_none() => {
                // Without it there is nothing left to do, unless it was taken from us.
                if before.is_some() && now == *before { State::Blocked } else { State::Done }
            }
            Record::Put { before, .. } if aside == *before => State::Done,
            Record::Put { before, after, .. } => {
                or_blocked(aside.as_ref() == Some(after) && now == *before)
            }
            Record::Remove { before, .. } => match now {
                _ if aside.as_ref() == Some(before) => State::Done,
                None => State::Done,
                Some(now) => or_blocked(now == *before),
            },
            Record::Move { inode, .. } => {
                if inode_at(place)? != Some(*inode) {
                    return Ok(State::Done);
                }
                let is_free = |to: &Place| Ok::<_, io::Error>(inode_at(to)?.is_none());
                or_blocked(self.to.as_ref().map(is_free).transpose()? == Some(true))
            }
            Record::Over { .. } => match (over::open(place), &self.contents) {
                (Ok(now), Some(Contents { new, .. })) if is_same(&now, new)? => State::Done,
                (Ok(now), Some(Contents { old, new })) => or_blocked(is_mix(&now, old, new)?),
                // They go when all is done.
                (_, None) => State::Done,
                (Err(_), _) => State::Blocked,
            },
        })
    }

    /// Only when it is [`State::Ready`].
    pub(super) fn make(&self) -> io::Result<()> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        match (&self.record, &self.to, &self.contents) {
            (Record::Put { before: Some(_), .. }, ..) => {
                self.swap(place, true, RenameFlags::EXCHANGE)
            }
            (Record::Put { .. }, ..) => self.swap(place, true, RenameFlags::NOREPLACE),
            (Record::Remove { .. }, ..) => self.swap(place, false, RenameFlags::empty()),
            (Record::Move { .. }, Some(to), _) => rename(place, to),
            (Record::Over { .. }, _, Some(Contents { new, .. })) => {
                over::copy(new, &over::open(place)?)
            }
            _ => Ok(()),
        }
    }

    /// `false` if it was made and somebody has changed the file since, which stays.
    pub(super) fn take_back(&self) -> io::Result<bool> {
        let Some(place) = &self.place else {
            return Ok(false);
        };
        let (now, aside) = (found(place)?, self.aside(place)?);
        match (&self.record, &self.to, &self.contents) {
            (Record::Put { after, .. }, ..) if aside.as_ref() == Some(after) => Ok(true),
            (Record::Put { before, after, .. }, ..) if now.as_ref() == Some(after) => {
                if aside != *before {
                    return Ok(false);
                }
                let is_new = before.is_none();
                let flags = if is_new { RenameFlags::NOREPLACE } else { RenameFlags::EXCHANGE };
                self.swap(place, false, flags)?;
                Ok(true)
            }
            (Record::Put { before, .. }, ..) => Ok(now == *before),
            (Record::Remove { before, .. }, ..) if aside.as_ref() == Some(before) => {
                if now.is_none() {
                    self.swap(place, true, RenameFlags::NOREPLACE)?;
                }
                Ok(now.is_none())
            }
            (Record::Remove { .. }, ..) => Ok(now.is_some()),
            (Record::Move { inode, .. }, Some(to), _) if inode_at(to)? == Some(*inode) => {
                let is_free = now.is_none();
                if is_free {
                    rename(to, place)?;
                }
                Ok(is_free)
            }
            (Record::Move { inode, .. }, ..) => Ok(inode_at(place)? == Some(*inode)),
            (Record::Over { .. }, _, Some(Contents { old, new })) => match over::open(place) {
                Ok(file) if is_mix(&file, old, new)? => over::copy(old, &file).map(|()| true),
                _ => Ok(false),
            },
            (Record::Over { .. }, ..) => Ok(false),
        }
    }

    /// What was not put in place stays, where the model and its user can find it.
    pub(super) fn keep(&self) -> io::Result<()> {
        let name = format!(".mcp-{}-{}.kept", self.id, self.number);
        let path = self.record.path();
        let kept = match (&self.place, &self.record) {
            (None, _) => Err(Errno::NOENT),
            (Some(place), Record::Over { .. }) => {
                let new = format!("{}-{}.new", self.id, self.number);
                let flags = RenameFlags::NOREPLACE;
                let journal = &self.journal.directory;
                renameat_with(journal, new.as_str(), &place.directory, name.as_str(), flags)
                    // Not writable, or another file system.
                    .or_else(|_| renameat_with(journal, new, journal, name.as_str(), flags))
            }
            (Some(place), _) => {
                let aside = record::temporary(self.id, self.number);
                let (directory, flags) = (&place.directory, RenameFlags::NOREPLACE);
                renameat_with(directory, aside, directory, name.as_str(), flags)
            }
        };
        match kept {
            Ok(()) => tracing::error!(
                "{path:?} was changed while a change of it was interrupted; what was not put in \
                 place is kept as {name}"
            ),
            Err(Errno::NOENT) => tracing::error!(
                "{path:?} was changed while a change of it was interrupted; it was left alone"
            ),
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// It outlives a crash from now on.
    pub(super) fn settle(&self) -> io::Result<()> {
        self.place.iter().chain(&self.to).try_for_each(|place| place.directory.sync_all())
    }

    /// What lies under the name of the temporary file.
    fn aside(&self, place: &Place) -> io::Result<Option<String>> {
        Ok(look(&place.directory, record::temporary(self.id, self.number))?)
    }

    /// Between the name of the place and that of the temporary file.
    fn swap(&self, place: &Place, is_into_place: bool, flags: RenameFlags) -> io::Result<()> {
        let directory = &place.directory;
        let aside = record::temporary(self.id, self.number);
        if is_into_place {
            renameat_with(directory, aside, directory, &place.name, flags)?;
        } else {
            renameat_with(directory, &place.name, directory, aside, flags)?;
        }
        Ok(())
    }
}

fn rename(from: &Place, to: &Place) -> io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    Ok(renameat_with(&from.directory, &from.name, &to.directory, &to.name, flags)?)
}

fn found(place: &Place) -> io::Result<Option<String>> {
    Ok(look(&place.directory, &place.name)?)
}

fn look(directory: &File, name: impl rustix::path::Arg) -> Result<Option<String>, Errno> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(mark(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn inode_at(place: &Place) -> io::Result<Option<u64>> {
    match statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat.st_ino)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
