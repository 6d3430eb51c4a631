//! Writes over a file that has to stay the same one, because it has other names or an owner nobody
//! else can be given. That takes several calls to the kernel, so what was in it and what is to be
//! lie whole in the journal before the first.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::error::{Error, explain_write};
use super::etag;
use super::journal::Entry;
use super::replace::{Old, Prepared, still_there};
use super::sandbox::Place;

/// Longer files are not written over, nor with so much.
pub(super) const MAX_BYTES: u64 = 256 * 1024 * 1024;
const CHUNK_BYTES: usize = 1024 * 1024;
/// What a disk writes whole.
const BLOCK_BYTES: usize = 512;

/// All is ready to write over a file.
pub(super) struct Over<'a> {
    place: &'a Place,
    before: &'a Old,
    file: File,
    old: File,
    new: File,
}

pub(super) struct Failed {
    pub(super) cause: io::Error,
    /// Not even taking it back has succeeded.
    pub(super) is_torn: bool,
}

impl<'a> Over<'a> {
    pub(super) fn stage(
        prepared: &'a Prepared,
        before: &'a Old,
        entry: &Entry,
        number: usize,
    ) -> Result<Self, Error> {
        let path = || prepared.path.clone();
        let length = before.file.metadata().map_or(0, |found| found.len());
        if length.max(prepared.bytes.len() as u64) > MAX_BYTES {
            return Err(Error::TooLarge { path: path(), max_bytes: MAX_BYTES });
        }
        let stage = || {
            let file = open(&prepared.place)?;
            if fstat(&file)?.st_ino != before.stat.st_ino {
                return Err(Errno::AGAIN.into());
            }
            let old = entry.contents(number, "old")?;
            copy(&before.file, &old)?;
            let new = entry.contents(number, "new")?;
            new.write_all_at(&prepared.bytes, 0)?;
            new.sync_all()?;
            Ok(Self { place: &prepared.place, before, file, old, new })
        };
        stage().map_err(|cause: io::Error| match Errno::from_io_error(&cause) {
            Some(Errno::AGAIN) => Error::Moved { path: path() },
            _ => explain_write(cause, &prepared.path),
        })
    }

    /// What does not succeed is taken back.
    pub(super) fn make(&self) -> Result<(), Failed> {
        let ready = || -> io::Result<()> {
            still_there(self.place, &self.before.stat)?;
            reserve(&self.file, self.new.metadata()?.len())
        };
        ready().map_err(|cause| Failed { cause, is_torn: false })?;
        copy(&self.new, &self.file).map_err(|cause| {
            let is_torn = copy(&self.old, &self.file).is_err();
            Failed { cause, is_torn }
        })
    }

    /// Undoes [`Over::make`], unless somebody has changed the file since.
    pub(super) fn take_back(&self) -> io::Result<()> {
        let is_ours = is_same(&self.file, &self.new)?;
        if is_ours { copy(&self.old, &self.file) } else { Err(Errno::AGAIN.into()) }
    }

    pub(super) fn etag(&self) -> io::Result<String> {
        etag::of_file(&self.file)
    }

    /// What was in the file.
    pub(super) fn saved(&self) -> io::Result<File> {
        self.old.try_clone()
    }
}

/// Where nothing can be kept beforehand. A crash can tear it.
pub(super) fn write_unprotected(place: &Place, before: &Old, bytes: &[u8]) -> io::Result<String> {
    let file = open(place)?;
    if fstat(&file)?.st_ino != before.stat.st_ino {
        return Err(Errno::AGAIN.into());
    }
    reserve(&file, bytes.len() as u64)?;
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    etag::of_file(&file)
}

/// The regular file that has this name.
pub(super) fn open(place: &Place) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(&place.directory, &place.name, flags | OFlags::CLOEXEC, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::NXIO),
    }
}

/// Room on the disk, before anything is lost for want of it.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => Err(errno.into()),
        // Not every file system can.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as where it can be done")]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// The contents of one over those of another, from the front; it is cut last, so that until the
/// last moment as much as possible of either is there.
pub(super) fn copy(from: &File, to: &File) -> io::Result<()> {
    let mut at = 0;
    loop {
        let chunk = chunk(from, at)?;
        if chunk.is_empty() {
            break;
        }
        to.write_all_at(&chunk, at)?;
        at += chunk.len() as u64;
    }
    to.set_len(at)?;
    to.sync_all()
}

/// As much as there is from `at` on, up to a limit.
fn chunk(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = 0;
    while let Some(rest) = chunk.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    chunk.truncate(length);
    Ok(chunk)
}

pub(super) fn is_same(one: &File, other: &File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    if length != other.metadata()?.len() {
        return Ok(false);
    }
    for at in (0..length).step_by(CHUNK_BYTES) {
        if chunk(one, at)? != chunk(other, at)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a file is what an interrupted [`copy`] of `new` over `old` leaves. After a loss of power
/// blocks of either can be anywhere.
pub(super) fn is_mix(now: &File, old: &File, new: &File) -> io::Result<bool> {
    let length = |file: &File| Ok::<_, io::Error>(file.metadata()?.len());
    let (length, old_length, new_length) = (length(now)?, length(old)?, length(new)?);
    if length < old_length.min(new_length) || length > old_length.max(new_length) {
        return Ok(false);
    }
    for at in (0..length).step_by(CHUNK_BYTES) {
        let (now, old, new) = (chunk(now, at)?, chunk(old, at)?, chunk(new, at)?);
        let fits = |(number, block): (usize, &[u8])| {
            let at = number * BLOCK_BYTES;
            let is_all_of = |file: &[u8]| file.get(at..at + block.len()) == Some(block);
            // Where one of them ends, the other may go on.
            let is = |first: &[u8], then: &[u8]| {
                block
                    .iter()
                    .zip(at..)
                    .all(|(byte, at)| first.get(at).or_else(|| then.get(at)) == Some(byte))
            };
            is_all_of(&new) || is_all_of(&old) || is(&new, &old) || is(&old, &new)
        };
        if !now.chunks(BLOCK_BYTES).enumerate().all(fits) {
            return Ok(false);
        }
    }
    Ok(true)
}
