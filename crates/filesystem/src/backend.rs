//! Files of the served directories. Knows nothing of MCP.
//!
//! Reading order: `sandbox` opens what may be opened, `text` reads lines of it, `look` lists and
//! describes.

mod sandbox;
mod text;
mod look;

use std::path::PathBuf;

pub(crate) use look::{FileInfo, Kind, Listing};
pub(crate) use text::{Lines, Text};

/// The directories this server may read, opened once at start-up.
pub(crate) struct Backend {
    sandbox: sandbox::Sandbox,
}

impl Backend {
    /// Fails on anything that is not a directory, so that a typing error shows at start-up.
    pub(crate) fn open(dirs: &[PathBuf], deny: &[String]) -> Result<Self, Error> {
        let sandbox = sandbox::Sandbox::open(dirs, deny)?;
        Ok(Self { sandbox })
    }

    pub(crate) fn directories(&self) -> Vec<String> {
        self.sandbox.directories()
    }

    pub(crate) fn read(&self, path: &str, lines: Lines, max_bytes: usize) -> Result<Text, Error> {
        text::read(self.sandbox.open_file(path)?, path, lines, max_bytes)
    }

    pub(crate) fn list(
        &self,
        path: &str,
        skip: usize,
        max_entries: usize,
    ) -> Result<Listing, Error> {
        look::list(self.sandbox.open_any(path)?, path, skip, max_entries)
    }

    pub(crate) fn info(&self, path: &str) -> Result<FileInfo, Error> {
        look::info(self.sandbox.open_any(path)?, path)
    }
}

/// Why there is no answer. The texts are for the model: they hold the path as it was sent and
/// nothing else about the machine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// At start-up only, so the text may name what the operator typed.
    #[error("cannot serve {path:?}: {cause}")]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("`--deny {glob}` is not a glob: {reason}")]
    Glob { glob: String, reason: String },
    #[error("{path:?} was not found in the served directories")]
    NotFound { path: String },
    #[error("{path:?} is outside the served directories; list_allowed_directories names them")]
    Outside { path: String },
    #[error("{path:?} is not a regular file")]
    NotAFile { path: String },
    #[error("{path:?} is not a directory")]
    NotADirectory { path: String },
    #[error("{path:?} may not be read by this server")]
    Denied { path: String },
    #[error("{path:?} is not UTF-8 text")]
    NotText { path: String },
    #[error("{path:?} could not be read")]
    Read {
        path: String,
        #[source]
        cause: std::io::Error,
    },
}
