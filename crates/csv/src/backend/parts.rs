//! Reads long files in parts at the same time, with the result of reading them in one go.
//!
//! Where a part's first record begins is a guess, because a line end may stand inside quotes. So a
//! part counts only if the part before it, which is read past its end to the end of its last record,
//! comes out just there: from the header on, by induction, the parts are what one reader would have
//! read. Any other part is read again from where the one before it ended.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::Duration;

use super::reader::{Seed, TableFile, TableReader};
use super::scan::MAX_KEPT_BYTES;
use super::{Error, Observer, cut};

/// What is gathered from the rows of a table.
pub(super) trait Gather: Send {
    /// The same before any row.
    fn fresh(&self) -> Self;

    fn add_row(&mut self, table: &TableReader);

    /// Whether [`Self::append`] would give what one reader would have gathered.
    fn can_append(&self, later: &Self) -> bool;

    /// Adds what was gathered from the rows that follow, which begin behind so many lines.
    fn append(&mut self, later: Self, lines_before: u64);
}

/// How a file is cut into parts, and how much of it may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cuts {
    /// Shorter files are read in one go.
    pub(crate) min_bytes: u64,
    /// What is gathered from this much, twice for each worker, is held in memory until it is added up.
    pub(crate) part_bytes: u64,
    pub(crate) workers: usize,
    /// For all columns of a scan together, when medians or distinct counts are asked for.
    pub(crate) max_kept_bytes: usize,
}

impl Cuts {
    const MAX_WORKERS: usize = 8;

    pub(crate) fn for_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = cores.min(Self::MAX_WORKERS);
        Self { min_bytes: 8 << 20, part_bytes: 4 << 20, workers, max_kept_bytes: MAX_KEPT_BYTES }
    }
}

/// Reads all rows there are, or as many as time allows.
pub(super) fn read<G: Gather>(
    table: &mut TableReader,
    file: &TableFile,
    gather: &mut G,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let mut files_cut = 0;
    while table.advance(observer)? {
        gather.add_row(table);
        if files_cut <= table.chain.index() && can_be_cut(table, file.cuts) {
            files_cut = table.chain.index() + 1;
            read_parts(table, file.cuts, gather, observer)?;
        }
    }
    Ok(())
}

fn can_be_cut(table: &TableReader, cuts: Cuts) -> bool {
    let source = table.records.source();
    cuts.workers > 1
        && source.is_plain()
        && source.bytes_total() >= cuts.min_bytes
        && table.records.format().newline == b'\n'
        // Their units hang on the first one of the column.
        && table.reading.numbers.is_empty()
}

fn read_on<G: Gather>(
    table: &mut TableReader,
    gather: &mut G,
    observer: &dyn Observer,
) -> Result<(), Error> {
    while table.advance(observer)? {
        gather.add_row(table);
    }
    Ok(())
}

/// One worker's reading of a part.
struct Part<G> {
    /// Where its first record begins, as far as it can tell.
    start: Option<u64>,
    gather: G,
    table: TableReader,
}

/// Leaves `table` behind the last row that was read.
fn read_parts<G: Gather>(
    table: &mut TableReader,
    cuts: Cuts,
    gather: &mut G,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let (first, _) = table.stands_at();
    let count =
        table.records.source().bytes_total().saturating_sub(first).div_ceil(cuts.part_bytes);
    let shared = Shared { first, count, cuts, halt: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let mut parts = Vec::new();
        for worker in 0..cuts.workers as u64 {
            parts.push(shared.start_worker(scope, worker, table.seed()?, gather.fresh()));
        }
        let joined = join_parts(table, &shared, &parts, gather, observer);
        shared.halt.store(true, Ordering::Relaxed);
        joined
    })
}

/// What the workers of a file have in common.
struct Shared {
    /// Where the first part begins.
    first: u64,
    count: u64,
    cuts: Cuts,
    halt: AtomicBool,
}

