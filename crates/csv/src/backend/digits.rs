//! Reads ASCII digits eight at a time: a word of memory holds eight of them, and a few operations on
//! it count them and add them up.

/// How many digits a word holds.
pub(super) const PER_WORD: usize = size_of::<u64>();

/// Up to eight bytes as a word with the first byte lowest; longer slices give their first four and
/// last four.
#[inline]
pub(super) fn word(bytes: &[u8]) -> u64 {
    if let Some(all) = bytes.first_chunk::<PER_WORD>() {
        u64::from_le_bytes(*all)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk::<4>()) {
        // They overlap, and where they do they are the same.
        u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk::<2>()) {
        u64::from(u16::from_le_bytes(*first))
            | u64::from(u16::from_le_bytes(*last)) << (8 * (bytes.len() - 2))
    } else {
        bytes.first().copied().map_or(0, u64::from)
    }
}

/// How many digits the word begins with.
#[inline]
pub(super) fn count(word: u64) -> usize {
    others(word).trailing_zeros() as usize / 8
}

/// The highest bit of the first byte that is no digit, and perhaps some behind it.
#[inline]
fn others(word: u64) -> u64 {
    let values = word ^ repeat(b'0');
    // Sets that bit where the value is above nine; what is carried on only reaches later bytes.
    (values.wrapping_add(repeat(0x80 - 10)) | values) & repeat(0x80)
}

/// The number that the first `len` bytes of the word are the digits of; `len` is at most eight.
#[inline]
pub(super) fn value(word: u64, len: usize) -> u64 {
    // Moved up, with what comes in below counting as zeros: eight digits, then pairs, then fours.
    let digits = word.unbounded_shl(8 * (PER_WORD - len) as u32) & repeat(0x0f);
    let pairs = (digits.wrapping_mul(10 * 256 + 1) >> 8) & repeat_16(0xff);
    let fours = (pairs.wrapping_mul(100 * 65536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul((10_000 << 32) + 1) >> 32
}

/// Appends the digits that `bytes` begins with to `number`, and counts them; wraps beyond 19.
#[inline]
pub(super) fn append(mut number: u64, bytes: &[u8]) -> (u64, usize) {
    let (mut rest, mut len) = (bytes, 0);
    while let Some((first, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*first);
        if others(word) != 0 {
            break;
        }
        number = number.wrapping_mul(100_000_000).wrapping_add(value(word, PER_WORD));
        (rest, len) = (behind, len + PER_WORD);
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(digit.into());
        len += 1;
    }
    (number, len)
}

const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; PER_WORD])
}

const fn repeat_16(value: u16) -> u64 {
    value as u64 * 0x0001_0001_0001_0001
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_that_one_by_one_gives(text in "[0-9]{0,19}", rest in "([ -/:-~\u{e9}][ -~]*)?") {
            let right = text.bytes().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            let whole = format!("{text}{rest}");
            prop_assert_eq!(append(0, whole.as_bytes()), (right, text.len()));
        }

        #[test]
        fn any_bytes_are_counted(bytes in proptest::collection::vec(any::<u8>(), 0..=8)) {
            let right = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(count(word(&bytes)), right);
        }
    }
}
