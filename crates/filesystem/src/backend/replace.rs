//! Puts new contents under a name so that a crash leaves the old or the new file, never a torn
//! one: written beside it, flushed, and renamed over it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, fstat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::error::{Error, explain, explain_write};
use super::etag;
use super::root::READ;
use super::sandbox::{Place, Sandbox};
use super::together::write_over;

/// New contents for one place, checked and ready.
pub(super) struct Prepared {
    pub(super) path: String,
    pub(super) place: Place,
    /// What is there now; `None` if nothing is.
    pub(super) old: Option<Old>,
    /// The file whose mode, owner and attributes it gets, if that is another one.
    pub(super) like: Option<Old>,
    pub(super) bytes: Vec<u8>,
}

/// The file that is to be replaced, and what it was like before anybody read it.
pub(super) struct Old {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl Old {
    /// The regular file at a place, never what a link put there meanwhile leads to. Fails if it
    /// does not have the etag the caller wants.
    pub(super) fn open(place: &Place, path: &str, if_match: Option<&str>) -> Result<Self, Error> {
        let flags = READ | OFlags::NOFOLLOW;
        let open = || {
            let file = openat(&place.directory, &place.name, flags, Mode::empty())?;
            let stat = fstat(&file)?;
            Ok((File::from(file), stat))
        };
        let (file, stat) = open().map_err(|errno| explain(errno, path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        let etag = etag::of_stat(&stat);
        match if_match {
            Some(wanted) if wanted != etag => Err(Error::Changed { path: path.to_owned(), etag }),
            _ => Ok(Self { file, stat }),
        }
    }

    pub(super) fn etag(&self) -> String {
        etag::of_stat(&self.stat)
    }

    /// Another handle.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, stat: self.stat })
    }
}

impl Prepared {
    /// The etag of the result.
    pub(super) fn put(&self, sandbox: &Sandbox) -> Result<String, Error> {
        let Some(old) = &self.old else {
            return create(&self.place, &self.path, &self.bytes);
        };
        match replace(&self.place, old, &self.bytes) {
            Ok(Some(etag)) => Ok(etag),
            Ok(None) => write_over(sandbox, self, old),
            Err(cause) if Errno::from_io_error(&cause) == Some(Errno::AGAIN) => {
                Err(Error::Moved { path: self.path.clone() })
            }
            Err(cause) => Err(explain_write(cause, &self.path)),
        }
    }

    /// The new file beside the old one, flushed, for [`Temporary::swap_in`]. `None` if only
    /// writing over the old one would keep all that belongs to it.
    pub(super) fn stage(&self, name: Option<String>) -> io::Result<Option<Temporary<'_>>> {
        let staged = match self.like.as_ref().or(self.old.as_ref()) {
            None => Some(Temporary::beside(&self.place, name, NEW_FILE)?),
            Some(old) => like(&self.place, name, old)?,
        };
        if let Some(temporary) = &staged {
            (&temporary.file).write_all(&self.bytes)?;
            temporary.file.sync_all()?;
        }
        Ok(staged)
    }
}

const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

/// A file that is gone when it is dropped, unless it has been given a name.
pub(super) struct Temporary<'a> {
    place: &'a Place,
    name: String,
    pub(super) file: File,
    is_placed: bool,
}

