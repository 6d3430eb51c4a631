//! Writes whole files.

use super::charset::Charset;
use super::error::{Error, explain_write};
use super::replace::{Old, Prepared};
use super::sandbox::Sandbox;

pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: Content,
    /// Refuse if there is a file already.
    pub(crate) create_only: bool,
    /// Refuse if the file no longer has this etag.
    pub(crate) if_match: Option<String>,
}

pub(crate) enum Content {
    /// Written in the encoding the file has.
    Text(String),
    /// Written as they are.
    Bytes(Vec<u8>),
}

pub(crate) struct Written {
    pub(crate) etag: String,
    pub(crate) bytes: u64,
    /// There was no such file before.
    pub(crate) is_new: bool,
}

pub(super) fn write(sandbox: &Sandbox, request: &WriteFile) -> Result<Written, Error> {
    let prepared = prepare(sandbox, request)?;
    let (bytes, is_new) = (prepared.bytes.len() as u64, prepared.old.is_none());
    Ok(Written { etag: prepared.put(sandbox)?, bytes, is_new })
}

/// What the file will be; nothing is changed yet.
pub(super) fn prepare(sandbox: &Sandbox, request: &WriteFile) -> Result<Prepared, Error> {
    let path = request.path.clone();
    if path.ends_with('/') {
        return Err(Error::NotAFile { path });
    }
    let place = sandbox.place(&path).map_err(no_parent)?;
    if place.found.is_none() {
        if request.if_match.is_some() {
            return Err(Error::NotFound { path });
        }
        let bytes = encoded(&request.content, Charset::UTF_8)?;
        return Ok(Prepared { path, place, old: None, like: None, bytes });
    }
    if request.create_only {
        return Err(Error::Exists { path });
    }
    let old = Old::open(&place, &path, request.if_match.as_deref())?;
    let charset = charset_of(&old.file).map_err(|cause| explain_write(cause, &path))?;
    let bytes = encoded(&request.content, charset)?;
    Ok(Prepared { path, place, old: Some(old), like: None, bytes })
}

/// Somebody who creates a file does not want to hear that it does not exist.
pub(super) fn no_parent(error: Error) -> Error {
    match error {
        Error::NotFound { path } => Error::NoParent { path },
        other => other,
    }
}

/// Only a byte order mark tells for sure, and is kept; without one a file is UTF-8 from now on.
fn charset_of(file: &std::fs::File) -> std::io::Result<Charset> {
    use std::os::unix::fs::FileExt;
    let mut start = [0; 3];
    let length = file.read_at(&mut start, 0)?;
    Ok(Charset::of(start.get(..length).unwrap_or_default(), Some(Charset::UTF_8)))
}

fn encoded(content: &Content, charset: Charset) -> Result<Vec<u8>, Error> {
    match content {
        Content::Text(text) => charset.encode_file(text),
        Content::Bytes(bytes) => Ok(bytes.clone()),
    }
}
