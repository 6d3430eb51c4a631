//! Deletes files and directories. A directory is looked through before the first file goes, and
//! never left by a link.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;

use super::Observer;
use super::entries::{entries, subdirectory};
use super::error::{Error, explain, explain_write};
use super::manage::is_directory;
use super::near_names;
use super::sandbox::{Place, Sandbox};

/// One descriptor is open for each level.
const MAX_DEPTH: usize = 256;

/// How many files and directories are gone.
pub(super) fn delete(
    sandbox: &Sandbox,
    path: &str,
    recursive: bool,
    observer: &dyn Observer,
) -> Result<u64, Error> {
    let place = sandbox.entry(path)?;
    let Some(found) = &place.found else {
        return Err(near_names::not_found(sandbox, path));
    };
    if sandbox.holds_root(&place.real) {
        return Err(Error::Served { path: path.to_owned() });
    }
    let mut removing = Removing { path, observer, count: 0 };
    if !is_directory(found) {
        removing.unlink(&place.directory, &place.name, AtFlags::empty())?;
    } else {
        if recursive {
            must_hold_nothing_denied(sandbox, &place, path)?;
            removing.empty(&place.directory, &place.name, 0)?;
        }
        removing.unlink(&place.directory, &place.name, AtFlags::REMOVEDIR)?;
    }
    Ok(removing.count)
}

struct Removing<'a> {
    path: &'a str,
    observer: &'a dyn Observer,
    count: u64,
}

impl Removing<'_> {
    fn empty(&mut self, parent: &File, name: &OsStr, depth: usize) -> Result<(), Error> {
        let failed = |errno: Errno| explain_write(errno.into(), self.path);
        if depth > MAX_DEPTH {
            return Err(failed(Errno::LOOP));
        }
        let directory = subdirectory(parent, name).map_err(failed)?;
        for entry in entries(&directory).map_err(failed)? {
            if self.observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let flags = if entry.kind == FileType::Directory {
                self.empty(&directory, &entry.name, depth + 1)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            self.unlink(&directory, &entry.name, flags)?;
        }
        Ok(())
    }

    fn unlink(&mut self, directory: &File, name: &OsStr, flags: AtFlags) -> Result<(), Error> {
        unlinkat(directory, name, flags).map_err(|errno| explain_write(errno.into(), self.path))?;
        self.count += 1;
        self.observer.progress(self.count, None, "deleted");
        Ok(())
    }
}

/// What is kept from sight must not vanish, nor get another path, with a directory it is in.
pub(super) fn must_hold_nothing_denied(
    sandbox: &Sandbox,
    place: &Place,
    path: &str,
) -> Result<(), Error> {
    if !sandbox.has_denied() {
        return Ok(());
    }
    let holds = holds_denied(sandbox, &place.directory, &place.name, &place.real, 0);
    match holds.map_err(|errno| explain(errno, path))? {
        true => Err(Error::HoldsDenied { path: path.to_owned() }),
        false => Ok(()),
    }
}

fn holds_denied(
    sandbox: &Sandbox,
    parent: &File,
    name: &OsStr,
    real: &Path,
    depth: usize,
) -> Result<bool, Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::LOOP);
    }
    let directory = subdirectory(parent, name)?;
    for entry in entries(&directory)? {
        let real = real.join(&entry.name);
        let is_directory = entry.kind == FileType::Directory;
        if sandbox.hides(&real)
            || (is_directory && holds_denied(sandbox, &directory, &entry.name, &real, depth + 1)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
