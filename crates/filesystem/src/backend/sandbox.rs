//! Opens files inside the served directories and nowhere else.
//!
//! There is no check of a path followed by an open, which a renamed link could slip between: the
//! kernel refuses while it opens, and what was opened is then asked what it is and where it lies.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;
use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use super::error::{Error, explain};
use super::hidden::{Hidden, globs};
use super::journal::is_journal;
use super::root::{Access, READ, Root, open_root};
use super::{beneath, names, near_names, wall};

#[derive(Clone)]
pub(super) struct Sandbox {
    /// What may be opened now.
    roots: Vec<Arc<Root>>,
    bounds: Arc<Bounds>,
}

/// What the operator said, which nobody can widen.
struct Bounds {
    served: Vec<Arc<Root>>,
    deny: GlobSet,
}

/// Something opened for reading.
pub(super) struct Opened {
    pub(super) file: File,
    /// Where it lies, absolute and without links.
    pub(super) real: PathBuf,
}

/// A name in an open directory: where something is, or may be put.
pub(super) struct Place {
    pub(super) directory: File,
    pub(super) name: OsString,
    /// Where that is, absolute and without links.
    pub(super) real: PathBuf,
    /// What has the name now; a link is not followed.
    pub(super) found: Option<Stat>,
}

impl Sandbox {
    pub(super) fn open(dirs: &[(PathBuf, Access)], deny: &[String]) -> Result<Self, Error> {
        let open = |(dir, access): &(PathBuf, Access)| {
            open_root(dir, *access)
                .map(Arc::new)
                .map_err(|cause| Error::Directory { path: dir.clone(), cause })
        };
        let served: Vec<_> = dirs.iter().map(open).collect::<Result<_, _>>()?;
        let bounds = Bounds { served: served.clone(), deny: globs(deny, &served)? };
        Ok(Self { roots: served, bounds: Arc::new(bounds) })
    }

    /// Only what is served and also in one of `dirs`, which are absolute.
    pub(super) fn narrowed(&self, dirs: &[PathBuf]) -> Self {
        wall::stand_behind();
        let mut roots = Vec::new();
        for dir in dirs {
            for root in &self.roots {
                if root.is_in(dir) {
                    roots.push(Arc::clone(root));
                } else if let Some(inner) = root.relative(dir)
                    && let Ok((opened, real)) = self.open_in(root, inner, READ | OFlags::DIRECTORY)
                {
                    roots.push(Arc::new(root.narrowed(opened, dir, real)));
                }
            }
        }
        Self { roots, bounds: Arc::clone(&self.bounds) }
    }

    pub(super) fn roots(&self) -> &[Arc<Root>] {
        &self.roots
    }

    pub(super) fn open_file(&self, path: &str) -> Result<Opened, Error> {
        let opened = self.open_any(path)?;
        match kind(&opened.file) {
            Ok(FileType::RegularFile) => Ok(opened),
            Ok(_) => Err(Error::NotAFile { path: path.to_owned() }),
            Err(errno) => Err(explain(errno, path)),
        }
    }

    /// A regular file or a directory. Tries each served directory in the order they were given.
    pub(super) fn open_any(&self, path: &str) -> Result<Opened, Error> {
        let opened = self.or_as_stored(path, |root, inner| {
            let (file, real) = self.open_in(root, inner, READ)?;
            match kind(&file)? {
                FileType::RegularFile | FileType::Directory => {
                    Ok(Opened { file: File::from(file), real })
                }
                _ => Err(Errno::NXIO),
            }
        });
        opened.map_err(|error| match error {
            Error::NotFound { path } => near_names::not_found(self, &path),
            other => other,
        })
    }

    /// The file behind `path` if there is one, links followed, or the place where it would be.
    /// Only where writing is allowed.
    pub(super) fn place(&self, path: &str) -> Result<Place, Error> {
        let existing = self.or_as_stored(path, |root, inner| {
            let (target, real) = self.open_in(root, inner, beneath::LOOK)?;
            self.writable(self.place_of(&target, &real)?)
        });
        match existing {
            Err(Error::NotFound { .. }) => {}
            other => return other,
        }
        let place = self.entry(path)?;
        // A link that leads nowhere, or to where it may not: not to be written through.
        if place.found.is_some() {
            Err(Error::Outside { path: path.to_owned() })
        } else {
            Ok(place)
        }
    }

