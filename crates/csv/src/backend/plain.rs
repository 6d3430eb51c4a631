//! Records as nearly all are written: quotes stand around whole fields and nowhere else. Finding the
//! line ends, delimiters and quotes is all there is to do, and is done for 64 bytes at a time.

use wide::u8x16;

use super::fields::{Doubled, Fields};

/// Cuts one record after the other out of a window on the input.
pub(super) struct Cutter {
    delimiter: u8,
    /// Where the last record ended; far away once the window has changed.
    next: usize,
    marks: Marks,
    /// Of the record.
    start: usize,
    /// Where each field ends, quotes and all; the next one begins one byte later.
    ends: Vec<usize>,
    has_quotes: bool,
    doubled: Doubled,
}

/// What is found in 64 bytes and not come to yet: one bit for a byte, the lowest for the first.
#[derive(Clone, Copy, Default)]
struct Marks {
    place: usize,
    delimiters: u64,
    /// Line ends and quotes.
    others: u64,
}

impl Cutter {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            next: usize::MAX,
            marks: Marks::default(),
            start: 0,
            ends: Vec::new(),
            has_quotes: false,
            doubled: Doubled::default(),
        }
    }

    /// The window holds something else from now on.
    pub(super) fn forget(&mut self) {
        self.next = usize::MAX;
    }

    /// Of the record that was cut last, out of this window.
    #[inline]
    pub(super) fn fields<'a>(&'a self, window: &'a [u8]) -> Fields<'a> {
        let quoted = self.has_quotes.then_some(&self.doubled);
        Fields { bytes: window, start: self.start, ends: &self.ends, gap: 1, quoted }
    }

    /// Finds the fields of the record that begins at `start`. Gives where it ends, and the length of
    /// its line end; `None` if it is not of this kind or may not be whole, or if it has more than
    /// `max_fields`.
    #[inline]
    pub(super) fn cut(
        &mut self,
        window: &[u8],
        start: usize,
        max_fields: usize,
    ) -> Option<(usize, usize)> {
        let mut marks = if self.next == start { self.marks } else { self.look(window, start)? };
        self.next = usize::MAX;
        self.begin(start);
        loop {
            self.end_fields(marks.take_delimiters(), marks.place);
            (self.ends.len() < max_fields).then_some(())?;
            let Some(place) = marks.take_other() else {
                marks = self.look_on(window, marks)?;
                continue;
            };
            let end_len = match *window.get(place)? {
                b'"' => {
                    marks = self.skip_quoted(window, place, marks)?;
                    continue;
                }
                b'\n' => 1,
                _ => {
                    (window.get(place + 1) == Some(&b'\n')).then_some(())?;
                    (_, marks) = self.next_other(window, marks)?;
                    2
                }
            };
            self.ends.push(place);
            (self.next, self.marks) = (place + end_len, marks);
            return Some((place, end_len));
        }
    }

    fn begin(&mut self, start: usize) {
        self.start = start;
        self.ends.clear();
        if self.has_quotes {
            self.has_quotes = false;
            self.doubled.clear();
        }
    }

    #[inline]
    fn end_fields(&mut self, mut delimiters: u64, place: usize) {
        while delimiters != 0 {
            self.ends.push(place + delimiters.trailing_zeros() as usize);
            delimiters &= delimiters - 1;
        }
    }

    /// From an opening quote to the closing one, which a delimiter or a line end has to follow.
    fn skip_quoted(&mut self, window: &[u8], open: usize, mut marks: Marks) -> Option<Marks> {
        let field_start = self.ends.last().map_or(self.start, |end| end + 1);
        (open == field_start).then_some(())?;
        self.has_quotes = true;
        let mut has_doubled = false;
        loop {
            let place;
            (place, marks) = self.next_other(window, marks)?;
            marks.drop_delimiters_before(place);
            if window.get(place) != Some(&b'"') {
                continue;
            }
            let follows = *window.get(place + 1)?;
            if follows == b'"' {
                has_doubled = true;
                (_, marks) = self.next_other(window, marks)?;
                continue;
            }
            if has_doubled {
                self.doubled.add(self.ends.len(), window.get(open + 1..place)?);
            }
            let is_closed = follows == self.delimiter || matches!(follows, b'\n' | b'\r');
            return is_closed.then_some(marks);
        }
    }

    /// The next line end or quote.
    #[inline]
    fn next_other(&self, window: &[u8], mut marks: Marks) -> Option<(usize, Marks)> {
        loop {
            if let Some(place) = marks.take_other() {
                return Some((place, marks));
            }
            marks = self.look_on(window, marks)?;
        }
    }

    #[inline]
    fn look_on(&self, window: &[u8], marks: Marks) -> Option<Marks> {
        self.look(window, marks.place + Marks::BYTES)
    }

    /// `None` behind the window.
    #[inline]
    fn look(&self, window: &[u8], place: usize) -> Option<Marks> {
        let rest = window.get(place..).filter(|rest| !rest.is_empty())?;
        match rest.first_chunk() {
            Some(bytes) => Some(Marks::of(bytes, place, self.delimiter)),
            None => Some(Marks::of_last(rest, place, self.delimiter)),
        }
    }
}

impl Marks {
    const BYTES: usize = 64;

