//! Opens files inside the served directories and nowhere else.
//!
//! There is no check of a path followed by an open, which a renamed link could slip between: the
//! kernel refuses while it opens, and what was opened is then asked what it is and where it lies.

#[cfg(not(target_os = "linux"))]
compile_error!("mcp-filesystem confines paths with openat2; elsewhere use cap-std's Dir instead");

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlink};
use rustix::io::Errno;

use super::Error;

pub(super) struct Sandbox {
    roots: Vec<Root>,
    deny: GlobSet,
}

/// Something opened, and where it really lies below its root.
pub(super) struct Opened {
    pub(super) file: File,
    inner: PathBuf,
    deny: GlobSet,
}

impl Opened {
    /// Whether an entry of this directory is kept from sight.
    pub(super) fn hides(&self, name: &Path) -> bool {
        is_denied(&self.deny, &self.inner.join(name))
    }
}

struct Root {
    descriptor: OwnedFd,
    /// The spellings under which a caller may name this directory in an absolute path.
    prefixes: [PathBuf; 2],
}

impl Sandbox {
    pub(super) fn open(dirs: &[PathBuf], deny: &[String]) -> Result<Self, Error> {
        let open = |dir: &PathBuf| {
            open_root(dir).map_err(|cause| Error::Directory { path: dir.clone(), cause })
        };
        Ok(Self { roots: dirs.iter().map(open).collect::<Result<_, _>>()?, deny: globs(deny)? })
    }

    pub(super) fn directories(&self) -> Vec<String> {
        let shown = |root: &Root| root.prefixes[0].to_string_lossy().into_owned();
        self.roots.iter().map(shown).collect()
    }

    pub(super) fn open_file(&self, path: &str) -> Result<File, Error> {
        let opened = self.open_any(path)?;
        match kind(&opened.file) {
            Ok(FileType::RegularFile) => Ok(opened.file),
            Ok(_) => Err(Error::NotAFile { path: path.to_owned() }),
            Err(errno) => Err(explain(errno, path)),
        }
    }

    /// A regular file or a directory. Tries each served directory in the order they were given.
    pub(super) fn open_any(&self, path: &str) -> Result<Opened, Error> {
        let mut failures = Vec::new();
        for root in &self.roots {
            let Some(inner) = root.relative(Path::new(path)) else {
                continue;
            };
            // Before opening, so that the answer does not tell whether the file exists.
            if is_denied(&self.deny, inner) {
                return Err(Error::Denied { path: path.to_owned() });
            }
            match self.open_in(root, inner) {
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

    fn open_in(&self, root: &Root, inner: &Path) -> Result<Opened, Errno> {
        let file = open_beneath(root, inner)?;
        if !matches!(kind(&file)?, FileType::RegularFile | FileType::Directory) {
            return Err(Errno::NXIO);
        }
        let inner = root.real(&file)?;
        if is_denied(&self.deny, &inner) {
            return Err(Errno::ACCESS);
        }
        Ok(Opened { file: File::from(file), inner, deny: self.deny.clone() })
    }
}

impl Root {
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if path.is_relative() {
            return Some(path);
        }
        let inner = self.prefixes.iter().find_map(|prefix| path.strip_prefix(prefix).ok())?;
        Some(if inner.as_os_str().is_empty() { Path::new(".") } else { inner })
    }

    /// Where the opened file lies whatever links led to it, for `--deny`.
    fn real(&self, file: &OwnedFd) -> Result<PathBuf, Errno> {
        let inner = real_path(file)?;
        inner
            .strip_prefix(real_path(&self.descriptor)?)
            .map(Path::to_owned)
            .map_err(|_| Errno::XDEV)
    }
}

fn real_path(file: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let target = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
}

fn open_root(dir: &Path) -> std::io::Result<Root> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(dir, flags, Mode::empty())?;
    let prefixes = [std::path::absolute(dir)?, dir.canonicalize()?];
    Ok(Root { descriptor, prefixes })
}

/// Opening a FIFO without a writer, or some devices, would block without `NONBLOCK`.
fn open_beneath(root: &Root, inner: &Path) -> Result<OwnedFd, Errno> {
    const MAX_TRIES: u32 = 16;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 1..MAX_TRIES {
        match openat2(&root.descriptor, inner, flags, Mode::empty(), resolve) {
            // Something was renamed while the kernel walked a `..`.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

fn kind(file: impl AsFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}

fn is_denied(deny: &GlobSet, inner: &Path) -> bool {
    !deny.is_empty() && inner.ancestors().any(|path| deny.is_match(path))
}

fn globs(texts: &[String]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let wrong = |error: globset::Error| Error::Glob {
            glob: text.clone(),
            reason: error.kind().to_string(),
        };
        let anywhere = if text.contains('/') { text.clone() } else { format!("**/{text}") };
        set.add(GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(|error| Error::Glob {
        glob: texts.join(" --deny "),
        reason: error.kind().to_string(),
    })
}

pub(super) fn explain(errno: Errno, path: &str) -> Error {
    let path = path.to_owned();
    match errno {
        Errno::XDEV | Errno::LOOP => Error::Outside { path },
        Errno::NXIO | Errno::NODEV => Error::NotAFile { path },
        Errno::ACCESS | Errno::PERM => Error::Denied { path },
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => {
            Error::NotFound { path }
        }
        other => Error::Read { path, cause: other.into() },
    }
}
