//! A stream within a budget: the start and the end of it, as text.

use super::stream::Stream;
use super::text::{Cleaned, Secrets, clean};

/// What of a stream is shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// All of it, or its start.
    pub(crate) head: String,
    /// Its end, if something is left out between.
    pub(crate) tail: String,
    pub(crate) total_bytes: u64,
    pub(crate) total_lines: u64,
    pub(crate) omitted_bytes: u64,
    pub(crate) cleaned: Cleaned,
}

/// Some bytes of a stream as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Where it begins.
    pub(crate) offset: u64,
    pub(crate) text: String,
    /// Where the next one begins.
    pub(crate) next_offset: u64,
    pub(crate) cleaned: Cleaned,
}

/// The text is at most `max_bytes` long. Half goes to the end, which says how things went.
pub(crate) fn view(stream: &Stream, max_bytes: usize, secrets: &Secrets) -> View {
    let totals = stream.totals();
    let mut window = max_bytes;
    loop {
        let view = at_most(stream, window, totals.bytes, secrets);
        // What is made visible gets longer.
        if view.head.len() + view.tail.len() <= max_bytes || window == 0 {
            let last_line = u64::from(totals.bytes > 0 && stream.end(1).bytes != b"\n");
            return View { total_lines: totals.newlines + last_line, ..view };
        }
        window /= 2;
    }
}

fn at_most(stream: &Stream, window: usize, total_bytes: u64, secrets: &Secrets) -> View {
    if total_bytes <= window as u64 {
        let (head, cleaned) = clean(&stream.part(0, window).bytes, secrets);
        return View { head, cleaned, total_bytes, ..View::default() };
    }
    let mut first = stream.part(0, window - window / 2).bytes;
    first.truncate(complete(&first));
    let last = stream.end(window / 2).bytes;
    let last = last.get(begun(&last)..).unwrap_or_default();
    let (head, head_cleaned) = clean(&first, secrets);
    let (tail, tail_cleaned) = clean(last, secrets);
    let shown = first.len() as u64 + last.len() as u64;
    View {
        head,
        tail,
        total_bytes,
        omitted_bytes: total_bytes.saturating_sub(shown),
        cleaned: head_cleaned.plus(tail_cleaned),
        total_lines: 0,
    }
}

/// How much of `bytes` is left without the beginning of a character at its end.
fn complete(bytes: &[u8]) -> usize {
    let begins = |byte: &u8| *byte >= 0xc0;
    let last = bytes.iter().rev().take(3).position(begins).map(|back| bytes.len() - 1 - back);
    let Some(start) = last else { return bytes.len() };
    let is_cut = std::str::from_utf8(bytes.get(start..).unwrap_or_default())
        .is_err_and(|error| error.error_len().is_none());
    if is_cut { start } else { bytes.len() }
}

/// Where the first whole character of `bytes` begins.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count()
}

/// The last line of what there is so far, for people who wait.
pub(crate) fn last_line(stream: &Stream, secrets: &Secrets) -> String {
    const MAX_BYTES: usize = 200;
    let end = stream.end(MAX_BYTES).bytes;
    let (text, _) = clean(end.get(begun(&end)..).unwrap_or_default(), secrets);
    text.lines().next_back().unwrap_or_default().to_owned()
}

/// At most `max_bytes` of text, from `offset` on.
pub(crate) fn page(stream: &Stream, offset: u64, max_bytes: usize, secrets: &Secrets) -> Page {
    let mut window = max_bytes;
    loop {
        let mut part = stream.part(offset, window);
        // A character cut by the window comes whole with the next page.
        if part.bytes.len() == window {
            part.bytes.truncate(complete(&part.bytes));
        }
        let (text, cleaned) = clean(&part.bytes, secrets);
        if text.len() <= max_bytes || window <= 1 {
            let next_offset = part.offset + part.bytes.len() as u64;
            return Page { offset: part.offset, text, next_offset, cleaned };
        }
        window /= 2;
    }
}

/// The lines from `offset` on that hold `wanted`, at most `max_bytes` of text.
pub(crate) fn search(
    stream: &Stream,
    offset: u64,
    wanted: &str,
    max_bytes: usize,
    secrets: &Secrets,
) -> Page {
    const WINDOW: usize = 256 * 1024;
    let mut found =
        Page { offset, text: String::new(), next_offset: offset, cleaned: Cleaned::default() };
    loop {
        let part = stream.part(found.next_offset, WINDOW);
        // A line cut by the window comes whole with the next one, unless it is longer than that.
        let lines = match memchr::memrchr(b'\n', &part.bytes) {
            Some(end) if part.bytes.len() == WINDOW => part.bytes.get(..=end).unwrap_or_default(),
            _ => part.bytes.as_slice(),
        };
        if lines.is_empty() {
            return found;
        }
        let mut at = part.offset;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if memchr::memmem::find(line, wanted.as_bytes()).is_some() {
                let (text, cleaned) = clean(line, secrets);
                if found.text.len() + text.len() > max_bytes {
                    // A line longer than all there is room for is left out, not stumbled over.
                    let skipped = if found.text.is_empty() { line.len() as u64 } else { 0 };
                    return Page { next_offset: at + skipped, ..found };
                }
                found.text += &text;
                found.cleaned = found.cleaned.plus(cleaned);
            }
            at += line.len() as u64;
        }
        found.next_offset = at;
    }
}
