//! Writes one JSON object member by member.
//!
//! The shape of an answer depends on the revision; saying so with `if` around a `field` call
//! reads better than a struct of optional members per revision, and costs no copy.

use serde::Serialize;

pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Object<'a> {
    /// Writes `{…}`, with the members `members` adds.
    pub(crate) fn write(out: &'a mut Vec<u8>, members: impl FnOnce(&mut Object<'_>)) {
        out.push(b'{');
        members(&mut Object { out, is_empty: true });
        out.push(b'}');
    }

    pub(crate) fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.key(name);
        write_json(self.out, value);
    }

    pub(crate) fn optional(&mut self, name: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// A member whose value is JSON text already.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        self.key(name);
        self.out.extend_from_slice(json.as_bytes());
    }

    pub(crate) fn object(&mut self, name: &str, members: impl FnOnce(&mut Object<'_>)) {
        self.key(name);
        Object::write(self.out, members);
    }

    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Vec<u8>, T),
    ) {
        self.key(name);
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self.out, item);
        }
        self.out.push(b']');
    }

    fn key(&mut self, name: &str) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        write_json(self.out, name);
        self.out.push(b':');
    }
}

/// Appends `value` as JSON. What cannot be written (a map with keys that are no strings) is
/// `null`, so that the message around it stays whole.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}
