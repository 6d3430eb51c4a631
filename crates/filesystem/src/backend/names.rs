//! Paths as text and back: every name a file system can hold has one spelling a model can send.
//!
//! What is not UTF-8, and what would break a line, is written `\xHH` for each byte; a backslash
//! that could be taken for the beginning of that is written `\x5c`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(super) fn spell(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for (at, character) in chunk.valid().char_indices() {
            let starts_escape = || hex_escape(chunk.valid().as_bytes().get(at..)).is_some();
            if is_deceptive(character) || (character == '\\' && starts_escape()) {
                let mut buffer = [0; 4];
                escape(character.encode_utf8(&mut buffer).as_bytes(), &mut text);
            } else {
                text.push(character);
            }
        }
        escape(chunk.invalid(), &mut text);
    }
    text
}

pub(super) fn spell_path(path: &Path) -> String {
    spell(path.as_os_str())
}

/// The path a text means. Nothing is normalised: what is checked is what the kernel opens.
pub(super) fn parse(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if let Some(byte) = hex_escape(Some(rest)) {
            bytes.push(byte);
            rest = rest.get(4..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Control characters, and those that turn the direction of what follows.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        text.push_str(&format!("\\x{byte:02x}"));
    }
}

/// The byte that `\xHH` at the start of `bytes` stands for.
fn hex_escape(bytes: Option<&[u8]>) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = bytes? else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
