//! The bytes of one open file as UTF-8, or as close to it as the file allows.
//!
//! UTF-16 is transcoded on the way. Bytes that are not UTF-8 pass through unchanged: numbers are
//! ASCII in every such encoding, so sums stay exact, and text is decoded only where it is shown.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use super::Error;

pub(super) struct Source {
    file: File,
    opened_as: Fingerprint,
    encoding: Encoding,
    has_bom: bool,
    bytes_read: u64,
    /// Raw UTF-16 bytes that do not yet make a whole character.
    undecoded: Vec<u8>,
    /// Decoded text the reader had no room for.
    decoded: Vec<u8>,
    utf8: Utf8Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// Not UTF-8, so a guess.
    Windows1252,
}

impl Source {
    pub(super) fn new(file: File) -> Result<Self, Error> {
        let mut magic = [0; 4];
        let magic_len = file.read_at(&mut magic, 0)?;
        let magic = magic.get(..magic_len).unwrap_or_default();
        if let Some(what) = foreign_format(magic) {
            return Err(Error::NotText { what });
        }
        let (encoding, bom_len) = byte_order_mark(magic);
        let opened_as = Fingerprint::of(&file)?;
        let mut source = Self {
            file,
            opened_as,
            encoding,
            has_bom: bom_len > 0,
            bytes_read: 0,
            undecoded: Vec::new(),
            decoded: Vec::new(),
            utf8: Utf8Check::default(),
        };
        source.skip(bom_len)?;
        Ok(source)
    }

    /// Fills as much of `into` as one read gives; 0 is the end of the file.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.encoding {
            Encoding::Utf8 | Encoding::Windows1252 => {
                let len = self.read_raw(into)?;
                self.utf8.check(into.get(..len).unwrap_or_default());
                Ok(len)
            }
            Encoding::Utf16Le | Encoding::Utf16Be => self.read_utf16(into),
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    pub(super) fn bytes_total(&self) -> u64 {
        self.opened_as.size
    }

    pub(super) fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// Right only for what has been read so far.
    pub(super) fn encoding(&self) -> Encoding {
        if self.utf8.first_invalid.is_some() { Encoding::Windows1252 } else { self.encoding }
    }

    /// Distance from the byte order mark, or from the start, to the first byte that is not UTF-8.
    pub(super) fn first_invalid(&self) -> Option<u64> {
        self.utf8.first_invalid
    }

    pub(super) fn changed_while_read(&self) -> io::Result<bool> {
        Ok(Fingerprint::of(&self.file)? != self.opened_as)
    }

    fn skip(&mut self, len: usize) -> io::Result<()> {
        let mut skipped = vec![0; len];
        self.file.read_exact(&mut skipped)?;
        self.bytes_read += len as u64;
        Ok(())
    }

    fn read_raw(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(len) => {
                    self.bytes_read += len as u64;
                    return Ok(len);
                }
            }
        }
    }

    fn read_utf16(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.decoded.is_empty() {
            let mut chunk = [0; 8192];
            let len = self.read_raw(&mut chunk)?;
            self.undecoded.extend_from_slice(chunk.get(..len).unwrap_or_default());
            if self.undecoded.is_empty() {
                return Ok(0);
            }
            self.decode(len == 0);
        }
        let len = into.len().min(self.decoded.len());
        for (to, from) in into.iter_mut().zip(self.decoded.drain(..len)) {
            *to = from;
        }
        Ok(len)
    }

    fn decode(&mut self, is_end: bool) {
        let from_bytes = match self.encoding {
            Encoding::Utf16Be => u16::from_be_bytes,
            _ => u16::from_le_bytes,
        };
        let (pairs, odd) = self.undecoded.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| from_bytes(*pair)).collect();
        let mut rest = odd.to_vec();
        if is_end && !rest.is_empty() {
            // Half a character at the end is shown as what it is.
            units.push(char::REPLACEMENT_CHARACTER as u16);
            rest.clear();
        } else if !is_end && units.pop_if(|unit| (0xD800..0xDC00).contains(unit)).is_some() {
            // The first half of a surrogate pair waits for the second.
            let tail_len = 2 + rest.len();
            rest = self.undecoded.split_off(self.undecoded.len() - tail_len);
        }
        self.undecoded = rest;
        let text = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>();
        self.decoded = text.into_bytes();
    }
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }
}

/// A cell as text, for showing only.
pub(super) fn decode(cell: &[u8]) -> String {
    str::from_utf8(cell)
        .map_or_else(|_| cell.iter().map(|byte| windows_1252(*byte)).collect(), str::to_owned)
}

fn windows_1252(byte: u8) -> char {
    const FROM_0X80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž',
        '\u{8F}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}',
        'ž', 'Ÿ',
    ];
    let place = usize::from(byte).wrapping_sub(0x80);
    FROM_0X80.get(place).copied().unwrap_or(char::from(byte))
}

fn byte_order_mark(magic: &[u8]) -> (Encoding, usize) {
    match magic {
        [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
        [0xFF, 0xFE, ..] => (Encoding::Utf16Le, 2),
        [0xFE, 0xFF, ..] => (Encoding::Utf16Be, 2),
        _ => (Encoding::Utf8, 0),
    }
}

/// Files that are often named `.csv` or asked for as tables, and would parse as nonsense.
fn foreign_format(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0x1F, 0x8B, ..] => Some("a gzip archive"),
        [0x28, 0xB5, 0x2F, 0xFD] => Some("a zstd archive"),
        [b'B', b'Z', b'h', ..] => Some("a bzip2 archive"),
        [b'P', b'K', 3, 4] => Some("a zip archive or an Excel workbook"),
        [b'P', b'A', b'R', b'1'] => Some("a Parquet file"),
        [0xFF, 0xFE, 0, 0] | [0, 0, 0xFE, 0xFF] => Some("UTF-32 text"),
        _ => None,
    }
}

/// What tells that a file was written to while it was read.
#[derive(PartialEq, Eq)]
struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
}

impl Fingerprint {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { size: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// Validates UTF-8 over chunks that may cut a character.
#[derive(Default)]
struct Utf8Check {
    bytes_checked: u64,
    cut: Vec<u8>,
    first_invalid: Option<u64>,
}

impl Utf8Check {
    fn check(&mut self, chunk: &[u8]) {
        if self.first_invalid.is_some() {
            return;
        }
        if chunk.is_empty() {
            // A character cut by the end of the file.
            self.first_invalid = (!self.cut.is_empty()).then_some(self.bytes_checked);
        } else if self.cut.is_empty() {
            self.check_whole(chunk);
        } else {
            let mut joined = std::mem::take(&mut self.cut);
            joined.extend_from_slice(chunk);
            self.check_whole(&joined);
        }
    }

    fn check_whole(&mut self, chunk: &[u8]) {
        let valid_len = match str::from_utf8(chunk) {
            Ok(_) => chunk.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => {
                self.first_invalid = Some(self.bytes_checked + error.valid_up_to() as u64);
                return;
            }
        };
        self.bytes_checked += valid_len as u64;
        self.cut.extend_from_slice(chunk.get(valid_len..).unwrap_or_default());
    }
}
