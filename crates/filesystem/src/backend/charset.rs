//! The encoding of a text file, found from its bytes or named by the caller, and kept when the
//! file is written again.

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charset {
    kind: CharsetKind,
    has_bom: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharsetKind {
    Known(&'static Encoding),
    /// Not UTF-8 and not named: ASCII can be worked with, the other bytes are carried along.
    AsciiAndUnknown,
}

impl Charset {
    pub(super) const UTF_8: Self = Self { kind: CharsetKind::Known(UTF_8), has_bom: false };

    /// By its label, for example `latin1`.
    pub(super) fn named(label: &str) -> Result<Self, Error> {
        let encoding = Encoding::for_label(label.as_bytes())
            .filter(|encoding| encoding.output_encoding() != UTF_8 || is_unicode(encoding))
            // A byte means something else after a shift, so no part of it can be spliced.
            .filter(|encoding| *encoding != ISO_2022_JP)
            .ok_or_else(|| Error::Encoding(label.to_owned()))?;
        Ok(Self { kind: CharsetKind::Known(encoding), has_bom: false })
    }

    /// By a byte order mark, else as the caller says, else UTF-8 if the bytes are that.
    pub(super) fn of(bytes: &[u8], named: Option<Self>) -> Self {
        if let Some((encoding, _)) = Encoding::for_bom(bytes) {
            return Self { kind: CharsetKind::Known(encoding), has_bom: true };
        }
        named.unwrap_or_else(|| match std::str::from_utf8(bytes) {
            Ok(_) => Self::UTF_8,
            Err(_) => Self { kind: CharsetKind::AsciiAndUnknown, has_bom: false },
        })
    }

    /// Name and byte order mark, for people.
    pub(crate) fn describe(&self) -> String {
        let mark = if self.has_bom { " with a byte order mark" } else { "" };
        format!("{}{mark}", self.name())
    }

    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            CharsetKind::Known(encoding) => encoding.name(),
            CharsetKind::AsciiAndUnknown => "an unknown encoding",
        }
    }

    pub(super) fn is_utf_8(&self) -> bool {
        self.kind == CharsetKind::Known(UTF_8)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.kind == CharsetKind::AsciiAndUnknown
    }

    pub(super) fn bom(&self) -> &'static [u8] {
        match self.kind {
            CharsetKind::Known(encoding) if self.has_bom => {
                if encoding == UTF_16LE {
                    b"\xff\xfe"
                } else if encoding == UTF_16BE {
                    b"\xfe\xff"
                } else {
                    b"\xef\xbb\xbf"
                }
            }
            _ => b"",
        }
    }

    /// The text, without the byte order mark; `None` if the bytes are not in this encoding.
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let bytes = bytes.strip_prefix(self.bom())?;
        match self.kind {
            CharsetKind::Known(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .map(std::borrow::Cow::into_owned),
            CharsetKind::AsciiAndUnknown => Some(bytes.iter().copied().map(char::from).collect()),
        }
    }

    /// The bytes of a piece of text, without a byte order mark; `None` if there are none for it.
    pub(super) fn encode(&self, text: &str) -> Option<Vec<u8>> {
        match self.kind {
            CharsetKind::AsciiAndUnknown => {
                text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
            }
            CharsetKind::Known(encoding) if encoding == UTF_16LE => {
                Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
            }
            CharsetKind::Known(encoding) if encoding == UTF_16BE => {
                Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect())
            }
            CharsetKind::Known(encoding) => {
                let (bytes, _, has_unmappable) = encoding.encode(text);
                (!has_unmappable).then(|| bytes.into_owned())
            }
        }
    }

    /// All the bytes of a file that holds `text`. A byte order mark the text begins with is not
    /// doubled.
    pub(super) fn encode_file(&self, text: &str) -> Result<Vec<u8>, Error> {
        let body = if self.has_bom { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let unencodable =
            || Error::Unencodable { what: "`content`".to_owned(), encoding: self.name() };
        let mut bytes = self.bom().to_vec();
        bytes.extend(self.encode(body).ok_or_else(unencodable)?);
        Ok(bytes)
    }
}

/// Those are decoded as themselves but encoded as UTF-8 by the standard; we do it by hand.
fn is_unicode(encoding: &'static Encoding) -> bool {
    encoding == UTF_8 || encoding == UTF_16LE || encoding == UTF_16BE
}