impl<'a> Temporary<'a> {
    /// In the directory of `place`, so that a rename is enough to put it there. The journal says
    /// what name it has.
    pub(super) fn beside(
        place: &'a Place,
        wanted: Option<String>,
        mode: Mode,
    ) -> Result<Self, Errno> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let name = wanted.clone().unwrap_or_else(|| {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                format!(".mcp-{:x}-{number:x}.tmp", std::process::id())
            });
            match openat(&place.directory, name.as_str(), flags, mode) {
                Err(Errno::EXIST) if wanted.is_none() => {}
                opened => {
                    return Ok(Self { place, name, file: opened?.into(), is_placed: false });
                }
            }
        }
    }

    /// Gives it the name of the place, where nothing may be yet.
    pub(super) fn create(mut self) -> io::Result<String> {
        self.file.sync_all()?;
        let Place { directory, name, .. } = self.place;
        renameat_with(directory, self.name.as_str(), directory, name, RenameFlags::NOREPLACE)?;
        self.is_placed = true;
        self.settle()
    }

    /// Gives it the name of the place, whatever has that name now.
    pub(super) fn replace(mut self) -> io::Result<String> {
        self.file.sync_all()?;
        renameat(
            &self.place.directory,
            self.name.as_str(),
            &self.place.directory,
            &self.place.name,
        )?;
        self.is_placed = true;
        self.settle()
    }

    /// Puts it in place so that it can be taken back: what was there lies where this was, and goes
    /// when this is dropped. `before` is what must be there.
    pub(super) fn swap_in(&self, before: Option<&Old>) -> io::Result<()> {
        let Place { directory, name, .. } = self.place;
        let flags = match before {
            None => RenameFlags::NOREPLACE,
            Some(before) => {
                still_there(self.place, &before.stat)?;
                RenameFlags::EXCHANGE
            }
        };
        Ok(renameat_with(directory, self.name.as_str(), directory, name, flags)?)
    }

    /// Undoes [`Temporary::swap_in`].
    pub(super) fn swap_out(&self, before: Option<&Old>) -> io::Result<()> {
        let Place { directory, name, .. } = self.place;
        let flags = if before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        Ok(renameat_with(directory, name, directory, self.name.as_str(), flags)?)
    }

    /// Puts what is at the place where this is, so that nothing is at the place. `before` is what
    /// must be there.
    pub(super) fn take_away(&self, before: &Old) -> io::Result<()> {
        let Place { directory, name, .. } = self.place;
        still_there(self.place, &before.stat)?;
        Ok(renameat(directory, name, directory, self.name.as_str())?)
    }

    /// Undoes [`Temporary::take_away`].
    pub(super) fn give_back(&self) -> io::Result<()> {
        let Place { directory, name, .. } = self.place;
        Ok(renameat_with(directory, self.name.as_str(), directory, name, RenameFlags::NOREPLACE)?)
    }

    /// It stays, whatever it is.
    pub(super) fn leave(mut self) {
        self.is_placed = true;
    }

    pub(super) fn settle(&self) -> io::Result<String> {
        self.place.directory.sync_all()?;
        etag::of_file(&self.file)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            let _gone = unlinkat(&self.place.directory, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// A new file. Its etag.
fn create(place: &Place, path: &str, bytes: &[u8]) -> Result<String, Error> {
    let write = || {
        let mut temporary = Temporary::beside(place, None, NEW_FILE)?;
        temporary.file.write_all(bytes)?;
        temporary.create()
    };
    write().map_err(|cause| explain_write(cause, path))
}

/// New contents for `old`, which was opened at `place`. Mode, owner and extended attributes are
/// kept. The etag of the result; `None` if it has to stay the same file.
fn replace(place: &Place, old: &Old, bytes: &[u8]) -> io::Result<Option<String>> {
    let Some(mut temporary) = like(place, None, old)? else {
        return Ok(None);
    };
    temporary.file.write_all(bytes)?;
    still_there(place, &old.stat)?;
    temporary.replace().map(Some)
}

/// A temporary file that could take the place of `old` unnoticed; `None` if none could, because
/// `old` has other names or an owner we cannot give.
fn like<'a>(
    place: &'a Place,
    name: Option<String>,
    old: &Old,
) -> io::Result<Option<Temporary<'a>>> {
    let stat = &old.stat;
    if fstat(&old.file)?.st_nlink > 1 {
        return Ok(None);
    }
    let temporary = match Temporary::beside(place, name, Mode::from_raw_mode(0o600)) {
        // A file may be writable in a directory that is not.
        Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
        made => made?,
    };
    let made = fstat(&temporary.file)?;
    if (made.st_uid, made.st_gid) != (stat.st_uid, stat.st_gid) {
        let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        if fchown(&temporary.file, Some(owner.0), Some(owner.1)).is_err() {
            return Ok(None);
        }
    }
    if copy_attributes(&old.file, &temporary.file).is_err() {
        return Ok(None);
    }
    // After the owner: a change of owner takes the set-user-id bit away.
    fchmod(&temporary.file, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    Ok(Some(temporary))
}

fn copy_attributes(from: impl AsFd, to: impl AsFd) -> Result<(), Errno> {
    let mut names = vec![0_u8; 64 * 1024];
    let length = match flistxattr(&from, &mut names[..]) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        length => length?,
    };
    let names = names.get(..length).unwrap_or_default();
    let mut value = vec![0_u8; 64 * 1024];
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let length = fgetxattr(&from, name, &mut value[..])?;
        let value = value.get(..length).unwrap_or_default();
        fsetxattr(&to, name, value, XattrFlags::empty())?;
    }
    Ok(())
}

/// Fails with `AGAIN` if the name no longer means the file, or the file is not as it was.
pub(super) fn still_there(place: &Place, before: &Stat) -> Result<(), Errno> {
    let now = statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if etag::of_stat(&now) == etag::of_stat(before) { Ok(()) } else { Err(Errno::AGAIN) }
}
