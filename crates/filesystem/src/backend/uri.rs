//! `file://` URIs for paths, and paths for URIs. A URI holds the spelling a model may send, so a
//! name that is not UTF-8 survives the way there and back.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::names;

/// What RFC 3986 lets stand in a path.
const NOT_IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// `path` is absolute.
pub(super) fn of_path(path: &Path) -> String {
    format!("file://{}", utf8_percent_encode(&names::spell_path(path), NOT_IN_PATH))
}

/// The absolute path on this machine; `None` if the URI is of another kind or another machine.
pub(super) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    decoded.starts_with('/').then(|| names::parse(&decoded))
}
