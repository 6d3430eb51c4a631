//! Unpacks compressed files while they are read, whatever their names say.
//!
//! A few bytes can unpack to terabytes. Memory stays bounded because nothing is kept, and time
//! because a file that unpacks to absurd sizes is given up.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::Error;

/// Unpacked bytes that are always allowed.
const MAX_BYTES: u64 = 16 << 20;
/// Unpacked bytes for each packed one beyond that. Deflate cannot do more; text does 5 to 50.
const MAX_RATIO: u64 = 1_000;

pub(super) struct Packed {
    format: &'static str,
    unpacked: Box<dyn Read + Send>,
    /// Bytes read of the file itself.
    packed_bytes: Arc<AtomicU64>,
    unpacked_bytes: u64,
}

impl Packed {
    /// `None` unless the file begins like a compressed one.
    pub(super) fn open(file: &File, magic: &[u8]) -> io::Result<Option<Self>> {
        let packed_bytes = Arc::new(AtomicU64::new(0));
        let counted = || -> io::Result<_> {
            let file = file.try_clone()?;
            Ok(BufReader::new(Counted { file, bytes: Arc::clone(&packed_bytes) }))
        };
        let (format, unpacked): (_, Box<dyn Read + Send>) = match magic {
            [0x1F, 0x8B, ..] => ("gzip", Box::new(MultiGzDecoder::new(counted()?))),
            [b'B', b'Z', b'h', ..] => ("bzip2", Box::new(MultiBzDecoder::new(counted()?))),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => ("zstd", Box::new(Frames::new(counted()?))),
            _ => return Ok(None),
        };
        Ok(Some(Self { format, unpacked, packed_bytes, unpacked_bytes: 0 }))
    }

    pub(super) fn format(&self) -> &'static str {
        self.format
    }

    pub(super) fn packed_bytes(&self) -> u64 {
        self.packed_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let what = self.format;
        let len = self.unpacked.read(into).map_err(|_| Error::Damaged { what })?;
        self.unpacked_bytes += len as u64;
        let allowed = MAX_BYTES.max(self.packed_bytes().saturating_mul(MAX_RATIO));
        if self.unpacked_bytes > allowed { Err(Error::Bomb { what }) } else { Ok(len) }
    }
}

struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(into)?;
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// A zstd file is any number of frames, some to be skipped.
struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        /// What a decoder may hold at once, as the file asks for it.
        const MAX_WINDOW_BYTES: u64 = 64 << 20;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        Self { input, decoder, is_in_frame: false }
    }

    /// `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn read_frame(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.decoder
                .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(io::Error::other)?;
        }
        self.decoder.read(into)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_in_frame {
                let len = self.read_frame(into)?;
                if len > 0 || into.is_empty() {
                    return Ok(len);
                }
                let told = self.decoder.get_checksum_from_data();
                if told.is_some() && told != self.decoder.get_calculated_checksum() {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            self.is_in_frame = self.next_frame()?;
            if !self.is_in_frame {
                return Ok(0);
            }
        }
    }
}
