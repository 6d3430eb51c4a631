//! Cuts the input into records: simple ones by looking for line ends, delimiters and quotes, the
//! others with `csv_core`, the parser inside the `csv` crate.
//!
//! The parser is driven directly because `csv::Reader` hides what honest answers need: the raw bytes of a
//! record (to count physical lines and find stray quotes), a bound on its length before memory is
//! spent on it, and whether the file ended inside a quote.

mod joined;

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use csv_core::ReadRecordResult;
use memchr::memchr_iter;

use super::Error;
use super::fields::Fields;
use super::format::Format;
use super::plain::Cutter;
use super::reading::Reading;
use super::source::Source;

pub(crate) use joined::LineEnds;

pub(super) const MAX_RECORD_BYTES: usize = 16 << 20;
pub(super) const MAX_FIELDS: usize = 1 << 16;
/// Also how often a scan looks at its observer.
const WINDOW_BYTES: usize = 128 << 10;

pub(super) struct Records {
    source: Source,
    source_ended: bool,
    /// Not built before it is needed, because that takes time.
    parser: Option<csv_core::Reader>,
    format: Format,
    /// The record being read and what follows it; bytes from `filled` on are stale.
    window: Vec<u8>,
    filled: usize,
    record_start: usize,
    record_len: usize,
    /// Where the parser goes on.
    next: usize,
    /// The record was not left to the parser: `cutter` has its fields.
    is_plain: bool,
    cutter: Cutter,
    /// A record has been read, so that nothing is taken for a byte order mark any more.
    is_primed: bool,
    /// Fields without their quotes, one after the other, and where each ends.
    unquoted: Vec<u8>,
    ends: Vec<usize>,
    field_count: usize,
    /// Bytes before the window, from the start of the file.
    window_offset: u64,
    /// A position in the window and its physical line, moved on only when a line is asked for.
    line_mark: Cell<(usize, u64)>,
    pub(super) refills: u64,
    pub(super) line_ends: LineEnds,
    pub(super) blank_lines: u64,
    /// The line of a quote that was still open at the end of the file.
    pub(super) unterminated: Option<u64>,
    /// Records from this byte on are not read.
    pub(super) stop_at: u64,
    /// Of the files before this one.
    lines_before: u64,
}

impl Records {
    /// Reads the first window, for [`Self::sample`].
    pub(super) fn new(source: Source) -> Result<Self, Error> {
        let mut records = Self::unread(source);
        records.window_offset = records.source.bom_len();
        while records.filled < WINDOW_BYTES && records.refill()? {}
        Ok(records)
    }

    /// For [`Self::begin`].
    pub(super) fn unread(source: Source) -> Self {
        Self {
            source,
            source_ended: false,
            parser: None,
            format: Format { delimiter: b',', newline: b'\n', escapes: false },
            window: vec![0; WINDOW_BYTES],
            filled: 0,
            record_start: 0,
            record_len: 0,
            next: 0,
            is_plain: false,
            cutter: Cutter::new(b','),
            is_primed: false,
            unquoted: vec![0; 4096],
            ends: vec![0; 64],
            field_count: 0,
            window_offset: 0,
            line_mark: Cell::new((0, 1)),
            refills: 0,
            line_ends: LineEnds::default(),
            blank_lines: 0,
            unterminated: None,
            stop_at: u64::MAX,
            lines_before: 0,
        }
    }

    /// The start of the file, and whether that is all of it.
    pub(super) fn sample(&self) -> (&[u8], bool) {
        (self.window.get(..self.filled).unwrap_or_default(), self.source_ended)
    }

