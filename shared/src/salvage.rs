//! Finds the id of a request in a line that cannot be parsed, so that its sender is told and
//! does not wait for ever.
//!
//! A line may be cut, badly encoded, or too long to keep. The scanner walks the bytes once with
//! constant memory and remembers the top-level `id` and whether there was a `method`: only a
//! request is answered, since an error for what was a *response* could be taken for the answer
//! to another request with the same number.

use serde::de::IgnoredAny;

use crate::jsonrpc::Id;

/// Longest id worth echoing. Real ids are a few digits or a UUID.
const MAX_TOKEN_BYTES: usize = 256;

/// The id of the request in `line`, if one can be told for certain.
pub(crate) fn request_id(line: &[u8]) -> Option<Id<'static>> {
    let mut scanner = Scanner::default();
    scanner.feed(line);
    scanner.finish()
}

/// Feeds on a line piece by piece; see the module's text.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The member whose value comes next or is being read, at depth 1.
    key: Option<Key>,
    /// The top-level token being collected, with its quotes.
    token: Vec<u8>,
    id: Option<Vec<u8>>,
    has_method: bool,
    hopeless: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Id,
    Method,
    Other,
}

impl Scanner {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.hopeless {
            if self.in_string && !self.escaped && !self.collects() {
                // Most of a long line is one long string: straight to what could end it.
                let skipped = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                rest = rest.get(skipped..).unwrap_or_default();
            }
            let Some((&byte, after)) = rest.split_first() else { return };
            rest = after;
            if self.in_string {
                self.string_byte(byte);
            } else {
                self.bare_byte(byte);
            }
        }
    }

    /// The id, when the bytes so far held one at the top level of an object with a method.
    pub(crate) fn finish(mut self) -> Option<Id<'static>> {
        if !self.in_string {
            self.end_value();
        }
        if self.hopeless || !self.has_method {
            return None;
        }
        let token = String::from_utf8(self.id?).ok()?;
        // The line is broken, and what looks like its id may be what is broken about it.
        serde_json::from_str::<IgnoredAny>(&token).ok()?;
        Id::parse(&token).map(Id::into_owned)
    }

    fn string_byte(&mut self, byte: u8) {
        self.collect(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn bare_byte(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.in_string = true;
                self.collect(byte);
            }
            b'{' | b'[' => {
                // A batch, or a second document: there is no single id to find.
                self.hopeless = self.depth == 0 && byte == b'[';
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.end_key(),
            b',' => self.end_value(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.collect(byte),
        }
    }

    fn collect(&mut self, byte: u8) {
        if self.collects() {
            self.token.push(byte);
        }
    }

    /// Only what is at the top level, and short, can be an id or the name of a member.
    fn collects(&self) -> bool {
        self.depth == 1 && self.token.len() < MAX_TOKEN_BYTES
    }

    fn end_key(&mut self) {
        self.key = Some(match self.token.as_slice() {
            br#""id""# => Key::Id,
            br#""method""# => Key::Method,
            _ => Key::Other,
        });
        self.token.clear();
    }

    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let token = std::mem::take(&mut self.token);
        match self.key.take() {
            // Two different ids: nobody can say which one the sender waits for.
            Some(Key::Id) if self.id.is_some() => self.hopeless = true,
            Some(Key::Id) if token.len() < MAX_TOKEN_BYTES => self.id = Some(token),
            Some(Key::Method) if token.first() == Some(&b'"') => self.has_method = true,
            _ => {}
        }
    }
}
