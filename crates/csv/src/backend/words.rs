//! Words with a meaning among numbers, in any case of their letters.

/// Spaces only, which is as good as empty in a column of any type.
#[inline]
pub(super) fn is_blank(cell: &[u8]) -> bool {
    cell.first().is_some_and(u8::is_ascii_whitespace) && cell.trim_ascii_start().is_empty()
}

/// Words that stand for no value among numbers.
pub(super) fn is_no_number(word: &[u8]) -> bool {
    is_null_token(word) || is_nan(word) || is_infinite(word)
}

pub(super) fn is_null_token(word: &[u8]) -> bool {
    is_one_of(word, &["na", "n/a", "#n/a", "null", "none", "nil", "-"])
}

pub(super) fn is_nan(word: &[u8]) -> bool {
    is_one_of(word, &["nan", "+nan", "-nan"])
}

pub(super) fn is_infinite(word: &[u8]) -> bool {
    is_one_of(word, &["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"])
}

pub(super) fn is_boolean_word(word: &[u8]) -> bool {
    is_one_of(word, &["y", "n", "yes", "no", "t", "f", "true", "false"])
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other.as_bytes()))
}
