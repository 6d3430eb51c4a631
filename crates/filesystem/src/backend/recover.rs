//! Finishes what a process that died was doing, by the entries of its journal: all of it, or if
//! somebody has changed a file since, nothing of it. Nothing of theirs is overwritten.
//!
//! An entry is the word of a stranger: what it names is opened as anything else is, below the
//! served directories, where writing is allowed. It can be interrupted anywhere, and begun again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FlockOperation, flock, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::beneath::{open_directory, real_path};
use super::entries::entries;
use super::journal::{Journal, remove_contents};
use super::names;
use super::pending::{Pending, State};
use super::record::{self, BACK, Entry, MAX_ENTRY_BYTES};
use super::root::{Access, Root};
use super::sandbox::{Place, Sandbox};
use super::wall;

/// At start, on a thread of its own: it stands behind the second wall, the caller must not.
pub(super) fn at_start(sandbox: &Sandbox) {
    if sandbox.served().iter().all(|root| matches!(Journal::open(root), Err(Errno::NOENT))) {
        return;
    }
    for root in sandbox.served().iter().filter(|root| root.access == Access::ReadOnly) {
        if Journal::open(root).is_ok() {
            let at = names::spell_path(root.shown());
            tracing::warn!(
                "a change in {at} is being made or was interrupted; a server that may write there \
                 finishes it"
            );
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| recover(sandbox));
    });
}

/// Before something is written. Costs one call for each served directory if there is nothing.
pub(super) fn recover(sandbox: &Sandbox) {
    wall::stand_behind();
    for root in sandbox.served().iter().filter(|root| root.access == Access::ReadWrite) {
        match Journal::open(root) {
            Ok(journal) => recover_all(sandbox, root, &journal),
            Err(Errno::NOENT) => {}
            Err(errno) => tracing::warn!("a crash journal that is not ours is left alone: {errno}"),
        }
    }
}

fn recover_all(sandbox: &Sandbox, root: &Root, journal: &Journal) {
    for found in entries(&journal.directory).unwrap_or_default() {
        let Some(id) = found.name.to_str().filter(|name| is_id(name)) else {
            continue;
        };
        match Left::open(journal, id) {
            Ok(Some(left)) => {
                if let Err(error) = left.finish(sandbox, root, journal, id) {
                    tracing::warn!("entry {id} of the crash journal is left alone: {error}");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!("{id} in the crash journal is no entry: {error}"),
        }
    }
    journal.remove_if_empty();
}

fn is_id(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The entry of a process that has died.
struct Left {
    /// Locked.
    file: File,
    entry: Entry,
}

impl Left {
    /// `None` if its process lives, or somebody else has just finished it.
    fn open(journal: &Journal, id: &str) -> io::Result<Option<Self>> {
        let mut file = journal.file(id)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if fstat(&file)?.st_nlink > 0 => {}
            Ok(()) | Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_ENTRY_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_ENTRY_BYTES {
            return Err(Errno::FBIG.into());
        }
        let entry = record::parse(&bytes).map_err(io::Error::other)?;
        Ok(Some(Self { file, entry }))
    }

    fn finish(
        mut self,
        sandbox: &Sandbox,
        root: &Root,
        journal: &Journal,
        id: &str,
    ) -> io::Result<()> {
        let locate = |path: &String| locate(sandbox, root, path);
        // Before anything is done: one that says a single thing it must not is not believed at all.
        let plan: Vec<Option<Place>> =
            self.entry.plan.iter().map(locate).collect::<Result<_, _>>()?;
        if let Some(steps) = std::mem::take(&mut self.entry.steps) {
            let mut pending = Vec::new();
            for (number, record) in steps.into_iter().enumerate() {
                let place = locate(&record.path().to_owned())?;
                let to = record.to().map(|to| locate(&to.to_owned())).transpose()?.flatten();
                pending.push(Pending::new(journal, id, number, record, place, to)?);
            }
            self.make(&pending)?;
            self.file.set_len(self.entry.plan_bytes as u64)?;
        }
        for (number, place) in plan.iter().enumerate() {
            if let Some(place) = place {
                let name = record::temporary(id, number);
                let _gone = unlinkat(&place.directory, name, AtFlags::empty());
            }
        }
        remove_contents(journal, id, plan.len());
        journal.remove(id);
        Ok(())
    }

    fn make(&mut self, pending: &[Pending<'_>]) -> io::Result<()> {
        let states = pending.iter().map(Pending::state).collect::<io::Result<Vec<_>>>()?;
        let is_back = self.entry.is_back || states.contains(&State::Blocked);
        if !is_back {
            for (step, state) in pending.iter().zip(&states) {
                if *state == State::Ready {
                    step.make()?;
                }
            }
            tracing::warn!("a change that was interrupted has been finished");
            return pending.iter().try_for_each(Pending::settle);
        }
        if !self.entry.is_back {
            self.file.seek(SeekFrom::End(0))?;
            self.file.write_all(&record::line(&BACK)?)?;
            self.file.sync_all()?;
        }
        for (step, state) in pending.iter().zip(&states).rev() {
            if !step.take_back()? || *state == State::Blocked {
                step.keep()?;
            }
        }
        tracing::warn!("a change that was interrupted has been taken back");
        pending.iter().try_for_each(Pending::settle)
    }
}

/// `None` if there is no such directory any more. Fails on what no entry of ours names.
fn locate(sandbox: &Sandbox, root: &Root, path: &str) -> Result<Option<Place>, Errno> {
    let path = names::parse(path);
    let (root, inner) = match sandbox.served_at(&path) {
        Some((root, at)) if path.is_absolute() => {
            (root, path.strip_prefix(at).map_err(|_| Errno::XDEV)?.to_owned())
        }
        _ => (root, path),
    };
    let is_plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
    let name = inner.file_name().filter(|_| is_plain).ok_or(Errno::XDEV)?;
    let parent = inner.parent().unwrap_or(Path::new(""));
    let directory = match open_directory(&root.descriptor, parent) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => opened?,
    };
    let real = real_path(&directory)?.join(name);
    if sandbox.hides(&real) {
        return Err(Errno::ACCESS);
    }
    if !sandbox.is_writable(&real) {
        return Err(Errno::ROFS);
    }
    let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    Ok(Some(Place { directory, name: name.to_owned(), real, found }))
}
