//! Edits a text file by splicing bytes: what no edit names is never decoded and written again, so
//! it cannot change.

use std::io::Read;
use std::time::Duration;

use similar::TextDiff;

use super::charset::Charset;
use super::error::Error;
use super::matching::{self, Match, line_number};
use super::near_miss;
use super::near_names;
use super::replace::{Old, Prepared};
use super::sandbox::Sandbox;

/// Longer files are not edited: they would be held in memory three times.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DIFF_BYTES: usize = 64 * 1024;

/// One replacement.
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    /// Replace all occurrences instead of refusing several.
    pub(crate) replace_all: bool,
}

pub(crate) struct EditFile {
    pub(crate) path: String,
    pub(crate) edits: Vec<Edit>,
    /// Tell what would change, and change nothing.
    pub(crate) dry_run: bool,
    /// Refuse if the file no longer has this etag.
    pub(crate) if_match: Option<String>,
    /// For a file that is neither UTF-8 nor has a byte order mark.
    pub(crate) encoding: Option<String>,
}

pub(crate) struct Edited {
    /// Unified.
    pub(crate) diff: String,
    /// Of the file as it is after the call.
    pub(crate) etag: String,
}

pub(super) fn edit(sandbox: &Sandbox, request: &EditFile) -> Result<Edited, Error> {
    let (prepared, diff) = prepare(sandbox, request)?;
    let etag = match &prepared.old {
        Some(old) if request.dry_run => old.etag(),
        _ => prepared.put(sandbox)?,
    };
    Ok(Edited { diff, etag })
}

/// What the file will be, and the diff; nothing is changed yet.
pub(super) fn prepare(sandbox: &Sandbox, request: &EditFile) -> Result<(Prepared, String), Error> {
    let path = request.path.as_str();
    let place = sandbox.place(path)?;
    if place.found.is_none() {
        return Err(near_names::not_found(sandbox, path));
    }
    let mut old = Old::open(&place, path, request.if_match.as_deref())?;
    let bytes = read(&mut old.file, path)?;
    let named = request.encoding.as_deref().map(Charset::named).transpose()?;
    let (before, after) = apply(bytes, path, &request.edits, named)?;
    let diff = diff(path, &before, &after.text);
    let path = path.to_owned();
    Ok((Prepared { path, place, old: Some(old), like: None, bytes: after.bytes }, diff))
}

/// The text before, and the document after all edits, each made on the result of the one before.
fn apply(
    bytes: Vec<u8>,
    path: &str,
    edits: &[Edit],
    named: Option<Charset>,
) -> Result<(String, Document), Error> {
    let mut document = Document::new(bytes, path, named)?;
    let before = document.text.clone();
    for (index, edit) in edits.iter().enumerate() {
        document.apply(edit).map_err(|error| match error {
            Error::Edit(text) if edits.len() > 1 => {
                Error::Edit(format!("edit {}: {text} No edit was made.", index + 1))
            }
            other => other,
        })?;
    }
    Ok((before, document))
}

