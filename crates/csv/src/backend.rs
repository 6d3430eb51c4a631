//! Answers questions about CSV files without ever being silently wrong. Knows nothing of MCP.
//!
//! Reading order follows the bytes: `sandbox` opens the file (and has a `listing` and a `watch`; `unix` or `windows` is how), `packed` unpacks it, `source` gives UTF-8,
//! `dialect` looks at the first of them, `records` cuts them into `fields`, `reader` makes a table of
//! them, or of several files in a `chain`, as `reading` asks, and `parts` of a long one at the same time, `cut` where records seem to
//! begin. `scan` hands each cell to its `column`, which reads it with `number` (and its `digits`),
//! `notation` and `dates` and adds it to its `stats`: a `tally` of numbers, their `spread`, and what is `collect`ed of
//! texts. `exact` turns a tally into printed digits, `summary` says what an answer takes for granted
//! and `report` is the shape of its numbers.
//!
//! The rest are the questions: `analyze`, `describe`, `group` (with its `grid`) and `query` (with its
//! `pick`), over rows that pass a `filter` of `condition`s on `typed` cells, a `page` at a time; then
//! `validate`, `join`, `diff`, `chart`, and `handoff`, which writes `sql`.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
mod sandbox;
mod listing;
mod watch;
mod packed;
mod source;
mod dialect;
mod format;
mod records;
mod plain;
mod fields;
mod reader;
mod chain;
mod parts;
mod cut;
mod reading;
mod scan;
mod column;
mod number;
mod digits;
mod notation;
mod words;
mod dates;
mod stats;
mod tally;
mod spread;
mod collect;
mod ranks;
mod narrow;
mod exact;
mod summary;
mod oddities;
mod report;
mod typed;
mod filter;
mod condition;
mod page;
mod analyze;
mod describe;
mod group;
mod grid;
mod query;
mod pick;
mod duplicates;
mod chart;
mod validate;
mod join;
mod diff;
mod handoff;
mod sql;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;

use chain::Files;
use reader::TableFile;

pub(crate) use analyze::Analyze;
pub(crate) use chart::{Chart, ChartKind, Charting};
pub(crate) use describe::{Describe, Description};
pub(crate) use diff::{Diff, Differences};
pub(crate) use filter::Filter;
pub(crate) use group::{Aggregate, Grouped, Grouping};
pub(crate) use handoff::{HandedOff, Handoff, Target};
pub(crate) use join::{Join, JoinKind, Joined, Pair};
pub(crate) use page::Page;
pub(crate) use parts::Cuts;
pub(crate) use query::{Order, Queried, Query};
pub(crate) use reading::{DateOrder, Notation, Reading};
pub(crate) use report::{Analysis, Operation, UncertainMark};
#[cfg(all(test, unix))]
pub(crate) use unix::opens_by_steps;
pub(crate) use validate::{RowSchema, Validated};
pub(crate) use watch::Watch;

/// The directories this server may read, opened once at start-up.
pub(crate) struct Backend {
    sandbox: Arc<sandbox::Sandbox>,
    /// Bounds the memory of all scans together.
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) cuts: Cuts,
}

/// Scans at a time; each keeps up to 64 MiB where it has to keep anything.
const MAX_SCANS: usize = 16;

/// A file and how to read it.
#[derive(Clone, Default)]
pub(crate) struct Input {
    /// Relative to one of the directories, or absolute inside one of them.
    pub(crate) filepath: String,
    pub(crate) reading: Reading,
}

impl Input {
    pub(crate) fn with_dates(mut self, order: DateOrder) -> Self {
        self.reading.dates = Some(order);
        self
    }

    /// The mark is one of thousands, or else of decimals.
    pub(crate) fn with_mark(mut self, mark: char, is_of_thousands: bool) -> Self {
        if is_of_thousands {
            self.reading.numbers.push(Notation::Thousands);
        }
        let other = if mark == ',' { '.' } else { ',' };
        self.reading.decimal_mark = Some(if is_of_thousands { other } else { mark });
        self
    }
}

/// Told how far a long scan is, and asked whether to go on, every 128 KiB of input.
pub(crate) trait Observer {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64);
    fn cancelled(&self) -> bool;

    /// An answer from what has been read so far is wanted now.
    fn out_of_time(&self) -> bool {
        false
    }
}

impl Backend {
    /// Fails on anything that is not a directory, so that a typing error shows at start-up.
    pub(crate) fn open(dirs: &[PathBuf]) -> Result<Self, Error> {
        let sandbox = Arc::new(sandbox::Sandbox::open(dirs)?);
        let slots = Arc::new(Semaphore::new(MAX_SCANS));
        Ok(Self { sandbox, slots, cuts: Cuts::for_this_machine() })
    }

    /// Reads the whole file, as all of these do; they block, so call them from a thread that may.
    pub(crate) fn analyze(
        &self,
        input: &Input,
        request: &Analyze,
        observer: &dyn Observer,
    ) -> Result<Analysis, Error> {
        analyze::analyze(&self.tables_of(input)?, request, observer)
    }