    /// The directory entry called `path`, whether or not it exists, and even if it is a link.
    /// Only where writing is allowed.
    pub(super) fn entry(&self, path: &str) -> Result<Place, Error> {
        let existing = self.or_as_stored(path, |root, inner| {
            let place = self.entry_in(root, inner)?;
            if place.found.is_some() { self.writable(place) } else { Err(Errno::NOENT) }
        });
        match existing {
            Err(Error::NotFound { .. }) => {
                self.in_each_root(path, |root, inner| self.writable(self.entry_in(root, inner)?))
            }
            other => other,
        }
    }

    pub(super) fn open_directory(&self, path: &str) -> Result<Opened, Error> {
        let opened = self.open_any(path)?;
        match kind(&opened.file) {
            Ok(FileType::Directory) => Ok(opened),
            _ => Err(Error::NotADirectory { path: path.to_owned() }),
        }
    }

    /// To ask about many entries, as long as no served directory is moved.
    pub(super) fn hidden(&self) -> Hidden<'_> {
        let served = self.bounds.served.iter();
        let roots = served.filter_map(|root| Some((root.real().ok()?, &**root))).collect();
        Hidden { roots, deny: &self.bounds.deny }
    }

    /// Whether an entry is kept from sight. `real` is absolute and without links.
    pub(super) fn hides(&self, real: &Path) -> bool {
        if real.iter().any(is_journal) {
            return true;
        }
        if self.bounds.deny.is_empty() {
            return false;
        }
        let inner =
            |root: &Arc<Root>| real.strip_prefix(root.real().ok()?).ok().map(Path::to_owned);
        self.bounds
            .served
            .iter()
            .filter_map(inner)
            .any(|inner| inner.ancestors().any(|path| self.bounds.deny.is_match(path)))
    }

    pub(super) fn has_denied(&self) -> bool {
        !self.bounds.deny.is_empty()
    }

    /// The innermost served directory decides.
    pub(super) fn is_writable(&self, real: &Path) -> bool {
        self.served_at(real).is_some_and(|(root, _)| root.access == Access::ReadWrite)
    }

    /// The innermost served directory that holds this, and where it is.
    pub(super) fn served_at(&self, real: &Path) -> Option<(&Root, PathBuf)> {
        let served = self.bounds.served.iter();
        let holding = served.filter_map(|root| Some((&**root, root.real().ok()?)));
        holding
            .filter(|(_, root)| real.starts_with(root))
            .max_by_key(|(_, root)| root.components().count())
    }

    pub(super) fn served(&self) -> &[Arc<Root>] {
        &self.bounds.served
    }

    /// Whether what lies at `real` is a served directory, or holds one.
    pub(super) fn holds_root(&self, real: &Path) -> bool {
        self.bounds.served.iter().any(|root| root.real().is_ok_and(|root| root.starts_with(real)))
    }

    fn writable(&self, place: Place) -> Result<Place, Errno> {
        if self.is_writable(&place.real) { Ok(place) } else { Err(Errno::ROFS) }
    }

    pub(super) fn in_each_root<T>(
        &self,
        path: &str,
        open: impl Fn(&Root, &Path) -> Result<T, Errno>,
    ) -> Result<T, Error> {
        wall::stand_behind();
        let parsed = names::parse(path);
        if path.is_empty() {
            return Err(Error::NotFound { path: String::new() });
        }
        let mut failures = Vec::new();
        for root in &self.roots {
            let Some(inner) = root.relative(&parsed) else {
                continue;
            };
            // Before opening, so that the answer does not tell whether the file exists.
            if self.is_denied(root, inner) {
                return Err(Error::Denied { path: path.to_owned() });
            }
            match open(root, inner) {
                Ok(opened) => return Ok(opened),
                Err(errno) => failures.push(errno),
            }
        }
        let telling = failures.into_iter().max_by_key(|errno| match *errno {
            Errno::NOENT => 0,
            Errno::XDEV => 1,
            _ => 2,
        });
        Err(explain(telling.unwrap_or(Errno::XDEV), path))
    }

    /// As [`Sandbox::in_each_root`]; what is not found is looked for under names that look the same.
    fn or_as_stored<T>(
        &self,
        path: &str,
        open: impl Fn(&Root, &Path) -> Result<T, Errno>,
    ) -> Result<T, Error> {
        match self.in_each_root(path, &open) {
            Err(Error::NotFound { path }) => match near_names::as_stored(self, &path) {
                Some(stored) => self.in_each_root(&stored, open),
                None => Err(Error::NotFound { path }),
            },
            found => found,
        }
    }

    /// Opens, following links as long as they stay, and tells where that is.
    pub(super) fn open_in(
        &self,
        root: &Root,
        inner: &Path,
        flags: OFlags,
    ) -> Result<(OwnedFd, PathBuf), Errno> {
        let (file, real) = self.open_linked(root, inner, flags)?;
        if !self.roots.iter().any(|root| root.real().is_ok_and(|root| real.starts_with(root))) {
            return Err(Errno::XDEV);
        }
        if self.hides(&real) { Err(Errno::ACCESS) } else { Ok((file, real)) }
    }

    /// What is unlinked meanwhile says nothing by its path, so `--deny` could not be asked; what has
    /// replaced it is opened instead.
    fn open_linked(
        &self,
        root: &Root,
        inner: &Path,
        flags: OFlags,
    ) -> Result<(OwnedFd, PathBuf), Errno> {
        const MAX_TRIES: usize = 16;
        for _ in 0..MAX_TRIES {
            let file = match beneath::open(&root.descriptor, inner, flags) {
                Err(Errno::XDEV) => self.through_absolute_links(root, inner, flags)?,
                opened => opened?,
            };
            let real = beneath::real_path(&file)?;
            if fstat(&file)?.st_nlink > 0 {
                return Ok((file, real));
            }
        }
        Err(Errno::NOENT)
    }

    /// The kernel refuses absolute links. One that points into a served directory is as good as
    /// a relative one, so it is rewritten and the kernel asked again.
    fn through_absolute_links(
        &self,
        root: &Root,
        inner: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let (root, inner) = self.without_links(root, inner)?;
        beneath::open(&root.descriptor, &inner, flags)
    }

    fn without_links<'a>(
        &'a self,
        root: &'a Root,
        inner: &Path,
    ) -> Result<(&'a Root, PathBuf), Errno> {
        const MAX_LINKS: usize = 40;
        let (mut root, mut inner) = (root, inner.to_owned());
        for _ in 0..MAX_LINKS {
            let Some((target, link, rest)) = first_link(root, &inner)? else {
                return Ok((root, inner));
            };
            inner = if target.is_absolute() {
                let within = |root: &'a Arc<Root>| Some((root, root.relative(&target)?.to_owned()));
                let (to, within) = self.roots.iter().find_map(within).ok_or(Errno::XDEV)?;
                root = to;
                joined(&within, &rest)
            } else {
                joined(&link.parent().unwrap_or(Path::new("")).join(target), &rest)
            };
        }
        Err(Errno::LOOP)
    }

    /// The name and the directory of something already opened.
    fn place_of(&self, target: &OwnedFd, real: &Path) -> Result<Place, Errno> {
        let within = |root: &Root| real.strip_prefix(root.real().ok()?).ok().map(Path::to_owned);
        let (root, inner) =
            self.roots.iter().find_map(|root| Some((root, within(root)?))).ok_or(Errno::XDEV)?;
        let place = self.entry_in(root, &inner)?;
        let opened = fstat(target)?;
        let is_same = |found: &Stat| (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino);
        if place.found.as_ref().is_some_and(is_same) { Ok(place) } else { Err(Errno::AGAIN) }
    }

    fn entry_in(&self, root: &Root, inner: &Path) -> Result<Place, Errno> {
        let Some(Component::Normal(name)) = inner.components().next_back() else {
            return Err(Errno::ISDIR);
        };
        let parent = inner.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = READ | OFlags::DIRECTORY;
        let (directory, at) = self.open_in(root, parent.unwrap_or(Path::new(".")), flags)?;
        let found = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno),
        };
        let real = at.join(name);
        if self.hides(&real) {
            return Err(Errno::ACCESS);
        }
        Ok(Place { directory: File::from(directory), name: name.to_owned(), real, found })
    }

    /// By the path as it was given; where that leads is asked when it is open.
    fn is_denied(&self, root: &Root, inner: &Path) -> bool {
        let is_match = |path| self.bounds.deny.is_match(path);
        inner.iter().any(is_journal)
            || self.has_denied()
                && (inner.ancestors().any(is_match)
                    || root.real().is_ok_and(|at| self.hides(&at.join(inner))))
    }
}

/// The first link on the way: where it points, where it is, and what comes after it.
fn first_link(root: &Root, inner: &Path) -> Result<Option<(PathBuf, PathBuf, PathBuf)>, Errno> {
    let mut components = inner.components();
    let mut link = PathBuf::new();
    while let Some(component) = components.next() {
        link.push(component);
        if let Some(target) = beneath::link_target(&root.descriptor, &link)? {
            return Ok(Some((target, link, components.as_path().to_owned())));
        }
    }
    Ok(None)
}

/// Without the slash that joining nothing would add.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) }
}

pub(super) fn kind(file: impl AsFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}
