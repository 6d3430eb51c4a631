//! The directories one has to watch to hear of every change of what a path means.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, OFlags};

use super::names;
use super::root::READ;
use super::sandbox::{Sandbox, kind};

/// An open directory, and what of it matters.
pub(super) struct Step {
    pub(super) directory: File,
    /// Where that is, absolute and without links.
    pub(super) real: PathBuf,
    pub(super) matters: Matters,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matters {
    /// Whether this entry is still the one it was: the path goes on below it.
    Way(OsString),
    /// This entry and its contents: the path ends there.
    End(OsString),
    /// Which entries there are: the path means this directory.
    Entries,
}

/// Follows the path as it is spelled, and where it leads. Ends where there is nothing yet.
pub(super) fn trail(sandbox: &Sandbox, path: &Path) -> Vec<Step> {
    let mut steps = spelled(sandbox, path);
    let Ok(opened) = sandbox.open_any(&names::spell_path(path)) else {
        return steps;
    };
    if opened.real != path {
        steps.extend(spelled(sandbox, &opened.real));
    }
    if kind(&opened.file) == Ok(FileType::Directory) {
        steps.push(Step { directory: opened.file, real: opened.real, matters: Matters::Entries });
    }
    steps
}

fn spelled(sandbox: &Sandbox, path: &Path) -> Vec<Step> {
    let steps = sandbox.in_each_root(&names::spell_path(path), |root, inner| {
        let mut steps = Vec::new();
        let mut way = PathBuf::from(".");
        let mut components = inner.components();
        while let Some(component) = components.next() {
            let Component::Normal(name) = component else {
                way.push(component);
                continue;
            };
            let Ok((directory, real)) = sandbox.open_in(root, &way, READ | OFlags::DIRECTORY)
            else {
                break;
            };
            let is_end = components.as_path().as_os_str().is_empty();
            let name = name.to_owned();
            way.push(&name);
            let matters = if is_end { Matters::End(name) } else { Matters::Way(name) };
            steps.push(Step { directory: directory.into(), real, matters });
        }
        Ok(steps)
    });
    steps.unwrap_or_default()
}
