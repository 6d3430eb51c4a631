//! Shows what a text that was not found may have meant, so that the next try succeeds.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use super::matching::{content, lines};

/// Comparing letter by letter is slow; a hint is not worth more.
const MAX_SEARCH: Duration = Duration::from_millis(50);
const MAX_SHOWN_LINES: usize = 12;
const MAX_SHOWN_CHARS: usize = 160;

/// The lines of `text` most like `old`, with their numbers; `None` if nothing is.
pub(super) fn describe(text: &str, old: &str) -> Option<String> {
    let found = lines(text);
    let wanted = lines(old);
    let start = by_equal_lines(&found, &wanted).or_else(|| by_likeness(&found, &wanted))?;
    let window: Vec<&str> = found.iter().skip(start).take(wanted.len()).copied().collect();
    let mut shown = format!("The nearest is at line {} (- asked for, + in the file):", start + 1);
    let found = window.into_iter().chain(std::iter::repeat(""));
    let pairs: Vec<(&str, &str)> = wanted.into_iter().zip(found).collect();
    let mut next = 0;
    for at in (0..pairs.len()).filter(|at| is_near_difference(&pairs, *at)).take(MAX_SHOWN_LINES) {
        let gap = if at == next { "" } else { "\n  \u{2026}" };
        next = at + 1;
        let (wanted, found) = pairs.get(at).copied().unwrap_or_default();
        let _infallible = if content(wanted) == content(found) {
            write!(shown, "{gap}\n  {}", visible(found))
        } else {
            write!(shown, "{gap}\n- {}\n+ {}", visible(wanted), visible(found))
        };
    }
    Some(shown)
}

/// This line, the one before it or the one after it is another one than was asked for.
fn is_near_difference(pairs: &[(&str, &str)], at: usize) -> bool {
    let around = pairs.iter().take(at + 2).skip(at.saturating_sub(1));
    around.into_iter().any(|(wanted, found)| content(wanted) != content(found))
}

/// Where most lines of `wanted` would meet an equal line.
fn by_equal_lines(found: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        places.entry(line.trim()).or_default().push(index);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in found.iter().enumerate() {
        for start in
            places.get(line.trim()).into_iter().flatten().filter_map(|i| at.checked_sub(*i))
        {
            *votes.entry(start).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start)
}

/// Where the first line that says anything meets the line most like it.
fn by_likeness(found: &[&str], wanted: &[&str]) -> Option<usize> {
    const LIKE_ENOUGH: f32 = 0.6;
    let deadline = Instant::now() + MAX_SEARCH;
    let (index, line) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let line = line.trim();
    let mut best = (LIKE_ENOUGH, None);
    for (at, candidate) in found.iter().enumerate() {
        let candidate = candidate.trim();
        let (short, long) =
            (line.len().min(candidate.len()), line.len().max(candidate.len()).max(1));
        if short * 2 < long || long > 1000 {
            continue;
        }
        let now = Instant::now();
        if now >= deadline {
            break;
        }
        let mut diff = similar::TextDiff::configure();
        let ratio = diff.deadline(deadline).diff_chars(line, candidate).ratio();
        if ratio > best.0 {
            best = (ratio, at.checked_sub(index));
        }
    }
    best.1
}

/// Blanks that matter are easily overlooked; tabs and line ends are shown as escapes.
fn visible(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let mut shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('\u{2026}');
    }
    shown.replace('\t', "\\t").replace('\r', "\\r")
}
