//! Answers questions about CSV files without ever being silently wrong. Knows nothing of MCP.
//!
//! Reading order follows the bytes: `sandbox` opens the file, `source` turns it into UTF-8 chunks,
//! `dialect` looks at the first of them, `records` cuts them into rows, `reader` makes a table of
//! them. `scan` hands each cell to its `column`, which reads it with `number` and adds it to its
//! `stats`: a `tally` of numbers and what is `collect`ed of texts. `exact` turns a tally into printed
//! digits, `summary` puts the answer together and `report` is its shape.

mod sandbox;
mod source;
mod dialect;
mod records;
mod reader;
mod scan;
mod column;
mod number;
mod stats;
mod tally;
mod collect;
mod exact;
mod summary;
mod report;

use std::path::PathBuf;

pub(crate) use report::{Analysis, Operation};
#[cfg(test)]
pub(crate) use sandbox::opens_by_steps;

/// The directories this server may read, opened once at start-up.
pub(crate) struct Backend {
    sandbox: sandbox::Sandbox,
}

/// One question about one file.
pub(crate) struct Analyze {
    /// Relative to one of the directories, or absolute inside one of them.
    pub(crate) filepath: String,
    pub(crate) operations: Vec<Operation>,
    /// Names as the answer gives them, or `#3` for the third column; `None` is every column.
    pub(crate) columns: Option<Vec<String>>,
}

/// Told how far a long scan is, and asked whether to go on, every 128 KiB of input.
pub(crate) trait Observer {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64);
    fn cancelled(&self) -> bool;
}

impl Backend {
    /// Fails on anything that is not a directory, so that a typing error shows at start-up.
    pub(crate) fn open(dirs: &[PathBuf]) -> Result<Self, Error> {
        Ok(Self { sandbox: sandbox::Sandbox::open(dirs)? })
    }

    /// Reads the whole file once; blocks, so call it from a thread that may.
    pub(crate) fn analyze(
        &self,
        request: &Analyze,
        observer: &dyn Observer,
    ) -> Result<Analysis, Error> {
        let file = self.sandbox.open_file(&request.filepath)?;
        scan::analyze(file, request, observer)
    }
}

/// Why there is no answer. The texts are for the model: they hold the path as it was sent and
/// nothing else about the machine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no directory was given, so there is no file to read")]
    NoDirectory,
    /// At start-up only, so the text may name what the operator typed.
    #[error("cannot serve {path:?}: {cause}")]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("{path:?} was not found in the served directories")]
    NotFound { path: String },
    #[error("{path:?} is outside the served directories; give a path relative to one of them")]
    Outside { path: String },
    #[error("{path:?} is not a regular file")]
    NotAFile { path: String },
    #[error("{path:?} may not be read by this server")]
    Denied { path: String },
    #[error("this is {what}, not CSV text; convert it first")]
    NotText { what: &'static str },
    #[error("reading the file failed")]
    Read(#[from] std::io::Error),
    #[error(
        "the record that starts at line {line} is longer than {max_bytes} bytes; \
         most likely a quote opened at line {quote_line} is never closed"
    )]
    RecordTooLong { line: u64, quote_line: u64, max_bytes: usize },
    #[error("the record that starts at line {line} has more than {max_fields} fields")]
    TooManyFields { line: u64, max_fields: usize },
    #[error("there is no column {name:?}; the columns are {available}")]
    UnknownColumn { name: String, available: String },
    #[error("cancelled")]
    Cancelled,
}
