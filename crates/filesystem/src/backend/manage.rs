//! Makes, moves and copies files and directories, through descriptors of the directories they are
//! in.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, RenameFlags, Stat, fstat, mkdirat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::Observer;
use super::beneath::LOOK;
use super::entries::subdirectory;
use super::error::{Error, explain_write};
use super::etag::FileId;
use super::near_names;
use super::remove::must_hold_nothing_denied;
use super::replace::Temporary;
use super::root::Root;
use super::sandbox::{Place, Sandbox, kind};
use super::write::no_parent;

pub(crate) struct TwoPaths {
    pub(crate) source: String,
    pub(crate) destination: String,
    /// Replace a file that is there.
    pub(crate) overwrite: bool,
}

pub(crate) struct Copied {
    pub(crate) etag: String,
    pub(crate) bytes: u64,
}

/// Makes a directory and those it is in. `false` if it was there.
pub(super) fn create_directory(sandbox: &Sandbox, path: &str) -> Result<bool, Error> {
    let partly_there = sandbox.in_each_root(path, |root, inner| {
        let found = existing_part(sandbox, root, inner)?;
        if found.missing == inner { Err(Errno::NOENT) } else { Ok(found) }
    });
    let found = match partly_there {
        Err(Error::NotFound { .. }) => sandbox.in_each_root(path, |root, inner| {
            let found = existing_part(sandbox, root, inner)?;
            if sandbox.is_writable(&found.real) { Ok(found) } else { Err(Errno::ROFS) }
        }),
        other => other,
    }?;
    let path = || path.to_owned();
    let is_there = found.missing.as_os_str().is_empty();
    match kind(&found.there) {
        Ok(FileType::Directory) if is_there => return Ok(false),
        Ok(FileType::Directory) => {}
        _ if is_there => return Err(Error::Exists { path: path() }),
        _ => return Err(Error::NotADirectory { path: path() }),
    }
    let real = found.real.join(&found.missing);
    if sandbox.hides(&real) {
        return Err(Error::Denied { path: path() });
    }
    if !sandbox.is_writable(&real) {
        return Err(Error::ReadOnly { path: path() });
    }
    make_below(&found).map_err(|cause| explain_write(cause, &path()))?;
    Ok(true)
}

/// How much of a path exists.
struct Existing {
    there: OwnedFd,
    /// Where that is, absolute and without links.
    real: PathBuf,
    missing: PathBuf,
}

