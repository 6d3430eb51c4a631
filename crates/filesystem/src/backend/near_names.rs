//! What to do when a name is not there: it may be stored in another form that looks the same, or
//! be one of the names most like it.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization;

use super::beneath::LOOK;
use super::entries::entries;
use super::error::Error;
use super::names;
use super::root::{READ, Root};
use super::sandbox::Sandbox;

/// More are not compared.
const MAX_COMPARED: usize = 5_000;
const MAX_NEAR: usize = 3;
/// From 0, nothing alike, to 1, the same.
const LEAST_SIMILARITY: f32 = 0.6;

/// The path with each name as it is stored, where exactly one stored name looks the same: letters
/// and their accents may be one character or several, and blanks of several widths.
pub(super) fn as_stored(sandbox: &Sandbox, path: &str) -> Option<String> {
    if path.is_ascii() && !path.contains(' ') {
        return None;
    }
    let stored = sandbox.in_each_root(path, |root, inner| {
        let mut stored = PathBuf::from(".");
        for component in inner.components() {
            let Component::Normal(name) = component else {
                stored.push(component);
                continue;
            };
            if exists(sandbox, root, &stored.join(name))? {
                stored.push(name);
                continue;
            }
            let form = plain_form(name);
            let mut alike = siblings(sandbox, root, &stored)?;
            alike.retain(|sibling| plain_form(sibling) == form);
            match alike.as_slice() {
                [one] => stored.push(one),
                _ => return Err(Errno::NOENT),
            }
        }
        Ok(root.shown().join(stored))
    });
    stored.ok().map(|stored| names::spell_path(&stored))
}

/// Says that a path is not there, and what there is instead.
pub(super) fn not_found(sandbox: &Sandbox, path: &str) -> Error {
    if let Some(posix) = from_windows(path) {
        return Error::WindowsPath { path: path.to_owned(), posix };
    }
    let near = sandbox.in_each_root(path, |root, inner| nearest(sandbox, root, inner));
    match near {
        Ok(near) if !near.is_empty() => {
            let shown: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
            Error::NotFoundBut { path: path.to_owned(), near: shown.join(" or ") }
        }
        _ => Error::NotFound { path: path.to_owned() },
    }
}

/// Paths like `inner`, with another name in place of the first that is missing.
fn nearest(sandbox: &Sandbox, root: &Root, inner: &Path) -> Result<Vec<String>, Errno> {
    let mut above = PathBuf::new();
    for component in inner.components() {
        let next = above.join(component);
        if exists(sandbox, root, &next)? {
            above = next;
            continue;
        }
        let start = if above.as_os_str().is_empty() { Path::new(".") } else { &above };
        let siblings = siblings(sandbox, root, start)?;
        let spelled: Vec<String> =
            siblings.iter().take(MAX_COMPARED).map(|name| names::spell(name)).collect();
        let wanted = names::spell(component.as_os_str());
        let choice: Vec<&str> = spelled.iter().map(String::as_str).collect();
        let near = similar::get_close_matches(wanted.as_str(), &choice, MAX_NEAR, LEAST_SIMILARITY);
        let below = |name: &str| names::spell_path(&above.join(names::parse(name)));
        return Ok(near.into_iter().map(below).collect());
    }
    Err(Errno::NOENT)
}

fn exists(sandbox: &Sandbox, root: &Root, inner: &Path) -> Result<bool, Errno> {
    match sandbox.open_in(root, inner, LOOK) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// The names in a directory that are not kept from sight.
fn siblings(sandbox: &Sandbox, root: &Root, inner: &Path) -> Result<Vec<OsString>, Errno> {
    let (directory, real) = sandbox.open_in(root, inner, READ | OFlags::DIRECTORY)?;
    let found = entries(&directory)?.into_iter().map(|entry| entry.name);
    Ok(found.filter(|name| !sandbox.hides(&real.join(name))).collect())
}

/// The same for all names that look the same; `None` for one that is not text.
fn plain_form(name: &OsStr) -> Option<String> {
    Some(name.to_str()?.nfkc().collect())
}

/// How somebody who thinks in drives would have to write it here.
fn from_windows(path: &str) -> Option<String> {
    let is_drive =
        matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    if is_drive {
        return path.get(3..).map(|rest| rest.replace('\\', "/"));
    }
    path.strip_prefix("\\\\").map(|rest| rest.replace('\\', "/"))
}