    #[inline]
    fn of(bytes: &[u8; Self::BYTES], place: usize, delimiter: u8) -> Self {
        let [lf, cr, quote, delimiter] = [b'\n', b'\r', b'"', delimiter].map(u8x16::splat);
        let mut marks = Self { place, ..Self::default() };
        for lane in bytes.as_chunks().0.iter().rev() {
            let lane = u8x16::new(*lane);
            let others = lane.simd_eq(lf) | lane.simd_eq(cr) | lane.simd_eq(quote);
            marks.others = (marks.others << 16) | u64::from(others.to_bitmask());
            let delimiters = lane.simd_eq(delimiter).to_bitmask();
            marks.delimiters = (marks.delimiters << 16) | u64::from(delimiters);
        }
        marks
    }

    /// The end of the window, shorter than the others.
    #[cold]
    fn of_last(rest: &[u8], place: usize, delimiter: u8) -> Self {
        let mut bytes = [0; Self::BYTES];
        bytes.iter_mut().zip(rest).for_each(|(byte, given)| *byte = *given);
        let mut marks = Self::of(&bytes, place, delimiter);
        // What is not there has no marks.
        marks.delimiters &= !u64::MAX.unbounded_shl(rest.len() as u32);
        marks
    }

    /// Those before the next line end or quote.
    #[inline]
    fn take_delimiters(&mut self) -> u64 {
        let next_other = self.others & self.others.wrapping_neg();
        let before = self.delimiters & next_other.wrapping_sub(1);
        self.delimiters &= !before;
        before
    }

    fn drop_delimiters_before(&mut self, place: usize) {
        let before = u32::try_from(place.saturating_sub(self.place)).unwrap_or(u32::MAX);
        self.delimiters &= u64::MAX.unbounded_shl(before);
    }

    /// Where the next line end or quote is.
    #[inline]
    fn take_other(&mut self) -> Option<usize> {
        let place = self.place + self.others.trailing_zeros() as usize;
        (self.others != 0).then_some(())?;
        self.others &= self.others - 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use csv_core::ReadRecordResult;
    use proptest::prelude::*;

    /// The first record as the parser of the `csv` crate reads it: its fields and its length.
    fn parsed(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let (mut text, mut ends) = ([0; 200], [0; 100]);
        let (result, read, _, count) =
            csv_core::Reader::new().read_record(bytes, &mut text, &mut ends);
        assert!(matches!(result, ReadRecordResult::Record));
        let starts = [0].into_iter().chain(ends);
        let spans = starts.zip(ends).take(count);
        (spans.map(|(start, end)| text[start..end].to_vec()).collect(), read)
    }

    /// The first record as it is cut: its fields, where it ends, and the length of its line end.
    fn cut(bytes: &[u8], max_fields: usize) -> Option<(Vec<Vec<u8>>, usize, usize)> {
        let mut cutter = Cutter::new(b',');
        let (end, end_len) = cutter.cut(bytes, 0, max_fields)?;
        let fields = cutter.fields(bytes);
        let field = |index| fields.get(index).map(<[u8]>::to_vec);
        Some(((0..).map_while(field).collect(), end, end_len))
    }

    proptest! {
        #[test]
        fn what_is_cut_is_what_the_parser_reads(record in "[a+,\u{2d}\u{ac}\"\r\n]{1,90}\n") {
            let bytes = record.trim_start_matches(['\r', '\n']).as_bytes();
            if let Some((fields, end, end_len)) = cut(bytes, usize::MAX) {
                let (right, read) = parsed(bytes);
                prop_assert_eq!(&fields, &right);
                // It leaves the second byte of a line end for later.
                prop_assert_eq!(end + 1, read);
                prop_assert_eq!(end_len, usize::from(bytes[end] == b'\r') + 1);
                prop_assert_eq!(cut(bytes, fields.len() - 1), None);
            }
        }

        /// Whatever lies between two records, and wherever the blocks begin.
        #[test]
        fn one_after_the_other_is_as_each_alone(
            records in proptest::collection::vec("([a,]|\"(b|,|\n|\"\")*\"){0,40}\r?\n", 1..9),
            gap in 0_usize..3,
        ) {
            let mut window = Vec::new();
            let mut starts = Vec::new();
            for record in &records {
                window.extend(std::iter::repeat_n(b'\n', gap));
                starts.push(window.len());
                window.extend(record.as_bytes());
            }
            let mut cutter = Cutter::new(b',');
            for start in starts {
                let alone = cut(&window[start..], 99);
                let found = cutter.cut(&window, start, 99);
                prop_assert_eq!(found, alone.as_ref().map(|(_, end, len)| (start + end, *len)));
                for (index, field) in alone.iter().flat_map(|(fields, ..)| fields.iter().enumerate()) {
                    prop_assert_eq!(cutter.fields(&window).get(index), Some(field.as_slice()));
                }
            }
        }
    }

    #[test]
    fn only_simple_records_are_cut() {
        for (bytes, found) in [
            ("a,b\nc", Some((3, 1))),
            ("a,b\r\nc", Some((3, 2))),
            ("\"a\n,b\",\"\"\n", Some((9, 1))),
            ("a rather long field,\"b\"\r\n", Some((23, 2))),
            ("\n", Some((0, 1))),
            ("a,\"b\"\"c\"\n", Some((8, 1))),
            ("a,\"\"\"\"\n", Some((6, 1))),
            ("a\rb\n", None),
            ("a\r", None),
            ("a\r\rb\n", None),
            ("a,\"b\"c\n", None),
            ("a,\"b\"\"c\n", None),
            ("a,b\"c\"\n", None),
            ("a, \"b\"\n", None),
            ("a,\"b\"", None),
            ("a,\"b", None),
            ("a,b", None),
            ("", None),
        ] {
            let ends = cut(bytes.as_bytes(), 9).map(|(_, end, len)| (end, len));
            assert_eq!(ends, found, "{bytes:?}");
        }
    }
}
