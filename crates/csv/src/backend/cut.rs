//! Guesses where the first record behind a place in a file begins.
//!
//! The place may be inside quotes or not, and only the whole file before it could tell. But read with
//! the wrong one of the two, quoted texts and all else change places, and hardly a record is well
//! formed. A wrong guess costs time and nothing else, see `parts`.

use memchr::memchr3_iter;

use super::Error;
use super::format::Format;
use super::reader::Seed;

/// What is looked at behind the place. Longer records are not found.
const LOOK_BYTES: usize = 64 << 10;

/// Where it begins, in bytes from the start of the file; blank lines may come before it.
pub(super) fn first_record(seed: &Seed, place: u64) -> Result<Option<u64>, Error> {
    // A line end right before the place makes it the start of a record itself.
    let from = place.saturating_sub(1);
    let mut bytes = vec![0; LOOK_BYTES];
    let len = seed.source().peek_at(from, &mut bytes)?;
    let bytes = bytes.get(..len).unwrap_or_default();
    let starts = [false, true].map(|is_quoted| first_line_end(bytes, is_quoted));
    let score = |start: usize| well_formed(bytes.get(start..).unwrap_or_default(), seed);
    let start = match starts {
        [Some(outside), Some(inside)] if score(inside) > score(outside) => Some(inside),
        [Some(outside), _] => Some(outside),
        [None, inside] => inside,
    };
    Ok(start.map(|start| from + start as u64))
}

/// The place behind the first line end outside quotes.
fn first_line_end(bytes: &[u8], mut is_quoted: bool) -> Option<usize> {
    for place in memchr3_iter(b'"', b'\n', b'\r', bytes) {
        match bytes.get(place) {
            Some(b'"') => is_quoted = !is_quoted,
            _ if !is_quoted => return Some(place + 1),
            _ => {}
        }
    }
    None
}

/// Of the first records, how many in a thousand are as the others of the file.
fn well_formed(bytes: &[u8], seed: &Seed) -> usize {
    const MAX_RECORDS: usize = 64;
    let Format { delimiter, escapes, .. } = seed.format();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .escape(escapes.then_some(b'\\'))
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes);
    let (mut total, mut good) = (0, 0);
    let mut record = csv::ByteRecord::new();
    let mut start = 0;
    while total < MAX_RECORDS && reader.read_byte_record(&mut record).is_ok_and(|is_one| is_one) {
        let end = usize::try_from(reader.position().byte()).unwrap_or(bytes.len());
        let raw = bytes.get(start..end).unwrap_or_default().trim_ascii();
        let is_good = record.len() == seed.width() && seed.format().is_well_quoted(raw);
        good += usize::from(is_good);
        total += 1;
        start = end;
    }
    // The end of what was looked at cuts the last one.
    if total > 1 { good * 1000 / total } else { good }
}
