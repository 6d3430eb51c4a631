//! Finds the text an edit wants to replace: exactly, else whatever the line ends, else whatever the
//! indentation. A looser way is tried only if the stricter one finds nothing.

use std::ops::Range;

use super::indent::Reindent;

/// A place in the text, and what belongs there after the edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
}

/// Every place, in order, none overlapping another.
pub(super) fn find(text: &str, old: &str, new: &str) -> Vec<Match> {
    let verbatim = |ranges: Vec<Range<usize>>| -> Vec<Match> {
        let with_ends = |range: Range<usize>| Match {
            replacement: with_line_ends(new, line_end_near(text, &range)),
            range,
        };
        ranges.into_iter().map(with_ends).collect()
    };
    let exact = verbatim(exact(text, old));
    if !exact.is_empty() {
        return exact;
    }
    let by_line_ends = verbatim(whatever_the_line_ends(text, old));
    if !by_line_ends.is_empty() {
        return by_line_ends;
    }
    whatever_the_indentation(text, old, new)
}

/// Number of the line, from 1, that `offset` is in.
pub(super) fn line_number(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    let found = memchr::memmem::find_iter(text.as_bytes(), old);
    found.map(|start| start..start + old.len()).collect()
}

fn whatever_the_line_ends(text: &str, old: &str) -> Vec<Range<usize>> {
    if !text.contains("\r\n") && !old.contains("\r\n") {
        return Vec::new();
    }
    // Where, in the text without them, carriage returns were left out.
    let mut removed = Vec::new();
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\r\n") {
        plain.push_str(before);
        removed.push(plain.len());
        plain.push('\n');
        rest = after;
    }
    plain.push_str(rest);
    let original = |at: usize| at + removed.partition_point(|position| *position < at);
    let found = exact(&plain, &old.replace("\r\n", "\n"));
    found.into_iter().map(|range| original(range.start)..original(range.end)).collect()
}

/// Whole lines that are the same but for blanks at either end.
fn whatever_the_indentation(text: &str, old: &str, new: &str) -> Vec<Match> {
    let wanted: Vec<&str> = old.lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let lines = lines(text);
    let mut matches = Vec::new();
    let mut at = 0;
    while let Some(window) = lines.get(at..at + wanted.len()) {
        let is_same = |(line, wanted): (&&str, &&str)| line.trim() == wanted.trim();
        if window.iter().zip(&wanted).all(is_same) {
            matches.extend(replace_lines(text, window, &wanted, old, new));
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    matches
}

fn replace_lines(
    text: &str,
    window: &[&str],
    wanted: &[&str],
    old: &str,
    new: &str,
) -> Option<Match> {
    let (first, last) = (window.first()?, window.last()?);
    let start = offset_in(text, first);
    let last_start = offset_in(text, last);
    let has_line_end = last.ends_with('\n');
    let ends_line = old.ends_with('\n');
    let last_length = if ends_line { last.len() } else { content(last).len() };
    let range = start..last_start + last_length;
    let reindented = Reindent::learn(wanted, window).apply(new);
    // The last line of a file may have no line end; an edit of that line does not give it one.
    let replacement = match reindented.strip_suffix('\n') {
        Some(without) if ends_line && !has_line_end => without,
        _ => &reindented,
    };
    let replacement = with_line_ends(replacement, line_end_near(text, &range));
    Some(Match { range, replacement })
}

/// Lines with their line ends.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A line without its line end.
pub(super) fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Where `part`, a slice of `text`, begins in it.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// The line end used in `range`, else the next one, else the last one before.
fn line_end_near(text: &str, range: &Range<usize>) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let after = memchr::memchr(b'\n', bytes.get(range.start..)?).map(|at| range.start + at);
    let before = || memchr::memrchr(b'\n', bytes.get(..range.start)?);
    let at = after.or_else(before)?;
    let is_crlf = at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\r');
    Some(if is_crlf { "\r\n" } else { "\n" })
}

fn with_line_ends(new: &str, line_end: Option<&str>) -> String {
    match line_end {
        None => new.to_owned(),
        Some("\r\n") => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        Some(_) => new.replace("\r\n", "\n"),
    }
}
