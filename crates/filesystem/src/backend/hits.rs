//! What is remembered of the matches in one file.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// One long line must not fill the answer.
const MAX_SHOWN_BYTES: usize = 400;
/// Shown before the match in such a line.
const LEAD_BYTES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collect {
    /// The lines, with those around them.
    Lines,
    /// Only which files, so that each is left at its first match.
    Files,
    /// How many lines.
    Counts,
}

#[derive(Default)]
pub(crate) struct Hits {
    /// Lines that match, collected or not.
    pub(crate) matches: u64,
    pub(crate) lines: Vec<Line>,
    /// There were more lines than could be kept.
    pub(crate) is_cut: bool,
    /// About what it takes in memory.
    pub(super) bytes: usize,
}

pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// It is not just near one that does.
    pub(crate) is_match: bool,
    /// Lines are left out before this one.
    pub(crate) follows_gap: bool,
}

pub(super) struct Collector<'a> {
    pub(super) hits: Hits,
    pub(super) is_binary: bool,
    matcher: &'a RegexMatcher,
    collect: Collect,
    first_line: u64,
    max_bytes: usize,
    follows_gap: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        collect: Collect,
        first_line: u64,
        max_bytes: usize,
    ) -> Self {
        let hits = Hits::default();
        Self { hits, is_binary: false, matcher, collect, first_line, max_bytes, follows_gap: false }
    }

    fn add(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let number = number.unwrap_or(0);
        if self.collect != Collect::Lines || number < self.first_line || self.hits.is_cut {
            return;
        }
        if self.hits.bytes > self.max_bytes {
            self.hits.is_cut = true;
            return;
        }
        let text = self.shown(bytes);
        self.hits.bytes += text.len() + size_of::<Line>();
        let follows_gap = std::mem::take(&mut self.follows_gap);
        self.hits.lines.push(Line { number, text, is_match, follows_gap });
    }

    /// Of a long line the part around the match.
    fn shown(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_SHOWN_BYTES {
            return visible(line);
        }
        let found = self.matcher.find(line).ok().flatten();
        let start = found.map_or(0, |found| found.start().saturating_sub(LEAD_BYTES));
        let end = line.len().min(start + MAX_SHOWN_BYTES);
        let part = line.get(start..end).unwrap_or_default();
        let before = if start > 0 { "\u{2026}" } else { "" };
        let after = if end < line.len() { "\u{2026}" } else { "" };
        format!("{before}{}{after}", visible(part))
    }
}

/// Other control characters than tabs would deceive who reads them.
fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let shown = |character: char| if is_unseen(character) { '\u{fffd}' } else { character };
    if text.chars().any(is_unseen) { text.chars().map(shown).collect() } else { text.into_owned() }
}

fn is_unseen(character: char) -> bool {
    character.is_control() && character != '\t'
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        self.add(found.line_number(), found.bytes(), true);
        Ok(self.collect != Collect::Files)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.add(found.line_number(), found.bytes(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.follows_gap = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
