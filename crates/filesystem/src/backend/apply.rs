//! Changes several files, all or none: all are made ready beside the old ones before the first is
//! swapped in, and what was swapped in is swapped out again if one cannot be.

use std::io;

use rustix::io::Errno;

use super::charset::Charset;
use super::edit::{self, EditFile};
use super::error::{Error, explain_write};
use super::replace::{Prepared, Temporary};
use super::sandbox::Sandbox;
use super::write::{self, WriteFile};

pub(crate) enum Change {
    /// `dry_run` is not looked at.
    Edit(EditFile),
    Write(WriteFile),
}

pub(crate) struct Applied {
    /// Of all files, unified.
    pub(crate) diff: String,
    /// Path and etag of each file, if they were changed.
    pub(crate) etags: Vec<(String, String)>,
}

pub(super) fn apply(
    sandbox: &Sandbox,
    changes: &[Change],
    dry_run: bool,
) -> Result<Applied, Error> {
    let mut prepared: Vec<Prepared> = Vec::new();
    let mut diffs = String::new();
    for change in changes {
        let (next, diff) = prepare(sandbox, change)?;
        if prepared.iter().any(|other| other.place.real == next.place.real) {
            return Err(Error::Twice { path: next.path });
        }
        diffs.push_str(&diff);
        prepared.push(next);
    }
    let etags = if dry_run { Vec::new() } else { swap_all(&prepared)? };
    Ok(Applied { diff: edit::within_budget(diffs), etags })
}

fn prepare(sandbox: &Sandbox, change: &Change) -> Result<(Prepared, String), Error> {
    match change {
        Change::Edit(request) => edit::prepare(sandbox, request),
        Change::Write(request) => {
            let mut prepared = write::prepare(sandbox, request)?;
            let before = match &mut prepared.old {
                Some(old) => edit::read(&mut old.file, &request.path)?,
                None => Vec::new(),
            };
            let text = |bytes: &[u8]| Charset::of(bytes, None).decode(bytes);
            let diff = match (text(&before), text(&prepared.bytes)) {
                (Some(before), Some(after)) => edit::diff(&request.path, &before, &after),
                _ => format!("{} is not text\n", request.path),
            };
            Ok((prepared, diff))
        }
    }
}

fn swap_all(prepared: &[Prepared]) -> Result<Vec<(String, String)>, Error> {
    let mut staged = Vec::new();
    for one in prepared {
        let temporary = one.stage().map_err(|cause| explain_write(cause, &one.path))?;
        let only_alone = || Error::OnlyAlone { path: one.path.clone() };
        staged.push((one, temporary.ok_or_else(only_alone)?));
    }
    for (done, (one, temporary)) in staged.iter().enumerate() {
        if let Err(cause) = temporary.swap_in(one.old.as_ref()) {
            let failed = explain_swap(cause, &one.path);
            return Err(rolled_back(staged.iter().take(done).rev(), failed));
        }
    }
    let settled = |(one, temporary): &(&Prepared, Temporary)| {
        let etag = temporary.settle().map_err(|cause| explain_write(cause, &one.path))?;
        Ok((one.path.clone(), etag))
    };
    staged.iter().map(settled).collect()
}

/// What cannot be undone is said.
fn rolled_back<'a>(
    last_first: impl Iterator<Item = &'a (&'a Prepared, Temporary<'a>)>,
    failed: Error,
) -> Error {
    last_first.fold(failed, |failed, (one, temporary)| match temporary.swap_out(one.old.as_ref()) {
        Ok(()) => failed,
        Err(_) => Error::NotRolledBack { path: one.path.clone(), failed: Box::new(failed) },
    })
}

fn explain_swap(cause: io::Error, path: &str) -> Error {
    match Errno::from_io_error(&cause) {
        Some(Errno::AGAIN) => Error::Moved { path: path.to_owned() },
        _ => explain_write(cause, path),
    }
}
