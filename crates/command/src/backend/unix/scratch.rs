//! Directories in which programs may write what is gone with their call. Most write nothing, and
//! making a directory and removing it costs a file system more than most programs do; so one that
//! is as it was made serves the next call.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// No file system takes longer until its times tell that something has changed.
const TIMES_TELL_AFTER: Duration = Duration::from_millis(20);

/// Removed when dropped, with everything in it.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: TempDir,
    made: Instant,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
    times_tell: bool,
}

impl Scratch {
    /// Its owner's alone.
    pub(super) fn new() -> io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new().permissions(private).tempdir()?;
        let changed = changed(dir.path())?;
        Ok(Self { dir, made: Instant::now(), changed, times_tell: false })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// From here on programs may change it.
    pub(super) fn hand_over(&mut self) {
        self.times_tell = self.made.elapsed() >= TIMES_TELL_AFTER;
    }

    /// Nobody has changed anything in it or about it since it was made.
    pub(super) fn is_as_new(&self) -> bool {
        self.times_tell && changed(self.path()).is_ok_and(|changed| changed == self.changed)
    }
}

/// When an entry was added or removed, or the rights of the directory changed.
fn changed(dir: &Path) -> io::Result<(i64, i64)> {
    let found = fs::symlink_metadata(dir)?;
    Ok((found.ctime(), found.ctime_nsec()))
}
