//! How the records of a file are written, and whether one of them is.

use memchr::{memchr, memchr2};

/// How records are written.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) delimiter: u8,
    /// Ends physical lines.
    pub(super) newline: u8,
    pub(super) escapes: bool,
}

impl Format {
    pub(super) fn parser(self, is_primed: bool) -> csv_core::Reader {
        let escape = self.escapes.then_some(b'\\');
        let mut parser =
            csv_core::ReaderBuilder::new().delimiter(self.delimiter).escape(escape).build();
        if is_primed {
            // It would take the bytes of a byte order mark for one where it has read nothing yet.
            let _read = parser.read_record(b"x\n", &mut [0; 8], &mut [0; 8]);
        }
        parser
    }

    /// Whether a record has its quotes around whole fields and nowhere else.
    pub(super) fn is_well_quoted(self, mut raw: &[u8]) -> bool {
        let Self { delimiter, escapes, .. } = self;
        loop {
            let rest = match raw {
                [b'"', quoted @ ..] => match after_closing_quote(quoted, escapes) {
                    Some(rest) => rest,
                    None => return false,
                },
                bare => {
                    let len = memchr(delimiter, bare).unwrap_or(bare.len());
                    let Some((field, rest)) = bare.split_at_checked(len) else {
                        return false;
                    };
                    if memchr(b'"', field).is_some() {
                        return false;
                    }
                    rest
                }
            };
            match rest {
                [] => return true,
                [byte, following @ ..] if *byte == delimiter => raw = following,
                _ => return false,
            }
        }
    }
}

fn after_closing_quote(mut quoted: &[u8], escapes: bool) -> Option<&[u8]> {
    loop {
        if escapes
            && let Some(place) = memchr2(b'"', b'\\', quoted)
            && quoted.get(place) == Some(&b'\\')
        {
            quoted = quoted.get(place + 2..)?;
            continue;
        }
        match quoted.get(memchr(b'"', quoted)? + 1..)? {
            [b'"', rest @ ..] => quoted = rest,
            rest => return Some(rest),
        }
    }
}
