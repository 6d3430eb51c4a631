//! Guesses paths from their beginnings.

use rustix::fs::FileType;

use super::entries::entries;
use super::names;
use super::sandbox::{Opened, Sandbox};

/// As many as a client can be told.
const MAX_GUESSES: usize = 100;

pub(super) fn complete(sandbox: &Sandbox, typed: &str) -> Vec<String> {
    let root = |path: String| if path.ends_with('/') { path } else { path + "/" };
    let roots = sandbox.roots().iter().map(|one| root(names::spell_path(one.shown())));
    // Nothing is said about what is outside but the way to the inside.
    let mut guesses: Vec<String> = roots.filter(|root| root.starts_with(typed)).collect();
    if let Some((directory, _)) = typed.rsplit_once('/')
        && guesses.is_empty()
    {
        guesses = below(sandbox, &format!("{directory}/"), typed);
    }
    guesses.sort_unstable();
    guesses.dedup();
    guesses.truncate(MAX_GUESSES);
    guesses
}

fn below(sandbox: &Sandbox, directory: &str, typed: &str) -> Vec<String> {
    let Ok(Opened { file, real }) = sandbox.open_directory(directory) else {
        return Vec::new();
    };
    let hidden = sandbox.hidden();
    let found = entries(&file).unwrap_or_default().into_iter();
    found
        .filter(|entry| !hidden.is_hidden(&real.join(&entry.name)))
        .map(|entry| {
            let slash = if entry.kind == FileType::Directory { "/" } else { "" };
            format!("{directory}{}{slash}", names::spell(&entry.name))
        })
        .filter(|path| path.starts_with(typed))
        .collect()
}
