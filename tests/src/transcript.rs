//! The bytes a check sent and got: what a reader needs to believe a red row.

use crate::peer::{Incoming, Stream};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The start of a conversation explains the rest, so it is kept when the middle is dropped.
const FIRST_ENTRIES: usize = 8;
const LAST_ENTRIES: usize = 16;
const ENTRY_BYTES: usize = 600;

/// A handle on the record of the check that runs now; clones write to the same record.
#[derive(Clone, Default)]
pub struct Transcript(Rc<RefCell<Record>>);

#[derive(Default)]
struct Record {
    first: Vec<String>,
    last: VecDeque<String>,
    dropped: usize,
}

impl Transcript {
    /// Forgets everything: a new check begins.
    pub fn restart(&self) {
        *self.0.borrow_mut() = Record::default();
    }

    pub fn sent(&self, bytes: &[u8]) {
        self.add(format!("> {}", shown(bytes)));
    }

    pub fn got(&self, incoming: &Incoming) {
        match incoming {
            Incoming::Line(bytes) => self.add(format!("< {}", shown(bytes))),
            Incoming::Unterminated(bytes) => {
                self.add(format!("< {} (no newline)", shown(bytes)));
            }
            Incoming::Carried(carried) => {
                let of = match &carried.stream {
                    Stream::Post(Some(id)) => format!("to {id}"),
                    Stream::Post(None) => "body".to_owned(),
                    Stream::Standing => "by GET".to_owned(),
                    Stream::Down => "down".to_owned(),
                };
                self.add(format!("< {of}: {}", shown(&carried.line)));
            }
            Incoming::Exchange(exchange) => {
                self.note(&format!("{} {}", exchange.status, exchange.content_type));
            }
            Incoming::Eof => self.note("closed"),
            Incoming::Silence => {}
        }
    }

    /// Something that happened beside the bytes.
    pub fn note(&self, what: &str) {
        self.add(format!("- {what}"));
    }

    pub fn lines(&self) -> Vec<String> {
        let record = self.0.borrow();
        let gap = (record.dropped > 0).then(|| format!("- {} more", record.dropped));
        record.first.iter().cloned().chain(gap).chain(record.last.iter().cloned()).collect()
    }

    fn add(&self, entry: String) {
        let mut record = self.0.borrow_mut();
        if record.first.len() < FIRST_ENTRIES {
            record.first.push(entry);
            return;
        }
        record.last.push_back(entry);
        if record.last.len() > LAST_ENTRIES {
            record.last.pop_front();
            record.dropped += 1;
        }
    }
}

/// Bytes as text, escaped where they are not, cut where they are long.
pub fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let head = bytes.get(..ENTRY_BYTES).unwrap_or(bytes);
    let text: String = head
        .utf8_chunks()
        .flat_map(|chunk| {
            let invalid = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
            std::iter::once(chunk.valid().replace('\n', "\\n")).chain(invalid)
        })
        .collect();
    match bytes.len() - head.len() {
        0 => text,
        more => format!("{text}… ({more} bytes more)"),
    }
}
