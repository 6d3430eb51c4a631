//! The journal: what is needed to finish a change that takes several calls to the kernel, should
//! this process die between them. `record` says what an entry holds, `recover` finishes it.
//!
//! It lies in the served directory and is there only while such a change is made. Whoever makes it
//! keeps its entry locked, so an entry that can be locked belongs to nobody any more.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::beneath::open_directory;
use super::record::{self, Record, line};
use super::root::Root;
use super::sandbox::{Place, Sandbox};
use super::step::Staged;

const PREFIX: &str = ".mcp-filesystem-";

/// Whether a name is that of a journal. Each user has one of their own, which no other can read.
pub(super) fn is_journal(name: &OsStr) -> bool {
    let user = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    user.is_some_and(|user| !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The journal of one served directory.
pub(super) struct Journal {
    root: File,
    pub(super) directory: File,
}

impl Journal {
    /// Only one that is ours and that nobody else can write to.
    pub(super) fn open(root: &Root) -> Result<Self, Errno> {
        let directory = openat(
            &root.descriptor,
            name(),
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let stat = fstat(&directory)?;
        if stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
            return Err(Errno::PERM);
        }
        Ok(Self {
            root: open_directory(&root.descriptor, Path::new(""))?,
            directory: directory.into(),
        })
    }

    fn open_or_make(root: &Root) -> io::Result<Self> {
        match Self::open(root) {
            Err(Errno::NOENT) => {}
            opened => return Ok(opened?),
        }
        match mkdirat(&root.descriptor, name(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let journal = Self::open(root).inspect_err(|_| {
            // There are file systems that say everything is somebody else's.
            let _kept = unlinkat(&root.descriptor, name(), AtFlags::REMOVEDIR);
        })?;
        journal.root.sync_all()?;
        Ok(journal)
    }

    /// The contents of one step, or the entry itself. Nothing but a regular file of ours.
    pub(super) fn file(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&self.directory, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&file)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_file && stat.st_uid == geteuid().as_raw() {
            Ok(file.into())
        } else {
            Err(Errno::PERM)
        }
    }

    fn create(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(openat(&self.directory, name, flags | OFlags::NOFOLLOW, mode)?.into())
    }

    pub(super) fn remove(&self, name: &str) {
        let _gone = unlinkat(&self.directory, name, AtFlags::empty());
    }

    /// Once there is no entry in it.
    pub(super) fn remove_if_empty(&self) {
        let _still_used = unlinkat(&self.root, name(), AtFlags::REMOVEDIR);
    }
}

fn name() -> String {
    format!("{PREFIX}{}", geteuid().as_raw())
}

/// An entry that is being made. What it is about must be gone before it is dropped.
pub(super) struct Entry {
    journal: Journal,
    id: String,
    /// Where the served directory is, which its paths are relative to.
    at: PathBuf,
    /// Locked.
    file: File,
    plan_bytes: u64,
    steps: usize,
    is_left: bool,
}

impl Entry {
    /// Where the first of the places lies. `None` if no journal can be kept there: the change is
    /// then made without.
    pub(super) fn begin(sandbox: &Sandbox, places: &[&Place]) -> io::Result<Option<Self>> {
        let Some((root, at)) = places.first().and_then(|place| sandbox.served_at(&place.real))
        else {
            return Ok(None);
        };
        let plan: Vec<String> = places.iter().map(|place| record::path_of(place, &at)).collect();
        match Self::locked(root) {
            Ok((journal, id, file)) => {
                let plan = line(&plan)?;
                let (plan_bytes, steps) = (plan.len() as u64, places.len());
                let entry = Self { journal, id, at, file, plan_bytes, steps, is_left: false };
                (&entry.file).write_all(&plan)?;
                Ok(Some(entry))
            }
            Err(error) if is_impossible(&error) => {
                tracing::warn!("no crash journal can be kept in a served directory: {error}");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn locked(root: &Root) -> io::Result<(Journal, String, File)> {
        const MAX_TRIES: usize = 100;
        for _ in 0..MAX_TRIES {
            let journal = match Journal::open_or_make(root) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => continue,
                opened => opened?,
            };
            let id = format!("{:016x}", RandomState::new().build_hasher().finish());
            let file = match journal.create(&id) {
                // Another process has just removed the directory, which was empty.
                Err(Errno::NOENT | Errno::EXIST) => continue,
                made => made?,
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Somebody has taken it for one that was left.
                Ok(()) if fstat(&file)?.st_nlink == 0 => {}
                Err(Errno::WOULDBLOCK) => {}
                Ok(()) => return Ok((journal, id, file)),
                Err(errno) => {
                    journal.remove(&id);
                    journal.remove_if_empty();
                    return Err(errno.into());
                }
            }
        }
        Err(Errno::BUSY.into())
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// A file for the contents of one step.
    pub(super) fn contents(&self, number: usize, kind: &str) -> Result<File, Errno> {
        self.journal.create(&format!("{}-{number}.{kind}", self.id))
    }

    /// From now on the steps are made, whether or not this process lives to do it. All they need
    /// must have been flushed.
    pub(super) fn commit(&self, steps: &[Staged<'_>]) -> io::Result<()> {
        let records = steps.iter().map(|step| step.record(&self.at));
        let records: Vec<Record> = records.collect::<Result<_, _>>()?;
        (&self.file).write_all(&line(&records)?)?;
        self.file.sync_all()?;
        self.journal.directory.sync_all()
    }

    /// All steps are made, or all are taken back: only what they needed is left to remove.
    pub(super) fn settle(&self) -> io::Result<()> {
        self.file.set_len(self.plan_bytes)
    }

    /// Nothing could be settled; whoever writes next tries again.
    pub(super) fn leave(&mut self) {
        self.is_left = true;
    }
}

/// Where nobody may make such a directory, or where it is not ours or cannot be locked.
fn is_impossible(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::ACCESS
                | Errno::PERM
                | Errno::ROFS
                | Errno::LOOP
                | Errno::NOTDIR
                | Errno::NOLCK
                | Errno::OPNOTSUPP
                | Errno::NOSYS
        )
    )
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_left {
            remove_contents(&self.journal, &self.id, self.steps);
            self.journal.remove(&self.id);
            self.journal.remove_if_empty();
        }
    }
}

pub(super) fn remove_contents(journal: &Journal, id: &str, steps: usize) {
    for number in 0..steps {
        journal.remove(&format!("{id}-{number}.new"));
        journal.remove(&format!("{id}-{number}.old"));
    }
}
