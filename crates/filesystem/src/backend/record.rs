//! What an entry of the journal says: which changes were about to be made, and by what they are
//! known again. It is read back as the word of a stranger.
//!
//! Three lines of JSON, each there only once it is whole: beside which files temporary ones lie;
//! the steps, when all is ready for them; `"back"`, when they are being undone.

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use super::names;
use super::sandbox::Place;

/// More is not an entry of ours: 100 changes with two paths of 4 KiB, each byte spelled as four.
pub(super) const MAX_ENTRY_BYTES: u64 = 4 * 1024 * 1024;

/// One step. A path is relative to the directory the journal is in, or absolute if it lies in
/// another served one. The temporary file of step 3 of entry `ID` is `.mcp-ID-3.tmp` beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(super) enum Record {
    /// The temporary file and what has the name, `before`, change places.
    Put {
        path: String,
        before: Option<String>,
        after: String,
    },
    /// What is in `ID-3.new` is copied over the file; `ID-3.old` is what was in it.
    Over {
        path: String,
    },
    Move {
        path: String,
        to: String,
        inode: u64,
    },
    /// What has the name becomes the temporary file.
    Remove {
        path: String,
        before: String,
    },
}

impl Record {
    pub(super) fn path(&self) -> &str {
        let (Self::Put { path, .. }
        | Self::Over { path }
        | Self::Move { path, .. }
        | Self::Remove { path, .. }) = self;
        path
    }

    /// Where something is moved.
    pub(super) fn to(&self) -> Option<&str> {
        match self {
            Self::Move { to, .. } => Some(to),
            _ => None,
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) plan: Vec<String>,
    /// None of them has been made as long as this is `None`.
    pub(super) steps: Option<Vec<Record>>,
    pub(super) is_back: bool,
    /// How long the first line is.
    pub(super) plan_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("there is more in it than is ever written")]
    Extra,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Entry, Malformed> {
    let mut lines =
        bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut entry = Entry::default();
    let Some(plan) = lines.next() else {
        return Ok(entry);
    };
    entry.plan = serde_json::from_slice(plan)?;
    entry.plan_bytes = plan.len();
    entry.steps = lines.next().map(serde_json::from_slice).transpose()?;
    let mark: Option<String> = lines.next().map(serde_json::from_slice).transpose()?;
    entry.is_back = mark.is_some();
    let is_mark = mark.is_none_or(|mark| mark == BACK);
    if is_mark && lines.next().is_none() { Ok(entry) } else { Err(Malformed::Extra) }
}

pub(super) const BACK: &str = "back";

pub(super) fn line(value: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn temporary(id: &str, number: usize) -> String {
    format!(".mcp-{id}-{number}.tmp")
}

/// By what a file is known again after it was renamed, as long as nobody writes to it.
pub(super) fn mark(stat: &Stat) -> String {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => format!(
            "{:x}-{:x}-{:x}.{:x}",
            stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec
        ),
        _ => "not a file".to_owned(),
    }
}

/// As an entry of the journal at `root` says it, which is absolute.
pub(super) fn path_of(place: &Place, root: &std::path::Path) -> String {
    names::spell_path(place.real.strip_prefix(root).unwrap_or(&place.real))
}
