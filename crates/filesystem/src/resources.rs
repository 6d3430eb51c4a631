//! What a client can read by URI: the served directories and all below them.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use mcp::{Changes, Completing, Context, Error, Resource, ResourceContents, ResourceResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{self, Backend, Kind, List, Order, Whole};
use crate::tools;

pub(crate) const FILE: &str = "file:///{+path}";

/// A longer file is read in parts, by tools.
const MAX_RESOURCE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_ENTRIES: usize = 1000;
/// A file that is written all the time is told of no more often than this.
const BETWEEN_NOTIFICATIONS: Duration = Duration::from_millis(20);

pub(crate) async fn directories(cx: Context<Backend>) -> ResourceResult<Vec<Resource>> {
    let resource = |served: backend::Served| Resource {
        uri: served.uri,
        name: served.path,
        mime_type: Some("inode/directory".to_owned()),
        ..Resource::default()
    };
    Ok(cx.state.served().into_iter().map(resource).collect())
}

/// A file, or the names in a directory.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct File {
    /// Absolute, without the first slash.
    path: String,
}

pub(crate) async fn file(cx: Context<Backend>, input: File) -> ResourceResult<ResourceContents> {
    let backend = tools::backend(&cx).await?;
    let uri = cx.subject().to_owned();
    cx.blocking(move || read(&backend, &uri, &format!("/{}", input.path))).await
}

fn read(backend: &Backend, uri: &str, path: &str) -> ResourceResult<ResourceContents> {
    let whole = match backend.read_whole(path, MAX_RESOURCE_BYTES) {
        Err(backend::Error::NotAFile { .. }) => return list(backend, uri, path),
        whole => whole.map_err(|error| explain(&error, uri))?,
    };
    let media = match whole {
        Whole::Read(media) => media,
        Whole::TooLong { size_bytes, .. } => {
            return Err(Error::invalid_params(format!(
                "{uri} has {size_bytes} bytes; read parts of it with read_text_file"
            )));
        }
    };
    Ok(match String::from_utf8(media.bytes) {
        Ok(text) if media.mime_type.starts_with("text/") => {
            ResourceContents::text(uri, media.mime_type, text)
        }
        Ok(text) => ResourceContents::blob(uri, media.mime_type, text.as_bytes()),
        Err(error) => ResourceContents::blob(uri, media.mime_type, error.as_bytes()),
    })
}

fn list(backend: &Backend, uri: &str, path: &str) -> ResourceResult<ResourceContents> {
    let request = List {
        path: path.to_owned(),
        order: Order::Name,
        with_details: false,
        skip: 0,
        max_entries: MAX_ENTRIES,
    };
    let listing = backend.list(&request).map_err(|error| explain(&error, uri))?;
    let mut text = String::new();
    for entry in &listing.entries {
        let slash = if entry.kind == Kind::Directory { "/" } else { "" };
        let _infallible = writeln!(text, "{}{slash}", entry.name);
    }
    if listing.total > listing.entries.len() {
        let _infallible = writeln!(text, "[{} entries in all]", listing.total);
    }
    Ok(ResourceContents::text(uri, "inode/directory", text))
}

/// One answer for all that is not there or not for this client, so that nobody can tell which.
fn explain(error: &backend::Error, uri: &str) -> Error {
    match error {
        backend::Error::Read { cause, .. } => Error::internal(cause),
        _ => Error::resource_not_found(uri),
    }
}

pub(crate) async fn complete(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    // A client cannot be asked for its directories while it asks us.
    if cx.state.asks_clients() {
        return Ok(Vec::new());
    }
    let backend = Arc::clone(&cx.state);
    let guess = move || backend.complete(&format!("/{}", typed.value));
    let guesses = cx.blocking(guess).await;
    Ok(guesses.iter().map(|path| path.trim_start_matches('/').to_owned()).collect())
}

/// Tells subscribers what has changed, as long as the server runs.
pub(crate) fn watch(backend: &Backend, changes: Changes) {
    changes.watch(BETWEEN_NOTIFICATIONS, |wake| {
        let mut watch = backend.watch(wake);
        move |uris| watch.changes(uris)
    });
}
