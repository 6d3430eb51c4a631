//! The catalogue of messy inputs: what comes in, what must come out.
//!
//! The right outcome is a right number or a plain refusal, never a number that is silently wrong.

mod dialects;
mod records;
mod values;

use super::{analyze, check};

/// What it shows, the bytes of the file, and places in the answer with the right value.
type Case = (&'static str, &'static [u8], &'static [(&'static str, &'static str)]);

#[test]
fn answers_are_right() {
    for (case, bytes, expected) in [dialects::CASES, records::CASES, values::CASES].concat() {
        let answer = analyze(bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        check(case, &answer, expected);
    }
}

#[test]
fn refusals_say_why() {
    for (case, bytes, expected) in REFUSALS {
        let error = analyze(bytes).expect_err(case);
        assert!(error.to_string().contains(expected), "{case}: {error}");
    }
}

const REFUSALS: &[(&str, &[u8], &str)] = &[
    ("damaged gzip", b"\x1F\x8B\x08\x00rest", "gzip"),
    ("damaged zstd", b"\x28\xB5\x2F\xFDrest", "zstd"),
    ("damaged bzip2", b"BZh91AY", "bzip2"),
    ("an Excel workbook", b"PK\x03\x04rest", "Excel"),
    ("UTF-32", b"\xFF\xFE\0\0a\0\0\0", "UTF-32"),
    ("UTF-16 without a mark", b"a\0,\0b\0\n\0", "UTF-16 without a byte order mark"),
];
