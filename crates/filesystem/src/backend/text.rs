//! Reads lines of a text file within a budget, so that no file can flood the answer.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::charset::Charset;
use super::error::Error;
use super::etag;

/// A file in another encoding than UTF-8 is decoded whole, so not if it is longer.
const MAX_DECODED_BYTES: u64 = 16 * 1024 * 1024;

/// Which lines.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lines {
    /// `first` counts from 1, beginning at `start_byte` of the text.
    From {
        start_byte: u64,
        first: u64,
        count: u64,
    },
    Last(u64),
}

pub(crate) struct ReadText {
    pub(crate) path: String,
    pub(crate) lines: Lines,
    /// Of the answer, in UTF-8.
    pub(crate) max_bytes: usize,
    /// For a file that is neither UTF-8 nor has a byte order mark.
    pub(crate) encoding: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) cut: Option<Cut>,
    /// Of the whole file.
    pub(crate) size_bytes: u64,
    pub(crate) etag: String,
    pub(crate) encoding: String,
}

/// There was more in the lines asked for than the budget allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The rest begins at this byte of the text.
    End {
        next_byte: u64,
    },
    Start,
}

pub(super) fn read(file: File, request: &ReadText) -> Result<Text, Error> {
    let failed = |cause| Error::Read { path: request.path.clone(), cause };
    // Before the contents, so that a change meanwhile leaves the older etag.
    let etag = etag::of_file(&file).map_err(failed)?;
    let size_bytes = file.metadata().map_err(failed)?.len();
    let charset = charset(&file, request)?;
    let (text, cut) = if charset.is_utf_8() {
        let bom = charset.bom().len() as u64;
        select(file, bom, size_bytes, request)
    } else {
        let text = decoded(file, charset, request)?;
        let size_bytes = text.len() as u64;
        select(Cursor::new(text), 0, size_bytes, request)
    }
    .map_err(failed)?;
    match String::from_utf8(text) {
        Ok(text) if !text.contains('\0') => {
            Ok(Text { text, cut, size_bytes, etag, encoding: charset.describe() })
        }
        _ => Err(Error::NotText { path: request.path.clone() }),
    }
}

fn charset(file: &File, request: &ReadText) -> Result<Charset, Error> {
    let named = request.encoding.as_deref().map(Charset::named).transpose()?;
    let mut start = [0; 3];
    let length = file
        .read_at(&mut start, 0)
        .map_err(|cause| Error::Read { path: request.path.clone(), cause })?;
    let start = start.get(..length).unwrap_or_default();
    Ok(Charset::of(start, Some(named.unwrap_or(Charset::UTF_8))))
}

fn decoded(file: File, charset: Charset, request: &ReadText) -> Result<String, Error> {
    let path = || request.path.clone();
    let mut bytes = Vec::new();
    file.take(MAX_DECODED_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| Error::Read { path: path(), cause })?;
    if bytes.len() as u64 > MAX_DECODED_BYTES {
        return Err(Error::TooLarge { path: path(), max_bytes: MAX_DECODED_BYTES });
    }
    charset.decode(&bytes).ok_or_else(|| Error::NotText { path: path() })
}

/// `start` is where the text begins in `source`.
fn select(
    source: impl Read + Seek,
    start: u64,
    size_bytes: u64,
    request: &ReadText,
) -> io::Result<(Vec<u8>, Option<Cut>)> {
    match request.lines {
        Lines::From { start_byte, first, count } => {
            // Nowhere is beyond the end; the kernel takes no number as large as can be sent.
            let start = start.max(start_byte.min(size_bytes));
            from(source, start, first, count, request.max_bytes)
        }
        Lines::Last(count) => last(source, start, size_bytes, count, request.max_bytes),
    }
}

fn from(
    mut source: impl Read + Seek,
    start: u64,
    first: u64,
    count: u64,
    max_bytes: usize,
) -> io::Result<(Vec<u8>, Option<Cut>)> {
    source.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::with_capacity(64 * 1024, source);
    let mut position = start;
    for _ in 1..first {
        let skipped = reader.skip_until(b'\n')?;
        if skipped == 0 {
            break;
        }
        position += skipped as u64;
    }
    let mut taken = Vec::new();
    for _ in 0..count {
        // One byte more than allowed tells a cut from an end.
        let room = (max_bytes + 1).saturating_sub(taken.len());
        if reader.by_ref().take(room as u64).read_until(b'\n', &mut taken)? == 0 {
            break;
        }
        if taken.len() > max_bytes {
            taken.truncate(end_of_part(&taken, max_bytes));
            let next_byte = position + taken.len() as u64;
            return Ok((taken, Some(Cut::End { next_byte })));
        }
    }
    Ok((taken, None))
}

/// At the end of a line if there is one, else between two characters.
fn end_of_part(bytes: &[u8], max_bytes: usize) -> usize {
    let part = bytes.get(..max_bytes).unwrap_or(bytes);
    if let Some(at) = memchr::memrchr(b'\n', part) {
        return at + 1;
    }
    match std::str::from_utf8(part) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => part.len(),
    }
}

/// Reads only the end, so the cost is that of the answer, not of the file.
fn last(
    mut source: impl Read + Seek,
    start: u64,
    size_bytes: u64,
    count: u64,
    max_bytes: usize,
) -> io::Result<(Vec<u8>, Option<Cut>)> {
    let window = size_bytes.saturating_sub(start).min(max_bytes as u64);
    let window_start = size_bytes.saturating_sub(window);
    source.seek(SeekFrom::Start(window_start))?;
    let mut bytes = Vec::new();
    source.take(window).read_to_end(&mut bytes)?;
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let nth = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(1);
    match memchr::memrchr_iter(b'\n', body).nth(nth) {
        Some(index) => Ok((bytes.split_off(index + 1), None)),
        None if window_start > start => {
            bytes.drain(..start_of_part(&bytes));
            Ok((bytes, Some(Cut::Start)))
        }
        None => Ok((bytes, None)),
    }
}

/// At the start of a line if there is one, else between two characters.
fn start_of_part(bytes: &[u8]) -> usize {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if let Some(at) = memchr::memchr(b'\n', body) {
        return at + 1;
    }
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    bytes.iter().take(3).take_while(is_inside).count()
}
