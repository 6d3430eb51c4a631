//! Directories in which programs may write what is gone with their call. Most write nothing, and
//! making a directory and removing it costs a file system more than most programs do; so one that
//! is as it was made serves the next call.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::remove::remove;

/// No file system that tells time this exactly takes longer until its times tell of a change.
const TIMES_TELL_AFTER: Duration = Duration::from_millis(20);
/// The times of those that tell it less exactly are multiples of at least this.
const EXACT_NANOS: i64 = 1_000_000;

/// Removed when dropped, with everything in it.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    made: Instant,
    state: State,
    times_tell: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    /// Which directory it is.
    device_and_inode: (u64, u64),
    owner_and_mode: (u32, u32),
    /// When an entry was added or removed, or its rights changed: seconds and nanoseconds.
    changed: (i64, i64),
}

impl Scratch {
    /// Its owner's alone.
    pub(super) fn new() -> io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let path = tempfile::Builder::new().permissions(private).tempdir()?.keep();
        let state = State::of(&path)?;
        Ok(Self { path, made: Instant::now(), state, times_tell: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Who cleans up in a machine's temporary directories removes what is old.
    pub(super) fn is_there(&self) -> bool {
        let here = State::of(&self.path);
        here.is_ok_and(|here| here.device_and_inode == self.state.device_and_inode)
    }

    /// From here on programs may change it.
    pub(super) fn hand_over(&mut self) {
        let is_exact = self.state.changed.1 % EXACT_NANOS != 0;
        self.times_tell = is_exact && self.made.elapsed() >= TIMES_TELL_AFTER;
    }

    /// Nobody has changed anything in it or about it since it was made.
    pub(super) fn is_as_new(&self) -> bool {
        self.times_tell
            && State::of(&self.path).is_ok_and(|state| state == self.state)
            && fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_none())
    }
}

impl State {
    fn of(dir: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(dir)?;
        Ok(Self {
            device_and_inode: (found.dev(), found.ino()),
            owner_and_mode: (found.uid(), found.mode()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        match remove(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("not all of {} could be removed: {error}", self.path.display());
            }
            _ => {}
        }
    }
}
