//! Reads lines of a text file within a budget, so that no file can flood the answer.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use super::Error;

/// Which lines; numbers count from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lines {
    From { first: u64, count: u64 },
    Last(u64),
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// There was more in the lines asked for than the budget allowed.
    pub(crate) is_cut: bool,
}

pub(super) fn read(file: File, path: &str, lines: Lines, max_bytes: usize) -> Result<Text, Error> {
    let failed = |cause| Error::Read { path: path.to_owned(), cause };
    let (bytes, is_cut) = match lines {
        Lines::From { first, count } => from(file, first, count, max_bytes),
        Lines::Last(count) => last(file, count, max_bytes),
    }
    .map_err(failed)?;
    let bytes = whole_characters(bytes, is_cut, lines);
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Text { text, is_cut }),
        _ => Err(Error::NotText { path: path.to_owned() }),
    }
}

fn from(file: File, first: u64, count: u64, max_bytes: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    for _ in 1..first {
        if reader.skip_until(b'\n')? == 0 {
            break;
        }
    }
    let mut taken = Vec::new();
    for _ in 0..count {
        // One byte more than allowed tells a cut from an end.
        let room = (max_bytes + 1).saturating_sub(taken.len());
        if reader.by_ref().take(room as u64).read_until(b'\n', &mut taken)? == 0 {
            break;
        }
        if taken.len() > max_bytes {
            taken.truncate(max_bytes);
            return Ok((taken, true));
        }
    }
    Ok((taken, false))
}

/// Reads backwards in blocks, so the cost is that of the answer, not of the file.
fn last(mut file: File, count: u64, max_bytes: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let size = file.metadata()?.len();
    let window = size.min(max_bytes as u64);
    let start = size - window;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(window).read_to_end(&mut bytes)?;
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let mut breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let nth = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(1);
    match breaks.nth(nth) {
        Some((index, _)) => Ok((bytes.split_off(index + 1), false)),
        None => Ok((bytes, start > 0)),
    }
}

/// A cut may fall inside a character; the part of it is left out.
fn whole_characters(mut bytes: Vec<u8>, is_cut: bool, lines: Lines) -> Vec<u8> {
    if !is_cut {
        return bytes;
    }
    match lines {
        Lines::From { .. } => {
            if let Err(error) = std::str::from_utf8(&bytes)
                && error.error_len().is_none()
            {
                bytes.truncate(error.valid_up_to());
            }
        }
        Lines::Last(_) => {
            let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            let torn = bytes.iter().take(3).take_while(is_inside).count();
            bytes.drain(..torn);
        }
    }
    bytes
}
