//! Opens files inside the served directories and nowhere else.
//!
//! There is no check of a path followed by an open, which a renamed link could slip between: the
//! kernel refuses while it opens, and what was opened is then asked whether it is a regular file.

#[cfg(not(unix))]
compile_error!("mcp-csv confines paths with openat; on this platform use cap-std's Dir instead");

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::{Error, listing};

pub(super) struct Sandbox {
    roots: Vec<Root>,
}

struct Root {
    descriptor: OwnedFd,
    /// The spellings under which a caller may name this directory in an absolute path.
    prefixes: [PathBuf; 2],
}

impl Sandbox {
    pub(super) fn open(dirs: &[PathBuf]) -> Result<Self, Error> {
        if dirs.is_empty() {
            return Err(Error::NoDirectory);
        }
        let open = |dir: &PathBuf| {
            open_root(dir).map_err(|cause| Error::Directory { path: dir.clone(), cause })
        };
        Ok(Self { roots: dirs.iter().map(open).collect::<Result<_, _>>()? })
    }

    /// Tries each directory in the order they were given.
    pub(super) fn open_file(&self, path: &str) -> Result<File, Error> {
        let mut failures = Vec::new();
        for root in &self.roots {
            let Some(inner) = root.relative(Path::new(path)) else {
                continue;
            };
            match open_regular(&root.descriptor, inner) {
                Ok(file) => return Ok(file),
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

    /// The files a pattern such as `logs/*.csv` means, sorted; each once.
    pub(super) fn matching(&self, pattern: &str) -> Result<Vec<String>, Error> {
        const BAD: Error =
            Error::Option { text: "`filepath` is no pattern; use *, **, ?, [a-z] or {a,b}" };
        const TOO_MANY: Error = Error::Option {
            text: "the pattern in `filepath` stands for more files than are looked for: 1,000 of 100,000",
        };
        let mut all = Vec::new();
        for root in &self.roots {
            let Some(inner) = root.relative(Path::new(pattern)).and_then(Path::to_str) else {
                continue;
            };
            let glob = GlobBuilder::new(inner).literal_separator(true).build().map_err(|_| BAD)?;
            let matcher = glob.compile_matcher();
            let start = before_pattern(inner);
            let Ok(directory) = open_directory(&root.descriptor, &start) else {
                continue;
            };
            let found = listing::find(&directory, &start, &|path| matcher.is_match(path));
            if found.is_cut_short {
                return Err(TOO_MANY);
            }
            all.extend(found.files);
        }
        all.sort();
        all.dedup();
        if all.is_empty() { Err(Error::NotFound { path: pattern.to_owned() }) } else { Ok(all) }
    }

    /// The directory in which a file is or may come to be, as the system names it, and its name there.
    pub(super) fn directory_of(&self, path: &str) -> Option<(PathBuf, OsString)> {
        let path = Path::new(path);
        let name = path.file_name()?;
        self.roots.iter().find_map(|root| {
            let parent = root.relative(path)?.parent()?;
            let directory = open_directory(&root.descriptor, parent).ok()?;
            Some((real_path(&directory, root, parent)?, name.to_owned()))
        })
    }

    /// A path that two directories have is opened in the first, so it is listed once.
    pub(super) fn tables(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.roots.iter().flat_map(|root| listing::tables(&root.descriptor)).collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Root {
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if path.is_relative() {
            return Some(path);
        }
        self.prefixes.iter().find_map(|prefix| path.strip_prefix(prefix).ok())
    }
}

fn open_root(dir: &Path) -> std::io::Result<Root> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(dir, flags, Mode::empty())?;
    let prefixes = [std::path::absolute(dir)?, dir.canonicalize()?];
    Ok(Root { descriptor, prefixes })
}

/// The directories that a pattern names outright.
fn before_pattern(pattern: &str) -> PathBuf {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let directories = parts.split_last().map_or(&[][..], |(_, directories)| directories);
    directories.iter().take_while(|part| is_plain(part)).collect()
}

fn open_directory(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    if path.as_os_str().is_empty() {
        return root.try_clone().map_err(|_| Errno::MFILE);
    }
    let directory = open_beneath(root, path)?;
    match FileType::from_raw_mode(fstat(&directory)?.st_mode) {
        FileType::Directory => Ok(directory),
        _ => Err(Errno::NOTDIR),
    }
}

#[cfg(target_os = "linux")]
fn real_path(directory: &OwnedFd, _: &Root, _: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()
}

/// Right as it is written, because no link was followed to open it.
#[cfg(not(target_os = "linux"))]
fn real_path(_: &OwnedFd, root: &Root, path: &Path) -> Option<PathBuf> {
    let [_, canonical] = &root.prefixes;
    Some(canonical.join(path))
}

fn open_regular(root: &OwnedFd, path: &Path) -> Result<File, Errno> {
    let file = open_beneath(root, path)?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(Errno::ISDIR),
    }
}

/// Opening a FIFO without a writer, or some devices, would block without `NONBLOCK`.
const OPEN_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_beneath(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, OPEN_FLAGS, Mode::empty(), resolve) {
        // Before Linux 5.6, and under some container filters.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(root, path),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    open_by_steps(root, path)
}

/// Stricter than the kernel's way: no `..` and no link at all, so no step can leave the directory.
fn open_by_steps(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    use std::path::Component;
    let mut components = path.components().filter(|part| *part != Component::CurDir).peekable();
    let mut directory = root.try_clone().map_err(|_| Errno::MFILE)?;
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV);
        };
        let is_last = components.peek().is_none();
        let kind = if is_last { OFlags::empty() } else { OFlags::DIRECTORY };
        let flags = OPEN_FLAGS | OFlags::NOFOLLOW | kind;
        directory = rustix::fs::openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

fn explain(errno: Errno, path: &str) -> Error {
    let path = path.to_owned();
    match errno {
        Errno::XDEV | Errno::LOOP => Error::Outside { path },
        Errno::ISDIR | Errno::NXIO | Errno::NODEV => Error::NotAFile { path },
        Errno::ACCESS | Errno::PERM => Error::Denied { path },
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => {
            Error::NotFound { path }
        }
        other => Error::Read(other.into()),
    }
}

/// The fallback is not reached on the machines that run the tests, so they call it directly.
#[cfg(test)]
pub(crate) fn opens_by_steps(dir: &Path, path: &str) -> bool {
    open_root(dir).is_ok_and(|root| open_by_steps(&root.descriptor, Path::new(path)).is_ok())
}