impl Shared {
    /// Worker 1 of 3 reads the parts 1, 4, 7 and so on, and waits where it is too far ahead.
    fn start_worker<'scope, G: Gather + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        worker: u64,
        seed: Seed,
        fresh: G,
    ) -> Receiver<Result<Part<G>, Error>> {
        let (sender, parts) = sync_channel(1);
        scope.spawn(move || self.work(worker, &seed, &fresh, &sender));
        parts
    }

    fn work<G: Gather>(
        &self,
        worker: u64,
        seed: &Seed,
        fresh: &G,
        sender: &SyncSender<Result<Part<G>, Error>>,
    ) {
        for index in (worker..self.count).step_by(self.cuts.workers) {
            if self.halt.load(Ordering::Relaxed)
                || sender.send(self.read(index, seed, fresh)).is_err()
            {
                return;
            }
        }
    }

    fn read<G: Gather>(&self, index: u64, seed: &Seed, fresh: &G) -> Result<Part<G>, Error> {
        let Range { start, end } = self.range(index);
        let guess = if index == 0 { Some(start) } else { cut::first_record(seed, start)? };
        let mut table = seed.table(guess.unwrap_or(start), end)?;
        let is_known = index == 0 || (guess.is_some() && table.records.skip_to_first()?);
        let start = is_known.then(|| table.records.offset());
        let mut gather = fresh.fresh();
        if is_known {
            read_on(&mut table, &mut gather, self)?;
        }
        Ok(Part { start, gather, table })
    }

    /// The last part goes on to the end of the file, wherever that is by then.
    fn range(&self, index: u64) -> Range<u64> {
        let start = self.first + index * self.cuts.part_bytes;
        let end = if index + 1 < self.count { start + self.cuts.part_bytes } else { u64::MAX };
        start..end
    }
}

/// To a worker, an end of time is the end of its part, which then counts as far as it was read.
impl Observer for Shared {
    fn progress(&self, _: u64, _: u64, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }

    fn out_of_time(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
    }
}

fn join_parts<G: Gather>(
    table: &mut TableReader,
    shared: &Shared,
    workers: &[Receiver<Result<Part<G>, Error>>],
    gather: &mut G,
    observer: &dyn Observer,
) -> Result<(), Error> {
    /// A file with more of them than this is read faster in one go.
    const MAX_READ_AGAIN: u64 = 8;
    let bytes_total = table.chain.bytes_total();
    let (mut next, mut line) = table.stands_at();
    for (index, parts) in (0..shared.count).zip(workers.iter().cycle()) {
        let is_over = match wait_for(parts, shared, observer)? {
            Ok(part) if part.start == Some(next) && gather.can_append(&part.gather) => {
                let (lines_before, is_over) = (line - 1, part.table.is_over());
                let (end, lines) = part.table.stands_at();
                (next, line) = (end, lines_before + lines);
                table.append(&part.table, lines_before);
                gather.append(part.gather, lines_before);
                table.resume(next, line)?;
                is_over
            }
            // What went wrong there may be due to a wrong start, so it is found out again.
            Ok(_) | Err(_) => {
                table.resume(next, line)?;
                table.records.stop_at = shared.range(index).end;
                table.parts_read_again += u64::from(!shared.halt.load(Ordering::Relaxed));
                read_on(table, gather, observer)?;
                table.records.stop_at = u64::MAX;
                (next, line) = table.stands_at();
                table.is_over() || table.parts_read_again > MAX_READ_AGAIN
            }
        };
        if is_over {
            return Ok(());
        }
        let done = table.chain.bytes_done(next);
        if done < bytes_total {
            observer.progress(done, bytes_total, table.rows);
        }
    }
    Ok(())
}

/// Looks at the observer meanwhile: a part takes longer than anybody should wait for an end.
fn wait_for<T>(
    parts: &Receiver<Result<T, Error>>,
    shared: &Shared,
    observer: &dyn Observer,
) -> Result<Result<T, Error>, Error> {
    const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
    loop {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        if observer.out_of_time() {
            shared.halt.store(true, Ordering::Relaxed);
        }
        match parts.recv_timeout(BETWEEN_LOOKS) {
            Ok(part) => return Ok(part),
            Err(RecvTimeoutError::Timeout) => {}
            // A worker that halts between two parts has no more to give.
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(Error::Cancelled)),
        }
    }
}