pub(super) fn read(file: &mut std::fs::File, path: &str) -> Result<Vec<u8>, Error> {
    let failed = |cause| Error::Read { path: path.to_owned(), cause };
    let too_large = || Error::TooLarge { path: path.to_owned(), max_bytes: MAX_FILE_BYTES };
    if file.metadata().map_err(failed)?.len() > MAX_FILE_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// A file as bytes and as text; an edit changes the same part of both.
struct Document {
    charset: Charset,
    bytes: Vec<u8>,
    text: String,
}

impl Document {
    fn new(bytes: Vec<u8>, path: &str, named: Option<Charset>) -> Result<Self, Error> {
        let not_text = || Error::NotText { path: path.to_owned() };
        let charset = Charset::of(&bytes, named);
        let text = charset.decode(&bytes).ok_or_else(not_text)?;
        let document = Self { charset, bytes, text };
        if document.text.contains('\0') || !document.is_exact() {
            Err(not_text())
        } else {
            Ok(document)
        }
    }

    /// Positions in the text can be found in the bytes only if decoding loses nothing.
    fn is_exact(&self) -> bool {
        self.charset == Charset::UTF_8
            || self.charset.encode(&self.text).is_some_and(|body| {
                self.bytes.strip_prefix(self.charset.bom()) == Some(body.as_slice())
            })
    }

    fn apply(&mut self, edit: &Edit) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::Edit(text));
        if edit.old.is_empty() {
            return refuse("`oldText` is empty; name the text to replace.".to_owned());
        }
        if edit.old == edit.new {
            return refuse("`oldText` and `newText` are the same.".to_owned());
        }
        let old = self.as_found(&edit.old);
        let matches = matching::find(&self.text, &old, &edit.new);
        match matches.len() {
            0 => {
                let hint = near_miss::describe(&self.text, &old)
                    .unwrap_or_else(|| "Nothing like it is in the file; read it again.".to_owned());
                refuse(format!("`oldText` was not found. {hint}"))
            }
            1 => self.splice(&matches),
            _ if edit.replace_all => self.splice(&matches),
            count => {
                let starts = matches.iter().map(|one| line_number(&self.text, one.range.start));
                let lines: Vec<String> = starts.take(10).map(|line| line.to_string()).collect();
                let more = if count > lines.len() { ", \u{2026}" } else { "" };
                refuse(format!(
                    "`oldText` was found {count} times, at lines {}{more}. Add lines around it \
                     until it is the only one, or set `replaceAll`.",
                    lines.join(", ")
                ))
            }
        }
    }

    /// In a file of unknown encoding each byte counts as one character, so the bytes of UTF-8 do.
    fn as_found(&self, old: &str) -> String {
        if self.charset.is_unknown() {
            old.bytes().map(char::from).collect()
        } else {
            old.to_owned()
        }
    }

    /// Puts both together anew from what lies between the matches and what replaces them.
    fn splice(&mut self, matches: &[Match]) -> Result<(), Error> {
        let unencodable =
            || Error::Unencodable { what: "`newText`".to_owned(), encoding: self.charset.name() };
        let encoded = |text: &str| self.charset.encode(text).ok_or_else(unencodable);
        let mut bytes = self.charset.bom().to_vec();
        let mut text = String::with_capacity(self.text.len());
        let (mut text_at, mut byte_at) = (0, bytes.len());
        for Match { range, replacement } in matches {
            if self.charset.is_unknown() && !replacement.is_ascii() {
                return Err(unencodable());
            }
            let between = self.text.get(text_at..range.start).unwrap_or_default();
            let byte_start = byte_at + encoded(between)?.len();
            bytes.extend_from_slice(self.bytes.get(byte_at..byte_start).unwrap_or_default());
            bytes.extend(encoded(replacement)?);
            text.push_str(between);
            text.push_str(replacement);
            byte_at = byte_start + encoded(self.text.get(range.clone()).unwrap_or_default())?.len();
            text_at = range.end;
        }
        bytes.extend_from_slice(self.bytes.get(byte_at..).unwrap_or_default());
        text.push_str(self.text.get(text_at..).unwrap_or_default());
        (self.bytes, self.text) = (bytes, text);
        Ok(())
    }
}

/// Unified, within a budget.
pub(super) fn diff(path: &str, before: &str, after: &str) -> String {
    let mut config = TextDiff::configure();
    let diff = config.timeout(Duration::from_millis(500)).diff_lines(before, after);
    within_budget(diff.unified_diff().header(path, path).to_string())
}

/// Says so if the file is not text.
pub(super) fn diff_bytes(path: &str, before: &[u8], after: &[u8]) -> String {
    let decode = |bytes: &[u8]| Charset::of(bytes, None).decode(bytes);
    let text = |bytes: &[u8]| decode(bytes).filter(|text| !text.contains('\0'));
    match (text(before), text(after)) {
        (Some(before), Some(after)) => diff(path, &before, &after),
        _ => format!("{path} is not text\n"),
    }
}

pub(super) fn within_budget(mut diff: String) -> String {
    if diff.len() > MAX_DIFF_BYTES {
        let end = diff.floor_char_boundary(MAX_DIFF_BYTES);
        let left_out = diff.len() - end;
        diff.truncate(end);
        diff.push_str(&format!("\n[cut: {left_out} more bytes of diff]\n"));
    }
    diff
}
