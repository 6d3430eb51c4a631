//! The bytes of one open file as UTF-8, or as close to it as the file allows.
//!
//! Compressed files are unpacked and UTF-16 is transcoded on the way. Bytes that are not UTF-8 pass through unchanged: numbers are
//! ASCII in every such encoding, so sums stay exact, and text is decoded only where it is shown.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::SystemTime;

use super::Error;
use super::packed::Packed;
use super::system;

pub(super) struct Source {
    file: File,
    opened_as: Fingerprint,
    packed: Option<Packed>,
    /// The first bytes, which were read to see what they are.
    head: Vec<u8>,
    encoding: Encoding,
    bom_len: usize,
    /// Where the file is read next. Kept here, because parts of a file are read at the same time.
    position: u64,
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
    /// `file` stands at its start.
    pub(super) fn new(mut file: File) -> Result<Self, Error> {
        let opened_as = Fingerprint::of(&file)?;
        let mut magic = Vec::new();
        file.by_ref().take(4).read_to_end(&mut magic)?;
        file.rewind()?;
        let packed = Packed::open(&file, &magic)?;
        let mut source = Self {
            file,
            opened_as,
            packed,
            head: Vec::new(),
            encoding: Encoding::Utf8,
            bom_len: 0,
            position: 0,
            undecoded: Vec::new(),
            decoded: Vec::new(),
            utf8: Utf8Check::default(),
        };
        source.look_at_head()?;
        Ok(source)
    }

    fn look_at_head(&mut self) -> Result<(), Error> {
        let mut head = [0; 4];
        let mut len = 0;
        while let Some(rest) = head.get_mut(len..).filter(|rest| !rest.is_empty()) {
            match self.read_raw(rest)? {
                0 => break,
                more => len += more,
            }
        }
        let head = head.get(..len).unwrap_or_default();
        if let Some(what) = foreign_format(head) {
            return Err(Error::NotText { what });
        }
        (self.encoding, self.bom_len) = byte_order_mark(head);
        self.head = head.get(self.bom_len..).unwrap_or_default().to_vec();
        Ok(())
    }

    /// Whether reading can begin anywhere: a byte of the file is a byte of the text.
    pub(super) fn is_plain(&self) -> bool {
        self.packed.is_none() && self.encoding == Encoding::Utf8
    }

    /// The same file from `offset` on, where a character begins. Only for plain files.
    pub(super) fn at(&self, offset: u64) -> io::Result<Self> {
        let utf8 =
            Utf8Check { bytes_checked: offset - self.bom_len as u64, ..Utf8Check::default() };
        Ok(Self {
            file: self.file.try_clone()?,
            opened_as: self.opened_as.clone(),
            packed: None,
            head: Vec::new(),
            encoding: self.encoding,
            bom_len: self.bom_len,
            position: offset,
            undecoded: Vec::new(),
            decoded: Vec::new(),
            utf8,
        })
    }

    /// Some bytes from `offset` on, whatever is read otherwise.
    pub(super) fn peek_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while let Some(rest) = into.get_mut(len..).filter(|rest| !rest.is_empty()) {
            match system::read_at(&self.file, rest, offset + len as u64) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(len)
    }

    /// Takes over what another reader found in the bytes before this one's.
    pub(super) fn note_invalid(&mut self, first: Option<u64>) {
        self.utf8.first_invalid = [self.utf8.first_invalid, first].into_iter().flatten().min();
    }

    /// Fills as much of `into` as one read gives; 0 is the end of the file.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        match self.encoding {
            Encoding::Utf8 | Encoding::Windows1252 => {
                let len = self.read_raw(into)?;
                self.utf8.check(into.get(..len).unwrap_or_default());
                Ok(len)
            }
            Encoding::Utf16Le | Encoding::Utf16Be => self.read_utf16(into),
        }
    }

    /// Of the file, compressed or not.
    pub(super) fn bytes_read(&self) -> u64 {
        self.packed.as_ref().map_or(self.position, Packed::packed_bytes)
    }

    /// The name of the compression, if there is one.
    pub(super) fn compression(&self) -> Option<&'static str> {
        self.packed.as_ref().map(Packed::format)
    }

    pub(super) fn bytes_total(&self) -> u64 {
        self.opened_as.size
    }

    pub(super) fn has_bom(&self) -> bool {
        self.bom_len > 0
    }

    /// Bytes before the text; none where the text is decoded first.
    pub(super) fn bom_len(&self) -> u64 {
        if self.encoding == Encoding::Utf8 { self.bom_len as u64 } else { 0 }
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

    fn read_raw(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        if !self.head.is_empty() {
            let len = into.len().min(self.head.len());
            for (to, from) in into.iter_mut().zip(self.head.drain(..len)) {
                *to = from;
            }
            return Ok(len);
        }
        if let Some(packed) = &mut self.packed {
            return packed.read(into);
        }
        loop {
            match system::read_at(&self.file, into, self.position) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
                Ok(len) => {
                    self.position += len as u64;
                    return Ok(len);
                }
            }
        }
    }

    fn read_utf16(&mut self, into: &mut [u8]) -> Result<usize, Error> {
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
        [0x1F, 0x8B, ..] | [0x28, 0xB5, 0x2F, 0xFD] | [b'B', b'Z', b'h', ..] => {
            Some("compressed twice")
        }
        [b'P', b'K', 3, 4] => Some("a zip archive or an Excel workbook"),
        [b'P', b'A', b'R', b'1'] => Some("a Parquet file"),
        [0xFF, 0xFE, 0, 0] | [0, 0, 0xFE, 0xFF] => Some("UTF-32 text"),
        _ => None,
    }
}

/// What tells that a file was written to while it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) size: u64,
    modified: Option<SystemTime>,
}

impl Fingerprint {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { size: metadata.len(), modified: metadata.modified().ok() })
    }

    /// For cursors, which must not outlive the file they point into.
    pub(super) fn digest(&self) -> u64 {
        let since = self.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let nanos = since.map_or(0, |since| since.as_nanos() as u64);
        (self.size ^ nanos.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// They share one position of the system's, which must not matter.
    #[test]
    fn readers_of_one_file_do_not_move_each_other() {
        const NUMBERS: u64 = 50_000;
        const READERS: u64 = 4;
        let mut file = tempfile::tempfile().unwrap();
        let text: String = (0..NUMBERS).map(|number| format!("{number:07}\n")).collect();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let source = Source::new(file).unwrap();
        std::thread::scope(|scope| {
            for reader in 0..READERS {
                let mut part = source.at(8 * reader).unwrap();
                scope.spawn(move || {
                    let mut bytes = [0; 8];
                    for number in (reader..NUMBERS).step_by(READERS as usize) {
                        part.position = 8 * number;
                        assert_eq!(part.read_raw(&mut bytes).unwrap(), bytes.len());
                        assert_eq!(bytes, *format!("{number:07}\n").as_bytes());
                    }
                });
            }
        });
    }
}
