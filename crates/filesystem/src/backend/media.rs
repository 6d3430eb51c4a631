//! Files as they are, and what kind of file the bytes say they are.

use std::fs::File;
use std::io::Read;

use super::error::Error;
use super::etag;

pub(crate) struct Media {
    pub(crate) bytes: Vec<u8>,
    /// From the first bytes, never from the name.
    pub(crate) mime_type: &'static str,
    pub(crate) etag: String,
}

/// A file, unless it is too long.
pub(crate) enum Whole {
    Read(Media),
    TooLong { size_bytes: u64, mime_type: &'static str },
}

pub(super) fn read(mut file: File, path: &str, max_bytes: u64) -> Result<Whole, Error> {
    let failed = |cause| Error::Read { path: path.to_owned(), cause };
    let etag = etag::of_file(&file).map_err(failed)?;
    let mut bytes = Vec::new();
    // The size a file says it has is not always true.
    (&mut file).take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    let mime_type = mime_type(&bytes);
    if bytes.len() as u64 > max_bytes {
        let size_bytes = file.metadata().map_err(failed)?.len();
        return Ok(Whole::TooLong { size_bytes, mime_type });
    }
    Ok(Whole::Read(Media { bytes, mime_type, etag }))
}

fn mime_type(bytes: &[u8]) -> &'static str {
    if let Some(kind) = infer::get(bytes) {
        return kind.mime_type();
    }
    let is_text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    if is_text { "text/plain" } else { "application/octet-stream" }
}
