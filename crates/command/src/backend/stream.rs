//! What a program has printed: all of it up to a quota, in constant memory. The start is kept in
//! memory, the rest in a file without a name, and of what is over the quota the end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::system;

/// Kept in memory of the start, and of the end of what is over the quota.
const IN_MEMORY: usize = 64 * 1024;
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Stream {
    kept: Mutex<Kept>,
    max_bytes: u64,
    /// Something was added, or the stream has ended.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    /// What follows `head`.
    file: Option<File>,
    file_bytes: u64,
    /// What follows is not kept whole any more, but this is its end.
    overflowing: bool,
    tail: VecDeque<u8>,
    total_bytes: u64,
    newlines: u64,
    ended: bool,
}

/// A part of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where it begins; after what was asked for if that is not kept.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) newlines: u64,
    pub(crate) ended: bool,
}

impl Stream {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { kept: Mutex::default(), max_bytes, changed: Notify::new() }
    }

    /// Reads until the end. Blocks.
    pub(super) fn fill(&self, mut source: File) {
        let mut chunk = vec![0; CHUNK];
        loop {
            match source.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose programs have all ended fails instead of ending.
                Ok(0) | Err(_) => break,
                Ok(length) => self.append(chunk.get(..length).unwrap_or_default()),
            }
        }
        self.close();
    }

    /// Nothing is added any more.
    pub(super) fn close(&self) {
        self.lock().ended = true;
        self.changed.notify_waiters();
    }

    pub(crate) fn append(&self, bytes: &[u8]) {
        self.lock().append(bytes, self.max_bytes);
        self.changed.notify_waiters();
    }

    /// Waits until `wanted` is in it. Never resolves if it has ended without.
    pub(crate) async fn holds(&self, wanted: &[u8]) {
        let overlap = wanted.len().saturating_sub(1);
        let mut offset = 0;
        loop {
            // Before looking, so that no change is missed.
            let changed = self.changed.notified();
            let part = self.part(offset, CHUNK + overlap);
            if contains(&part.bytes, wanted) {
                return;
            }
            if part.bytes.len() > overlap {
                offset = part.offset + (part.bytes.len() - overlap) as u64;
                tokio::task::yield_now().await;
            } else {
                changed.await;
            }
        }
    }

    /// Where the last lines begin, in the last `max_bytes`.
    pub(crate) fn start_of_last_lines(&self, lines: usize, max_bytes: usize) -> u64 {
        let end = self.end(max_bytes);
        let text = end.bytes.strip_suffix(b"\n").unwrap_or(&end.bytes);
        let newlines = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
        let start = newlines.map(|(at, _)| at + 1).nth(lines.saturating_sub(1));
        end.offset + start.unwrap_or_default() as u64
    }

    pub(crate) fn totals(&self) -> Totals {
        let kept = self.lock();
        Totals { bytes: kept.total_bytes, newlines: kept.newlines, ended: kept.ended }
    }

    /// At most `length` bytes from `offset` on.
    pub(crate) fn part(&self, offset: u64, length: usize) -> Part {
        self.lock().part(offset, length)
    }

    /// The last bytes, `length` at most.
    pub(crate) fn end(&self, length: usize) -> Part {
        let kept = self.lock();
        kept.part(kept.total_bytes.saturating_sub(length as u64), length)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything is in nothing.
fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || memchr::memmem::find(bytes, wanted).is_some()
}

impl Kept {
    fn append(&mut self, bytes: &[u8], max_bytes: u64) {
        self.total_bytes += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let room = IN_MEMORY.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        if rest.is_empty() {
            return;
        }
        let kept = self.head.len() as u64 + self.file_bytes;
        let room = usize::try_from(max_bytes.saturating_sub(kept)).unwrap_or(usize::MAX);
        let (whole, over) = rest.split_at_checked(room).unwrap_or((rest, &[]));
        if self.overflowing || self.store(whole).is_err() {
            return self.keep_end(rest);
        }
        if !over.is_empty() {
            self.keep_end(over);
        }
    }

    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        system::write_all_at(file, bytes, self.file_bytes)?;
        self.file_bytes += bytes.len() as u64;
        Ok(())
    }

    fn keep_end(&mut self, bytes: &[u8]) {
        self.overflowing = true;
        let last = bytes.len().saturating_sub(IN_MEMORY);
        self.tail.extend(bytes.get(last..).unwrap_or_default());
        let over = self.tail.len().saturating_sub(IN_MEMORY);
        self.tail.drain(..over);
    }

    fn part(&self, offset: u64, length: usize) -> Part {
        let head_bytes = self.head.len() as u64;
        let stored = head_bytes + self.file_bytes;
        let tail_start = self.total_bytes - self.tail.len() as u64;
        // What is not kept is skipped.
        let offset = if offset >= stored { offset.max(tail_start) } else { offset };
        let mut bytes = Vec::new();
        if let Some(head) = usize::try_from(offset).ok().and_then(|at| self.head.get(at..)) {
            bytes.extend(head.iter().take(length));
        }
        let at = offset + bytes.len() as u64;
        if let Some(file) = &self.file
            && (head_bytes..stored).contains(&at)
            && bytes.len() < length
        {
            let left = usize::try_from(stored - at).unwrap_or(usize::MAX);
            let mut part = vec![0; left.min(length - bytes.len())];
            if system::read_exact_at(file, &mut part, at - head_bytes).is_ok() {
                bytes.append(&mut part);
            }
        }
        let at = offset + bytes.len() as u64;
        if at >= tail_start {
            let skipped = usize::try_from(at - tail_start).unwrap_or(usize::MAX);
            bytes.extend(self.tail.iter().skip(skipped).take(length - bytes.len()));
        }
        Part { offset, bytes }
    }
}
