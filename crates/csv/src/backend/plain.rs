//! Records in which nothing has to be unescaped, which is most of them: quotes stand around whole
//! fields and nowhere else, so finding line ends, delimiters and quotes is all there is to do.

use memchr::{memchr, memchr3};

const WORD: usize = size_of::<u64>();
const LOW: u64 = u64::from_le_bytes([0x7f; WORD]);

/// Where a field begins and ends, counted from the start of the record.
pub(super) type Span = (usize, usize);

/// Finds the fields of the record that `bytes` begins with. Gives its length without its line end,
/// and that of the line end; `None` if it is not of this kind or may not be whole, or if it has more
/// than `max_fields`.
#[inline]
pub(super) fn cut(
    bytes: &[u8],
    delimiter: u8,
    fields: &mut Vec<Span>,
    max_fields: usize,
) -> Option<(usize, usize)> {
    fields.clear();
    let mut start = 0;
    loop {
        let end = start + memchr3(b'\n', b'\r', b'"', bytes.get(start..)?)?;
        let last = split(bytes, start, end, delimiter, fields);
        let (field, next) = match bytes.get(end)? {
            // A quote begins a field or is a stray one.
            b'"' if last != end => return None,
            b'"' => {
                let close = end + 1 + memchr(b'"', bytes.get(end + 1..)?)?;
                ((end + 1, close), close + 1)
            }
            _ => ((last, end), end),
        };
        fields.push(field);
        if fields.len() > max_fields {
            return None;
        }
        start = match bytes.get(next..)? {
            [b'\n', ..] => return Some((next, 1)),
            [b'\r', b'\n', ..] => return Some((next, 2)),
            [byte, ..] if *byte == delimiter && next > end => next + 1,
            _ => return None,
        };
    }
}

/// Adds the fields that end with a delimiter between `start` and `end`. Gives where the one behind
/// them begins.
#[inline]
fn split(
    bytes: &[u8],
    mut start: usize,
    end: usize,
    delimiter: u8,
    fields: &mut Vec<Span>,
) -> usize {
    let delimiters = u64::from_le_bytes([delimiter; WORD]);
    let mut place = start;
    let (words, rest) = bytes.get(start..end).unwrap_or_default().as_chunks::<WORD>();
    for word in words {
        let mut found = zero_bytes(u64::from_le_bytes(*word) ^ delimiters);
        while found != 0 {
            let delimiter = place + found.trailing_zeros() as usize / 8;
            fields.push((start, delimiter));
            start = delimiter + 1;
            found &= found - 1;
        }
        place += WORD;
    }
    for byte in rest {
        if *byte == delimiter {
            fields.push((start, place));
            start = place + 1;
        }
        place += 1;
    }
    start
}

/// The highest bit of each byte that is zero.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    !(((word & LOW) + LOW) | word | LOW)
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

    proptest! {
        #[test]
        fn what_is_cut_is_what_the_parser_reads(record in "[a+,\u{2d}\u{ac}\"\r\n]{1,40}\n") {
            let bytes = record.trim_start_matches(['\r', '\n']).as_bytes();
            let mut fields = vec![(7, 7)];
            if let Some((len, end_len)) = cut(bytes, b',', &mut fields, usize::MAX) {
                let texts: Vec<_> =
                    fields.iter().map(|(start, end)| bytes[*start..*end].to_vec()).collect();
                let (right, read) = parsed(bytes);
                prop_assert_eq!(&texts, &right);
                // It leaves the second byte of a line end for later.
                prop_assert_eq!(len + 1, read);
                prop_assert_eq!(end_len, usize::from(bytes[len] == b'\r') + 1);
                prop_assert_eq!(cut(bytes, b',', &mut fields, texts.len() - 1), None);
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
            ("a\rb\n", None),
            ("a\r", None),
            ("a,\"b\"\"c\"\n", None),
            ("a,\"b\"c\n", None),
            ("a,b\"c\"\n", None),
            ("a, \"b\"\n", None),
            ("a,\"b\"", None),
            ("a,\"b", None),
            ("a,b", None),
            ("", None),
        ] {
            assert_eq!(cut(bytes.as_bytes(), b',', &mut Vec::new(), 9), found, "{bytes:?}");
        }
    }
}
