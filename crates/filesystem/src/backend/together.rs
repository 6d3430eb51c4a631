//! Makes steps so that all of them are made or none: all are made ready before the first, what was
//! made is taken back if one cannot be, and the journal knows them, should the process die.

use std::fs::File;
use std::io;

use rustix::io::Errno;

use super::error::{Error, explain_write};
use super::journal::Entry;
use super::over::{self, Over};
use super::replace::{Old, Prepared};
use super::sandbox::Sandbox;
use super::step::{Staged, Step};

/// A step that has been made.
pub(super) struct Made {
    /// Of the file there is now.
    pub(super) etag: Option<String>,
    /// What was in a file that has been written over.
    pub(super) saved: Option<File>,
}

pub(super) fn make_all(sandbox: &Sandbox, steps: &[Step]) -> Result<Vec<Made>, Error> {
    let mut entry = None;
    if let [first, _, ..] = steps {
        let places: Vec<_> = steps.iter().map(Step::place).collect();
        let begun = Entry::begin(sandbox, &places);
        entry = begun.map_err(|cause| explain_write(cause, first.path()))?;
    }
    // Dropped before the entry: a step takes with it what was made ready for it.
    let mut staged = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        staged.push(step.stage(sandbox, &mut entry, number)?);
    }
    finish(entry, staged)
}

/// New contents for a file that has to stay the same one. Its etag.
pub(super) fn write_over(
    sandbox: &Sandbox,
    prepared: &Prepared,
    before: &Old,
) -> Result<String, Error> {
    let failed = |cause: io::Error| match Errno::from_io_error(&cause) {
        Some(Errno::AGAIN) => Error::Moved { path: prepared.path.clone() },
        _ => explain_write(cause, &prepared.path),
    };
    match Entry::begin(sandbox, &[&prepared.place]).map_err(failed)? {
        None => over::write_unprotected(&prepared.place, before, &prepared.bytes).map_err(failed),
        Some(entry) => {
            let over = Over::stage(prepared, before, &entry, 0)?;
            let made = finish(Some(entry), vec![Staged::Over(prepared, over)])?;
            Ok(made.into_iter().find_map(|made| made.etag).unwrap_or_default())
        }
    }
}

fn finish(mut entry: Option<Entry>, staged: Vec<Staged<'_>>) -> Result<Vec<Made>, Error> {
    if let Some(entry) = &entry {
        commit(entry, &staged)?;
    }
    let made = make_each(&staged);
    let is_settled = match &entry {
        _ if matches!(made, Err(Error::NotRolledBack { .. })) => false,
        Some(entry) => entry.settle().is_ok(),
        None => true,
    };
    match &mut entry {
        Some(entry) if !is_settled => {
            entry.leave();
            staged.into_iter().for_each(Staged::leave);
        }
        _ => drop(staged),
    }
    made
}

fn commit(entry: &Entry, staged: &[Staged<'_>]) -> Result<(), Error> {
    for step in staged {
        let committed = step.place().directory.sync_all();
        committed.map_err(|cause| explain_write(cause, step.path()))?;
    }
    let path = staged.first().map_or("", Staged::path);
    entry.commit(staged).map_err(|cause| {
        // What has been written of it does not count.
        let _unsettled = entry.settle();
        explain_write(cause, path)
    })
}

fn make_each(staged: &[Staged<'_>]) -> Result<Vec<Made>, Error> {
    for (done, step) in staged.iter().enumerate() {
        if let Err(failed) = step.make() {
            return Err(taken_back(staged.iter().take(done).rev(), failed));
        }
    }
    let made: Result<_, _> = staged.iter().map(Staged::settle).collect();
    made.map_err(|failed| taken_back(staged.iter().rev(), failed))
}

/// What cannot be undone is said.
fn taken_back<'a>(last_first: impl Iterator<Item = &'a Staged<'a>>, failed: Error) -> Error {
    last_first.fold(failed, |failed, step| match step.take_back() {
        Ok(()) => failed,
        Err(_) => Error::NotRolledBack { path: step.path().to_owned(), failed: Box::new(failed) },
    })
}
