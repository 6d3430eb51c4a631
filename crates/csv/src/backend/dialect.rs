//! Finds out how a file is written: its delimiter, and what stands before the first record.
//!
//! Only the delimiter is guessed from a sample, because reading cannot start without it. Types and
//! decimal marks are decided by every cell, in `column`.

use std::collections::BTreeMap;

use super::number;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sniffed {
    /// `None` for a file of one column.
    pub(super) delimiter: Option<u8>,
    pub(super) evidence: String,
    /// The byte that physical lines are counted by.
    pub(super) newline: u8,
    pub(super) has_sep_line: bool,
    pub(super) comment_lines: u64,
    /// Bytes of the `sep=` line and comment lines before the first record.
    pub(super) prelude_len: usize,
}

/// Splits fields of a file without a delimiter, that is: never occurs in text.
pub(super) const NO_DELIMITER: u8 = 0x1F;

const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];

/// `is_whole` says that the sample is the whole file, so that its last record counts as well.
///
/// `told` is the delimiter where the caller knows it.
pub(super) fn sniff(sample: &[u8], is_whole: bool, told: Option<u8>) -> Sniffed {
    let newline = if sample.contains(&b'\r') && !sample.contains(&b'\n') { b'\r' } else { b'\n' };
    let first_line = Line::first(sample, newline);
    let sep = sep_line(first_line.text);
    let mut prelude_len = if sep.is_some() { first_line.len } else { 0 };

    let body = sample.get(prelude_len..).unwrap_or_default();
    let comments = comment_lines(body, newline);
    let skipped: usize = comments.iter().map(|line| line.len).sum();
    let records = body.get(skipped..).unwrap_or_default();
    let (delimiter, evidence) = match (told, sep) {
        (Some(delimiter), _) => (Some(delimiter), "as asked for".to_owned()),
        (None, Some(delimiter)) => (Some(delimiter), "named by the sep= line".to_owned()),
        (None, None) => choose(records, is_whole),
    };

    let comments = keep_comments(comments, records, delimiter.unwrap_or(NO_DELIMITER), is_whole);
    prelude_len += comments.iter().map(|line| line.len).sum::<usize>();
    Sniffed {
        delimiter,
        evidence,
        newline,
        has_sep_line: sep.is_some(),
        comment_lines: comments.len() as u64,
        prelude_len,
    }
}

/// The name of a delimiter in reports.
pub(super) fn delimiter_name(delimiter: Option<u8>) -> String {
    delimiter.map_or_else(|| "none".to_owned(), |byte| char::from(byte).to_string())
}

#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    /// With its line end.
    len: usize,
}

impl<'a> Line<'a> {
    fn first(bytes: &'a [u8], newline: u8) -> Self {
        let end = bytes.iter().position(|byte| *byte == newline);
        let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        Self {
            text: text.strip_suffix(b"\r").unwrap_or(text),
            len: end.map_or(bytes.len(), |end| end + 1),
        }
    }
}

/// Excel's own way to name the delimiter: `sep=;`, sometimes quoted.
fn sep_line(line: &[u8]) -> Option<u8> {
    let bare = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match bare {
        [s, e, p, b'=', delimiter] if [*s, *e, *p].eq_ignore_ascii_case(b"sep") => {
            (!delimiter.is_ascii_alphanumeric() && *delimiter != b'"').then_some(*delimiter)
        }
        _ => None,
    }
}

fn comment_lines(mut bytes: &[u8], newline: u8) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    while bytes.first() == Some(&b'#') {
        let line = Line::first(bytes, newline);
        bytes = bytes.get(line.len..).unwrap_or_default();
        lines.push(line);
    }
    lines
}

/// `#` also starts headers such as `#id,name` and ordinary data, which are no comments.
fn keep_comments<'a>(
    mut lines: Vec<Line<'a>>,
    records: &[u8],
    delimiter: u8,
    is_whole: bool,
) -> Vec<Line<'a>> {
    let survey = Survey::of(records, delimiter, is_whole);
    let Some(width) = survey.widths.first().filter(|_| !survey.has_hash_record) else {
        return Vec::new();
    };
    let first_record = Line::first(records, b'\n').text;
    let is_first_data = first_record
        .split(|byte| *byte == delimiter)
        .any(|cell| number::parse(cell.trim_ascii(), b'.').is_some());
    let is_record = |line: &mut Line<'_>| {
        let is_prose = line.text.starts_with(b"# ");
        let widths = Survey::of(line.text, delimiter, true).widths;
        *width > 1 && widths.first() == Some(width) && (is_first_data || !is_prose)
    };
    while lines.pop_if(is_record).is_some() {}
    lines
}

fn choose(records: &[u8], is_whole: bool) -> (Option<u8>, String) {
    let mut scores: Vec<(Score, u8)> = CANDIDATES
        .into_iter()
        .filter_map(|byte| Some((Survey::of(records, byte, is_whole).score()?, byte)))
        .collect();
    // Stable, so the order of the candidates breaks ties.
    scores.sort_by(|(left, _), (right, _)| right.cmp(left));
    let describe = |(score, byte): &(Score, u8)| {
        let Score { width, matching, total, .. } = score;
        format!("{:?}: {matching} of {total} records have {width} fields", char::from(*byte))
    };
    let evidence = scores.iter().take(2).map(describe).collect::<Vec<_>>().join("; ");
    match scores.first() {
        Some((_, byte)) => (Some(*byte), evidence),
        None => (None, "no usual delimiter splits the records evenly".to_owned()),
    }
}

/// How well a delimiter explains the sample; the fields are in order of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    fits_header: bool,
    per_mille: usize,
    width: usize,
    matching: usize,
    total: usize,
}

/// The number of fields of each record, if the sample is split at one delimiter.
#[derive(Default)]
struct Survey {
    widths: Vec<usize>,
    has_hash_record: bool,
}

impl Survey {
    fn of(sample: &[u8], delimiter: u8, is_whole: bool) -> Self {
        let mut records = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(sample);
        let (mut survey, mut record) = (Self::default(), csv::ByteRecord::new());
        while records.read_byte_record(&mut record).is_ok_and(|is_record| is_record) {
            survey.widths.push(record.len());
            survey.has_hash_record |= record.get(0).is_some_and(|cell| cell.starts_with(b"#"));
        }
        // The end of the sample cuts a record, which counts only where there is no other.
        if !is_whole && survey.widths.len() > 1 {
            survey.widths.pop();
        }
        survey
    }

    /// `None` unless most records have the same number of fields, at least two.
    fn score(&self) -> Option<Score> {
        let header = *self.widths.first()?;
        let mut counts = BTreeMap::<usize, usize>::new();
        for width in &self.widths {
            *counts.entry(*width).or_default() += 1;
        }
        let count = |width| counts.get(&width).copied().unwrap_or_default();
        let common = *counts.iter().max_by_key(|(_, count)| **count)?.0;
        let width = if count(header) == count(common) { header } else { common };
        let (matching, total) = (count(width), self.widths.len());
        let fits_header = header == width;
        let is_likely = fits_header || matching * 10 >= total * 9;
        (width >= 2 && is_likely).then_some(Score {
            fits_header,
            per_mille: matching * 1000 / total,
            width,
            matching,
            total,
        })
    }
}