    pub(crate) fn describe(
        &self,
        input: &Input,
        request: &Describe,
        observer: &dyn Observer,
    ) -> Result<Description, Error> {
        describe::describe(&self.tables_of(input)?, request, observer)
    }

    pub(crate) fn group(
        &self,
        input: &Input,
        request: &Grouping,
        observer: &dyn Observer,
    ) -> Result<Grouped, Error> {
        group::group(&self.tables_of(input)?, request, observer)
    }

    pub(crate) fn query(
        &self,
        input: &Input,
        request: &Query,
        observer: &dyn Observer,
    ) -> Result<Queried, Error> {
        query::query(&self.tables_of(input)?, request, observer)
    }

    pub(crate) fn chart(
        &self,
        input: &Input,
        request: &Charting,
        observer: &dyn Observer,
    ) -> Result<Chart, Error> {
        chart::chart(&self.tables_of(input)?, request, observer)
    }

    pub(crate) fn validate(
        &self,
        input: &Input,
        schema: &RowSchema,
        observer: &dyn Observer,
    ) -> Result<Validated, Error> {
        validate::validate(&self.table(input)?, schema, observer)
    }

    pub(crate) fn join(
        &self,
        [left, right]: &[Input; 2],
        request: &Join,
        observer: &dyn Observer,
    ) -> Result<Joined, Error> {
        join::join(&self.table(left)?, &self.table(right)?, request, observer)
    }

    pub(crate) fn diff(
        &self,
        [old, new]: &[Input; 2],
        request: &Diff,
        observer: &dyn Observer,
    ) -> Result<Differences, Error> {
        diff::diff(&self.table(old)?, &self.table(new)?, request, observer)
    }

    pub(crate) fn hand_off(
        &self,
        input: &Input,
        request: &Handoff,
        observer: &dyn Observer,
    ) -> Result<HandedOff, Error> {
        handoff::hand_off(&self.table(input)?, request, observer)
    }

    /// Only the header is read.
    pub(crate) fn column_names(&self, input: &Input) -> Result<Vec<String>, Error> {
        Ok(self.table(input)?.open()?.names.to_vec())
    }

    /// Paths of the files in the served directories that are named like tables: a thousand for each.
    pub(crate) fn tables(&self) -> Vec<String> {
        self.sandbox.tables()
    }

    /// `wake` is called when the watch has something to tell.
    pub(crate) fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> Watch {
        Watch::new(&self.sandbox, wake)
    }

    /// One file, or all that the path is a pattern for.
    fn tables_of(&self, input: &Input) -> Result<TableFile, Error> {
        let path = &input.filepath;
        // A file may be named like a pattern.
        if !path.contains(['*', '?', '[', '{']) || self.sandbox.open_file(path).is_ok() {
            return self.table(input);
        }
        let files = Files::new(&self.sandbox, self.sandbox.matching(path)?)?;
        Ok(TableFile::new(files, &input.reading, self.cuts))
    }

    fn table(&self, input: &Input) -> Result<TableFile, Error> {
        let files = Files::new(&self.sandbox, vec![input.filepath.clone()])?;
        Ok(TableFile::new(files, &input.reading, self.cuts))
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
    #[error("the {what} data is damaged, cut off, or needs more memory to unpack than is allowed")]
    Damaged { what: &'static str },
    #[error(
        "this {what} file unpacks to more than 1,000 times its size, so it was given up; \
         unpack it yourself if it is meant to"
    )]
    Bomb { what: &'static str },
    #[error("{path:?}: {cause}")]
    InFile { path: String, cause: Box<Error> },
    #[error(
        "{path:?} is separated by {found:?}, but the first file by {first:?}; name files that are written alike"
    )]
    OtherDelimiter { path: String, found: String, first: String },
    #[error("{path:?} has none of the columns of the first file; name files of one table")]
    OtherColumns { path: String },
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
    #[error("{text}")]
    Option { text: &'static str },
    #[error("the condition on {column:?} {what}{because}")]
    Condition { column: String, what: &'static str, because: String },
    #[error(
        "the dates of {column:?} may have the day or the month first, so they have no order; \
         say which in `read.dates`: \"dmy\" or \"mdy\""
    )]
    AmbiguousDates { column: String },
    #[error("{column:?} holds no numbers; choose a column that does")]
    NotNumeric { column: String },
    #[error("{column:?} holds no dates; choose a column of dates, or a `bar`")]
    NotDates { column: String },
    #[error("the chart could not be drawn")]
    Drawing,
    #[error("there is no {name:?} to order by; there are {available}")]
    Order { name: String, available: String },
    #[error(
        "there are about {estimate} groups, more than fit into 64 MiB; \
         filter the rows or group by columns with fewer different texts"
    )]
    TooManyGroups { estimate: u64 },
    #[error("{what} do not fit into 64 MiB")]
    TooLarge { what: &'static str },
    #[error(
        "the key of line {again} of the {side} file is that of line {first}; choose keys that no two rows share"
    )]
    RepeatedKey { side: &'static str, first: u64, again: u64 },
    #[error("the file has changed since the cursor was given; ask again without it")]
    StaleCursor,
    #[error("cancelled")]
    Cancelled,
}
