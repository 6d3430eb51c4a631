//! Records without quotes, which most are: where nothing is quoted, a record ends with its line and
//! a field with the delimiter, and finding those is all there is to do.

use memchr::memchr3;

const WORD: usize = size_of::<u64>();
const LOW: u64 = u64::from_le_bytes([0x7f; WORD]);

/// The length of the record `bytes` begins with, without its line end, and that of the line end.
/// `None` if there is a quote in it, or it may not be whole: that takes a parser.
#[inline]
pub(super) fn find(bytes: &[u8]) -> Option<(usize, usize)> {
    let len = memchr3(b'\n', b'\r', b'"', bytes)?;
    match bytes.get(len..)? {
        [b'\n', ..] => Some((len, 1)),
        [b'\r', b'\n', ..] => Some((len, 2)),
        _ => None,
    }
}

/// Puts the end of each field of a record without quotes into `ends`. `false` if there are more
/// than `max_fields`.
#[inline]
pub(super) fn split(
    record: &[u8],
    delimiter: u8,
    ends: &mut Vec<usize>,
    max_fields: usize,
) -> bool {
    ends.clear();
    let delimiters = u64::from_le_bytes([delimiter; WORD]);
    let (words, rest) = record.as_chunks::<WORD>();
    let mut place = 0;
    for word in words {
        let mut found = zero_bytes(u64::from_le_bytes(*word) ^ delimiters);
        while found != 0 {
            ends.push(place + found.trailing_zeros() as usize / 8);
            found &= found - 1;
        }
        place += WORD;
    }
    for byte in rest {
        if *byte == delimiter {
            ends.push(place);
        }
        place += 1;
    }
    ends.push(record.len());
    ends.len() <= max_fields
}

/// The highest bit of each byte that is zero.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    !(((word & LOW) + LOW) | word | LOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_byte(record: &[u8], delimiter: u8) -> Vec<usize> {
        let places = record.iter().enumerate().filter(|(_, byte)| **byte == delimiter);
        places.map(|(place, _)| place).chain([record.len()]).collect()
    }

    proptest! {
        #[test]
        fn fields_end_at_each_delimiter(record: Vec<u8>, delimiter: u8) {
            let mut ends = vec![7];
            let all = by_byte(&record, delimiter);
            prop_assert!(split(&record, delimiter, &mut ends, all.len()));
            prop_assert_eq!(&ends, &all);
            prop_assert!(!split(&record, delimiter, &mut ends, all.len() - 1));
        }

        #[test]
        fn bytes_next_to_the_delimiter_are_told_from_it(record in "[+,\u{2d}\u{ac}]{0,40}") {
            let mut ends = Vec::new();
            split(record.as_bytes(), b',', &mut ends, usize::MAX);
            prop_assert_eq!(ends, by_byte(record.as_bytes(), b','));
        }
    }

    #[test]
    fn records_end_with_their_line() {
        for (bytes, found) in [
            ("a,b\nc", Some((3, 1))),
            ("a,b\r\nc", Some((3, 2))),
            ("\n", Some((0, 1))),
            ("a\rb\n", None),
            ("a\r", None),
            ("a,\"b\"\n", None),
            ("a,b", None),
            ("", None),
        ] {
            assert_eq!(find(bytes.as_bytes()), found, "{bytes:?}");
        }
    }
}
