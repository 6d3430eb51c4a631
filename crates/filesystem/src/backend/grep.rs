//! Searches the contents of files, with ripgrep's own engine, on files we have opened ourselves.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Bound;

use globset::GlobSet;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fs::FileType;

use super::Observer;
use super::error::Error;
use super::filter::{Filter, globs};
use super::find::spelled_below;
use super::hits::{Collect, Collector, Hits};
use super::page::{Page, PageSize};
use super::sandbox::{Opened, Sandbox, kind};
use super::walk::{Found, Visitor, Walk};

/// The longest line that is searched.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;

pub(crate) struct Grep {
    /// A directory, or one file.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) is_literal: bool,
    pub(crate) ignore_case: bool,
    pub(crate) whole_words: bool,
    /// Only files whose path fits.
    pub(crate) pattern: Option<String>,
    pub(crate) exclude: Vec<String>,
    pub(crate) include_ignored: bool,
    pub(crate) context_lines: usize,
    /// What to collect of each file.
    pub(crate) collect: Collect,
    /// What is kept in memory of each thread's matches.
    pub(crate) max_bytes: usize,
    /// The end of an earlier answer.
    pub(crate) cursor: Option<Position>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) path: String,
    pub(crate) line: u64,
}

#[derive(Default)]
pub(crate) struct Matches {
    /// By path, in order.
    pub(crate) files: BTreeMap<String, Hits>,
    pub(crate) total_files: u64,
    pub(crate) total_matches: u64,
    /// There are more files.
    pub(crate) is_cut: bool,
    /// Not searched: not text.
    pub(crate) binary: u64,
    /// Not searched: could not be opened or read, or a line was too long.
    pub(crate) unreadable: u64,
    /// Entries that are ignored or excluded; a directory counts as one.
    pub(crate) left_out: u64,
}

pub(super) fn grep(
    sandbox: &Sandbox,
    request: &Grep,
    observer: &dyn Observer,
) -> Result<Matches, Error> {
    let matcher = matcher(request)?;
    let pattern = globs("pattern", request.pattern.as_slice(), false)?;
    let filter = Filter::new(sandbox.hidden(), &request.exclude, !request.include_ignored)?;
    let start = sandbox.open_any(&request.path)?;
    let worker = || Worker::new(request, observer, &matcher, &pattern);
    if kind(&start.file).is_ok_and(|kind| kind == FileType::RegularFile) {
        return Ok(one_file(start, worker()));
    }
    let walked = Walk { start: &start, filter: &filter, observer }.run(worker);
    if walked.is_cancelled {
        return Err(Error::Cancelled);
    }
    let mut matches = collected(walked.visitors);
    matches.unreadable += walked.unreadable;
    matches.left_out = filter.left_out();
    Ok(matches)
}

fn one_file(start: Opened, mut worker: Worker) -> Matches {
    let path = worker.request.path.clone();
    worker.search(start.file, path);
    collected(vec![worker])
}

fn collected(workers: Vec<Worker>) -> Matches {
    let mut matches = Matches::default();
    let mut pages = Vec::new();
    for worker in workers {
        matches.binary += worker.binary;
        matches.unreadable += worker.unreadable;
        matches.total_matches += worker.matches;
        pages.push(worker.page);
    }
    if let Some(page) = pages.into_iter().reduce(Page::merge) {
        matches.total_files = page.total();
        matches.is_cut = page.is_cut();
        matches.files = page.into_kept();
    }
    matches
}

fn matcher(request: &Grep) -> Result<RegexMatcher, Error> {
    RegexMatcherBuilder::new()
        .fixed_strings(request.is_literal)
        .case_insensitive(request.ignore_case)
        .word(request.whole_words)
        // `^` and `$` are the ends of lines, whatever the line ends are.
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build(&request.query)
        .map_err(|error| Error::Pattern { argument: "query", reason: error.to_string() })
}

struct Worker<'a> {
    request: &'a Grep,
    observer: &'a dyn Observer,
    matcher: RegexMatcher,
    pattern: &'a GlobSet,
    searcher: Searcher,
    page: Page<Hits>,
    matches: u64,
    binary: u64,
    unreadable: u64,
}

impl<'a> Worker<'a> {
    fn new(
        request: &'a Grep,
        observer: &'a dyn Observer,
        matcher: &RegexMatcher,
        pattern: &'a GlobSet,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(request.collect == Collect::Lines)
            .before_context(request.context_lines)
            .after_context(request.context_lines)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        let start = match &request.cursor {
            // The file the cursor is in may have more lines.
            Some(cursor) if request.collect != Collect::Lines => {
                Bound::Excluded(cursor.path.clone())
            }
            Some(cursor) => Bound::Included(cursor.path.clone()),
            None => Bound::Unbounded,
        };
        let size = PageSize { max_items: usize::MAX, max_bytes: request.max_bytes, start };
        Self {
            request,
            observer,
            matcher: matcher.clone(),
            pattern,
            searcher,
            page: Page::new(size),
            matches: 0,
            binary: 0,
            unreadable: 0,
        }
    }

    fn search(&mut self, file: File, path: String) {
        let collect = match self.request.collect {
            Collect::Lines if !self.page.wants(&path) => Collect::Counts,
            collect => collect,
        };
        let first_line = match &self.request.cursor {
            Some(cursor) if cursor.path == path => cursor.line + 1,
            _ => 0,
        };
        let mut collector =
            Collector::new(&self.matcher, collect, first_line, self.request.max_bytes);
        let reader = Cancellable { file, observer: self.observer };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut collector);
        if searched.is_err() {
            self.unreadable += 1;
        } else if collector.is_binary {
            self.binary += 1;
        } else if collector.hits.matches > 0 {
            let hits = collector.hits;
            self.matches += hits.matches;
            let bytes = path.len() + hits.bytes;
            self.page.add(path, hits, bytes);
        }
    }
}

/// Lets go of a long file when nobody waits for it any more.
struct Cancellable<'a> {
    file: File,
    observer: &'a dyn Observer,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.observer.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

impl Visitor for Worker<'_> {
    fn visit(&mut self, found: &Found) {
        let is_wanted = found.kind == FileType::RegularFile
            && (self.pattern.is_empty() || self.pattern.is_match(&found.path));
        if !is_wanted {
            return;
        }
        match found.open() {
            Ok(file) => self.search(file, spelled_below(&self.request.path, found)),
            Err(_) => self.unreadable += 1,
        }
    }
}