fn existing_part(sandbox: &Sandbox, root: &Root, inner: &Path) -> Result<Existing, Errno> {
    let mut part = inner;
    loop {
        let opening = if part.as_os_str().is_empty() { Path::new(".") } else { part };
        match sandbox.open_in(root, opening, LOOK) {
            Ok((there, real)) => {
                let missing = inner.strip_prefix(part).map_err(|_| Errno::NOENT)?.to_owned();
                return Ok(Existing { there, real, missing });
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {
                let last = part.components().next_back();
                let is_name = matches!(last, Some(Component::Normal(_)));
                part = part.parent().filter(|_| is_name).ok_or(Errno::NOENT)?;
            }
            Err(errno) => return Err(errno),
        }
    }
}

/// One component at a time, so that none of them can be a link.
fn make_below(found: &Existing) -> io::Result<()> {
    let mut directory = subdirectory(&found.there, OsStr::new("."))?;
    for name in &found.missing {
        match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
            // Somebody else was quicker; if it is not a directory, opening it fails.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        directory.sync_all()?;
        directory = subdirectory(&directory, name)?;
    }
    Ok(())
}

/// A move, checked; nothing is changed yet.
pub(super) struct Moving {
    pub(super) source_path: String,
    pub(super) target_path: String,
    pub(super) source: Place,
    pub(super) target: Place,
    moved: Stat,
}

pub(super) fn move_file(sandbox: &Sandbox, request: &TwoPaths) -> Result<(), Error> {
    let moving = plan_move(sandbox, request)?;
    moving.go(request.overwrite)?;
    moving.settle().map_err(|cause| moving.explain(cause))
}

pub(super) fn plan_move(sandbox: &Sandbox, request: &TwoPaths) -> Result<Moving, Error> {
    let source = sandbox.entry(&request.source)?;
    let Some(moved) = source.found else {
        return Err(near_names::not_found(sandbox, &request.source));
    };
    if sandbox.holds_root(&source.real) {
        return Err(Error::Served { path: request.source.clone() });
    }
    if is_directory(&moved) {
        // Elsewhere, another name on the way could take it out of reach of `--deny`.
        must_hold_nothing_denied(sandbox, &source, &request.source)?;
    }
    let target = sandbox.entry(&request.destination).map_err(no_parent)?;
    if sandbox.holds_root(&target.real) {
        return Err(Error::Served { path: request.destination.clone() });
    }
    if target.found.is_some() && !request.overwrite {
        return Err(Error::Exists { path: request.destination.clone() });
    }
    let (source_path, target_path) = (request.source.clone(), request.destination.clone());
    Ok(Moving { source_path, target_path, source, target, moved })
}

impl Moving {
    pub(super) fn id(&self) -> FileId {
        FileId::of(&self.moved)
    }

    pub(super) fn inode(&self) -> u64 {
        self.moved.st_ino
    }

    pub(super) fn go(&self, overwrite: bool) -> Result<(), Error> {
        // Whoever comes first after our look is not overwritten either.
        let flags = if overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let renamed = rename(&self.source, &self.target, flags);
        renamed.and_then(|()| self.remove_other_name()).map_err(|cause| self.explain(cause))
    }

    /// The kernel does nothing, and says it went well, if both are names of the same file.
    fn remove_other_name(&self) -> io::Result<()> {
        let is_same = |found: &Stat| found.st_nlink > 1 && FileId::of(found) == self.id();
        if self.source.real != self.target.real && self.target.found.as_ref().is_some_and(is_same) {
            unlinkat(&self.source.directory, &self.source.name, AtFlags::empty())?;
        }
        Ok(())
    }

    /// Undoes [`Moving::go`].
    pub(super) fn back(&self) -> io::Result<()> {
        rename(&self.target, &self.source, RenameFlags::NOREPLACE)
    }

    pub(super) fn settle(&self) -> io::Result<()> {
        self.target.directory.sync_all()?;
        self.source.directory.sync_all()
    }

    fn explain(&self, cause: io::Error) -> Error {
        match Errno::from_io_error(&cause) {
            Some(Errno::XDEV) => Error::OtherFileSystem { path: self.target_path.clone() },
            Some(Errno::INVAL | Errno::ISDIR | Errno::NOTDIR) => Error::Misplaced,
            Some(Errno::NOENT) => Error::Moved { path: self.source_path.clone() },
            _ => explain_write(cause, &self.target_path),
        }
    }
}

fn rename(from: &Place, to: &Place, flags: RenameFlags) -> io::Result<()> {
    Ok(renameat_with(&from.directory, &from.name, &to.directory, &to.name, flags)?)
}

pub(super) fn copy_file(
    sandbox: &Sandbox,
    request: &TwoPaths,
    observer: &dyn Observer,
) -> Result<Copied, Error> {
    let source = sandbox.open_file(&request.source)?;
    let path = request.destination.as_str();
    let place = sandbox.entry(path).map_err(no_parent)?;
    match &place.found {
        Some(_) if !request.overwrite => return Err(Error::Exists { path: path.to_owned() }),
        Some(found) if !is_regular(found) => {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        _ => {}
    }
    copy_to(&place, source.file, request, observer)
}

fn copy_to(
    place: &Place,
    source: File,
    request: &TwoPaths,
    observer: &dyn Observer,
) -> Result<Copied, Error> {
    const CHUNK_BYTES: u64 = 8 * 1024 * 1024;
    let failed = |cause| explain_write(cause, &request.destination);
    let found = source.metadata().map_err(failed)?;
    let mode = fstat(&source).map_err(|errno| failed(errno.into()))?.st_mode & 0o777;
    let mode = Mode::from_raw_mode(mode);
    let mut temporary =
        Temporary::beside(place, None, mode).map_err(|errno| failed(io::Error::from(errno)))?;
    let mut bytes = 0;
    loop {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        // From file to file the kernel copies, or shares the blocks.
        let copied = io::copy(&mut (&source).take(CHUNK_BYTES), &mut temporary.file);
        let copied = copied.map_err(failed)?;
        bytes += copied;
        if copied == 0 {
            break;
        }
        observer.progress(bytes, Some(found.len()), "bytes");
    }
    let placed = if request.overwrite { temporary.replace() } else { temporary.create() };
    Ok(Copied { etag: placed.map_err(failed)?, bytes })
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}