    /// Starts behind `prelude_len` bytes that are not records.
    pub(super) fn start(
        &mut self,
        prelude_len: usize,
        delimiter: u8,
        newline: u8,
        reading: &Reading,
    ) {
        self.next = prelude_len;
        self.format = Format { delimiter, newline, escapes: reading.backslash_escapes };
        self.parser = None;
        self.cutter = Cutter::new(delimiter);
        self.is_primed = false;
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Goes on at `offset`, where a record begins, on the given physical line.
    pub(super) fn resume(&mut self, source: Source, format: Format, offset: u64, line: u64) {
        (self.source, self.source_ended) = (source, false);
        self.begin(format, offset, line);
    }

    /// The source stands at `offset`.
    pub(super) fn begin(&mut self, format: Format, offset: u64, line: u64) {
        self.format = format;
        self.parser = None;
        self.cutter = Cutter::new(format.delimiter);
        self.is_primed = true;
        self.window_offset = offset;
        (self.filled, self.record_start, self.record_len, self.next) = (0, 0, 0, 0);
        self.line_mark.set((0, line));
    }

    pub(super) fn ended_with_line_end(&self) -> bool {
        let last = self.next.checked_sub(1).and_then(|last| self.window.get(last));
        last.is_none_or(|byte| *byte == self.format.newline)
    }

    /// The next record begins where this reader was told to stop.
    pub(super) fn has_stopped(&self) -> bool {
        self.next < self.filled && self.offset() >= self.stop_at
    }

    /// Moves to the next record; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        if !self.skip_blank_lines()? || self.offset() >= self.stop_at {
            return Ok(false);
        }
        self.is_plain = self.cut_plain();
        if self.is_plain { Ok(true) } else { self.parse() }
    }

    /// Cuts the next record if it is a simple one and whole in the window.
    #[inline]
    fn cut_plain(&mut self) -> bool {
        if !self.is_primed || self.format.newline != b'\n' || self.format.escapes {
            return false;
        }
        let window = self.window.get(..self.filled).unwrap_or_default();
        let Some((end, end_len)) = self.cutter.cut(window, self.record_start, MAX_FIELDS) else {
            return false;
        };
        self.field_count = self.cutter.fields(&self.window).ends.len();
        self.record_len = end - self.record_start;
        self.next = end + end_len;
        match end_len {
            1 => self.line_ends.lf += 1,
            _ => self.line_ends.crlf += 1,
        }
        true
    }

    fn parse(&mut self) -> Result<bool, Error> {
        self.field_count = 0;
        let mut unquoted_len = 0;
        let mut is_input_over = false;
        loop {
            // Outside quotes a line end changes nothing at the end of the file; inside it does not
            // end the record, which is the only way to ask this parser where it stands.
            let input = match is_input_over {
                true => b"\n",
                false => self.window.get(self.next..self.filled).unwrap_or_default(),
            };
            let parser = self.parser.get_or_insert_with(|| self.format.parser(self.is_primed));
            let (result, read_len, written_len, field_count) = parser.read_record(
                input,
                self.unquoted.get_mut(unquoted_len..).unwrap_or_default(),
                self.ends.get_mut(self.field_count..).unwrap_or_default(),
            );
            self.next += if is_input_over { 0 } else { read_len };
            unquoted_len += written_len;
            self.field_count += field_count;
            match result {
                ReadRecordResult::Record => {
                    self.is_primed = true;
                    return self.end_record().map(|()| true);
                }
                ReadRecordResult::OutputFull => self.unquoted.resize(self.unquoted.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.grow_ends()?,
                ReadRecordResult::InputEmpty if !is_input_over => is_input_over = !self.refill()?,
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {
                    self.unterminated = Some(self.quote_line());
                    return Ok(false);
                }
            }
        }
    }

    pub(super) fn field_count(&self) -> usize {
        self.field_count
    }

    /// `None` behind the last field of this record.
    pub(super) fn field(&self, index: usize) -> Option<&[u8]> {
        self.record().get(index)
    }

    #[inline]
    pub(super) fn record(&self) -> Fields<'_> {
        if self.is_plain {
            return self.cutter.fields(&self.window);
        }
        let ends = self.ends.get(..self.field_count).unwrap_or_default();
        Fields { bytes: &self.unquoted, start: 0, ends, gap: 0, quoted: None }
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.field_count).map_while(|index| self.field(index))
    }

    /// The physical line, from 1, on which this record starts.
    pub(super) fn line(&self) -> u64 {
        let (mark, mark_line) = self.line_mark.get();
        let passed = self.window.get(mark..self.record_start).unwrap_or_default();
        let line = mark_line + self.count_lines(passed);
        self.line_mark.set((self.record_start, line));
        line
    }

    /// Where this record starts, in bytes from the start of the file, or of its decoded text.
    pub(super) fn offset(&self) -> u64 {
        self.window_offset + self.record_start as u64
    }

    /// Where reading goes on, as [`Self::offset`].
    pub(super) fn next_offset(&self) -> u64 {
        self.window_offset + self.next as u64
    }

    /// Where reading goes on, and on which line.
    pub(super) fn stands_at(&self) -> (u64, u64) {
        let passed = self.window.get(self.record_start..self.next).unwrap_or_default();
        (self.next_offset(), self.line() + self.count_lines(passed))
    }

    /// A quote inside an unquoted field, or something other than a delimiter after a closing one.
    pub(super) fn has_stray_quote(&self) -> bool {
        !self.is_plain && !self.format.is_well_quoted(self.raw())
    }

    /// The record as it stands in the file, without its line end.
    #[inline]
    fn raw(&self) -> &[u8] {
        let raw_end = self.record_start + self.record_len;
        self.window.get(self.record_start..raw_end).unwrap_or_default()
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    fn skip_blank_lines(&mut self) -> Result<bool, Error> {
        loop {
            self.record_start = self.next;
            match self.peek()? {
                None => return Ok(false),
                Some(b'\n') => self.next += 1,
                Some(b'\r') => {
                    self.next += 1;
                    self.skip_line_feed()?;
                }
                Some(_) => return Ok(true),
            }
            self.blank_lines += 1;
        }
    }

    fn end_record(&mut self) -> Result<(), Error> {
        let last = self.next.checked_sub(1).and_then(|last| self.window.get(last)).copied();
        // Absent where the record was ended by the end of the file.
        let terminator = last.filter(|byte| matches!(byte, b'\n' | b'\r'));
        self.record_len = self.next - self.record_start - usize::from(terminator.is_some());
        match terminator {
            None => {}
            Some(b'\r') if self.skip_line_feed()? => self.line_ends.crlf += 1,
            Some(b'\r') => self.line_ends.cr += 1,
            Some(_) => self.line_ends.lf += 1,
        }
        Ok(())
    }

    fn skip_line_feed(&mut self) -> Result<bool, Error> {
        let is_next = self.peek()? == Some(b'\n');
        self.next += usize::from(is_next);
        Ok(is_next)
    }

    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, Error> {
        if self.next == self.filled && !self.refill()? {
            return Ok(None);
        }
        Ok(self.window.get(self.next).copied())
    }

    /// Keeps the record being read whole in the window; `false` at the end of the file.
    fn refill(&mut self) -> Result<bool, Error> {
        if self.source_ended {
            return Ok(false);
        }
        self.cutter.forget();
        self.drop_read_records();
        if self.filled == self.window.len() {
            self.grow_window()?;
        }
        let len = self.source.read(self.window.get_mut(self.filled..).unwrap_or_default())?;
        self.filled += len;
        self.refills += 1;
        self.source_ended = len == 0;
        Ok(!self.source_ended)
    }

    fn drop_read_records(&mut self) {
        let line = self.line();
        self.window_offset += self.record_start as u64;
        self.window.copy_within(self.record_start..self.filled, 0);
        self.filled -= self.record_start;
        self.next -= self.record_start;
        self.record_start = 0;
        self.line_mark.set((0, line));
    }

    fn grow_window(&mut self) -> Result<(), Error> {
        if self.window.len() >= MAX_RECORD_BYTES {
            let [line, quote_line] =
                [self.line(), self.quote_line()].map(|line| line - self.lines_before);
            return Err(Error::RecordTooLong { line, quote_line, max_bytes: MAX_RECORD_BYTES });
        }
        self.window.resize(self.window.len() * 2, 0);
        Ok(())
    }

    fn grow_ends(&mut self) -> Result<(), Error> {
        if self.ends.len() >= MAX_FIELDS {
            let line = self.line() - self.lines_before;
            return Err(Error::TooManyFields { line, max_fields: MAX_FIELDS });
        }
        self.ends.resize(self.ends.len() * 2, 0);
        Ok(())
    }

    /// The line on which the field being read starts.
    fn quote_line(&self) -> u64 {
        let read = self.ends.get(..self.field_count).and_then(<[usize]>::last).copied();
        let fields_before = self.unquoted.get(..read.unwrap_or(0)).unwrap_or_default();
        self.line() + self.count_lines(fields_before)
    }

    fn count_lines(&self, bytes: &[u8]) -> u64 {
        memchr_iter(self.format.newline, bytes).count() as u64
    }
}

/// Equal for records of the same fields, however they are quoted.
impl Hash for Records {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields().for_each(|field| field.hash(state));
    }
}
