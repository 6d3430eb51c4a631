//! The shape of a directory, level by level, so that a short answer shows the top of everything
//! and not the depths of the first subdirectory.

use std::collections::VecDeque;
use std::path::PathBuf;

use rustix::fs::FileType;

use super::beneath::open_directory;
use super::error::{Error, explain};
use super::filter::{Filter, Ignores};
use super::look::{Kind, kind_of};
use super::sandbox::Sandbox;
use super::{Observer, names};

pub(crate) struct LookAtTree {
    pub(crate) path: String,
    pub(crate) max_depth: usize,
    pub(crate) max_entries: usize,
    pub(crate) exclude: Vec<String>,
    pub(crate) include_ignored: bool,
}

/// A directory of the tree and what is in it.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) entries: Vec<Branch>,
    /// Entries of this directory that are not shown.
    pub(crate) left_out: usize,
    pub(crate) is_unreadable: bool,
}

pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// What is in it; `None` if it is no directory, or one that was not looked into.
    pub(crate) below: Option<Tree>,
}

/// A directory still to be looked into.
struct Pending {
    path: PathBuf,
    ignores: Ignores,
    /// Which entry of which entry it is, from the top.
    position: Vec<usize>,
}

pub(super) fn tree(
    sandbox: &Sandbox,
    request: &LookAtTree,
    observer: &dyn Observer,
) -> Result<Tree, Error> {
    let start = sandbox.open_directory(&request.path)?;
    let filter = Filter::new(sandbox.hidden(), &request.exclude, !request.include_ignored)?;
    let ignores = filter.ignores_above(&start.real);
    let mut room = request.max_entries;
    let mut top = Tree::default();
    let first = Pending { path: PathBuf::new(), ignores, position: Vec::new() };
    let mut pending = VecDeque::from([first]);
    while let Some(Pending { path, ignores, position }) = pending.pop_front() {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let at = start.real.join(&path);
        let scanned = open_directory(&start.file, &path)
            .and_then(|directory| filter.scan(&directory, &at, &path, &ignores));
        let is_top = position.is_empty();
        let Some(tree) = tree_at(&mut top, &position) else {
            continue;
        };
        let (mut found, ignores) = match scanned {
            Ok(scanned) => scanned,
            Err(errno) if is_top => return Err(explain(errno, &request.path)),
            Err(_) => {
                tree.is_unreadable = true;
                continue;
            }
        };
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let shown = found.len().min(room);
        room -= shown;
        tree.left_out = found.len() - shown;
        for (index, entry) in found.into_iter().take(shown).enumerate() {
            let is_directory = entry.kind == FileType::Directory;
            if is_directory && position.len() + 1 < request.max_depth {
                let position = position.iter().copied().chain([index]).collect();
                let path = path.join(&entry.name);
                pending.push_back(Pending { path, ignores: ignores.clone(), position });
            }
            let name = names::spell(&entry.name);
            tree.entries.push(Branch { name, kind: kind_of(entry.kind), below: None });
        }
        observer.progress((request.max_entries - room) as u64, None, "entries");
        if room == 0 {
            break;
        }
    }
    Ok(top)
}

fn tree_at<'a>(top: &'a mut Tree, position: &[usize]) -> Option<&'a mut Tree> {
    position.iter().try_fold(top, |tree, index| {
        Some(tree.entries.get_mut(*index)?.below.get_or_insert_with(Tree::default))
    })
}
