//! Changes several files, all or none: all are made ready beside the old ones before the first is
//! put in place, and what was put in place is taken back if one cannot be.

use super::edit::{self, EditFile};
use super::error::Error;
use super::manage::{self, TwoPaths};
use super::sandbox::Sandbox;
use super::step::Step;
use super::together::make_all;
use super::undo::{Undo, UndoLog, removing};
use super::write::{self, WriteFile};

/// Of the new contents of all files together: they are held in memory until all are ready.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) enum Change {
    /// `dry_run` is not looked at.
    Edit(EditFile),
    Write(WriteFile),
    /// `overwrite` is not looked at: nothing is.
    Move(TwoPaths),
    /// A regular file, if it still has this etag.
    Delete {
        path: String,
        if_match: Option<String>,
    },
}

pub(crate) struct Applied {
    /// Of all files, unified.
    pub(crate) diff: String,
    /// Path and etag of each file there is now.
    pub(crate) etags: Vec<(String, String)>,
    /// For [`undo`]; `None` after a dry run, or if there was no room to keep what was there.
    pub(crate) undo: Option<String>,
}

pub(super) fn apply(
    sandbox: &Sandbox,
    log: &mut UndoLog,
    changes: &[Change],
    dry_run: bool,
) -> Result<Applied, Error> {
    let mut steps = Vec::new();
    let mut bytes = 0;
    for change in changes {
        let (step, diff) = prepare(sandbox, change)?;
        bytes += step.bytes();
        if bytes > MAX_BYTES {
            return Err(Error::TooLarge { path: step.path().to_owned(), max_bytes: MAX_BYTES });
        }
        steps.push((step, diff));
    }
    make(sandbox, log, steps, dry_run)
}

/// Puts back what was changed under this id, all or none, unless somebody has changed it since.
pub(super) fn undo(
    sandbox: &Sandbox,
    log: &mut UndoLog,
    id: &str,
    dry_run: bool,
) -> Result<Applied, Error> {
    let steps = log.steps(sandbox, id)?;
    let applied = make(sandbox, log, steps, dry_run)?;
    if !dry_run {
        log.forget(id);
    }
    Ok(applied)
}

/// What is to be done, and the diff that makes.
fn prepare(sandbox: &Sandbox, change: &Change) -> Result<(Step, String), Error> {
    match change {
        Change::Edit(request) => {
            edit::prepare(sandbox, request).map(|(prepared, diff)| (Step::Put(prepared), diff))
        }
        Change::Write(request) => {
            let mut prepared = write::prepare(sandbox, request)?;
            let before = match &mut prepared.old {
                Some(old) => edit::read(&mut old.file, &request.path)?,
                None => Vec::new(),
            };
            let diff = edit::diff_bytes(&request.path, &before, &prepared.bytes);
            Ok((Step::Put(prepared), diff))
        }
        Change::Move(request) => {
            let moving = manage::plan_move(sandbox, request)?;
            let TwoPaths { source, destination, .. } = request;
            let diff = format!("rename from {source}\nrename to {destination}\n");
            Ok((Step::Move(moving), diff))
        }
        Change::Delete { path, if_match } => removing(sandbox, path, if_match.as_deref()),
    }
}

fn make(
    sandbox: &Sandbox,
    log: &mut UndoLog,
    steps: Vec<(Step, String)>,
    dry_run: bool,
) -> Result<Applied, Error> {
    let (steps, diffs): (Vec<Step>, Vec<String>) = steps.into_iter().unzip();
    must_not_overlap(&steps)?;
    let diff = edit::within_budget(diffs.concat());
    if dry_run {
        return Ok(Applied { diff, etags: Vec::new(), undo: None });
    }
    let made = make_all(sandbox, &steps)?;
    let mut etags = Vec::new();
    let mut undos = Vec::new();
    for (step, made) in steps.into_iter().zip(made) {
        etags.extend(made.etag.clone().map(|etag| (step.path().to_owned(), etag)));
        undos.push(Undo::of(step, made));
    }
    Ok(Applied { diff, etags, undo: log.keep(undos) })
}

fn must_not_overlap(steps: &[Step]) -> Result<(), Error> {
    for (at, step) in steps.iter().enumerate() {
        if steps.iter().take(at).any(|before| before.overlaps(step)) {
            return Err(Error::Twice { path: step.path().to_owned() });
        }
    }
    Ok(())
}
