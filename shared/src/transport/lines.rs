//! Messages as lines over a byte stream: one message, one newline (all revisions, stdio).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Frame, Reader, TooLong, Transport, Writer};
use crate::salvage::Scanner;

/// Longest message accepted where nothing else is said.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Asked of the stream at a time; a pipe holds no more.
const CHUNK_BYTES: usize = 64 * 1024;

/// A buffer that grew beyond this for one large message is given back.
const KEEP_BUFFER_BYTES: usize = 256 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A pair of byte streams as a transport: a socket, the pipes of a child process.
pub fn lines<R, W>(reader: R, writer: W) -> impl Transport
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    Lines::new(reader, writer, MAX_MESSAGE_BYTES)
}

pub(crate) struct Lines<R, W> {
    reader: LineReader<R>,
    writer: LineWriter<W>,
}

impl<R, W> Lines<R, W> {
    pub(crate) fn new(reader: R, writer: W, max_message_bytes: usize) -> Self {
        Self { reader: LineReader::new(reader, max_message_bytes), writer: LineWriter(writer) }
    }
}

impl<R, W> Transport for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    type Reader = LineReader<R>;
    type Writer = LineWriter<W>;

    fn split(self) -> (LineReader<R>, LineWriter<W>) {
        (self.reader, self.writer)
    }
}

pub(crate) struct LineReader<R> {
    stream: R,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no newline, so that each byte is looked at once.
    searched: usize,
    max_bytes: usize,
    /// Set while a line over the limit is being thrown away.
    discarding: Option<Scanner>,
    is_first: bool,
    is_closed: bool,
}

impl<R> LineReader<R> {
    pub(crate) fn new(stream: R, max_bytes: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            max_bytes,
            discarding: None,
            is_first: true,
            is_closed: false,
        }
    }

    /// The end of the line that begins at `start`: its newline, or the end of the stream.
    fn line_end(&mut self) -> Option<usize> {
        let unsearched = self.buffer.get(self.searched..)?;
        if let Some(offset) = memchr::memchr(b'\n', unsearched) {
            return Some(self.searched + offset);
        }
        self.searched = self.buffer.len();
        (self.is_closed && (self.start < self.searched || self.discarding.is_some()))
            .then_some(self.searched)
    }

    /// A line that is over the limit before its end has come is read on, but not kept.
    fn discard_overlong(&mut self) {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        if self.discarding.is_some() || rest.len() > self.max_bytes {
            self.discarding.get_or_insert_default().feed(rest);
            self.buffer.clear();
            self.start = 0;
            self.searched = 0;
        }
    }

    /// Moves the unfinished line to the front and gives back what a large one needed.
    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.len() < CHUNK_BYTES {
            self.buffer.shrink_to(KEEP_BUFFER_BYTES);
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Reader for LineReader<R> {
    async fn fill(&mut self) -> io::Result<bool> {
        loop {
            if self.line_end().is_some() {
                return Ok(true);
            }
            if self.is_closed {
                return Ok(false);
            }
            self.discard_overlong();
            self.compact();
            self.buffer.reserve(CHUNK_BYTES);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                self.is_closed = true;
            }
        }
    }

    fn next(&mut self) -> Option<Frame<'_>> {
        loop {
            let end = self.line_end()?;
            let range = self.start..end;
            self.start = (end + 1).min(self.buffer.len());
            self.searched = self.start;
            let is_first = std::mem::take(&mut self.is_first);
            let is_too_long = self.discarding.is_some() || range.len() > self.max_bytes;
            if is_too_long {
                let mut scanner = self.discarding.take().unwrap_or_default();
                scanner.feed(self.buffer.get(range).unwrap_or_default());
                return Some(Frame::TooLong(TooLong {
                    max_bytes: self.max_bytes,
                    id: scanner.finish(),
                }));
            }
            let is_blank = trimmed(self.buffer.get(range.clone())?, is_first).is_empty();
            if !is_blank {
                return self.buffer.get(range).map(|line| Frame::Message(trimmed(line, is_first)));
            }
        }
    }
}

fn trimmed(line: &[u8], is_first: bool) -> &[u8] {
    let line = line.trim_ascii();
    if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line }
}

pub(crate) struct LineWriter<W>(W);

impl<W: AsyncWrite + Send + Unpin> Writer for LineWriter<W> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).await
    }
}
