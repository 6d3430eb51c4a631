//! Opens files inside the served directories and nowhere else.
//!
//! There is no check of a path followed by an open, which a renamed link could slip between: it is
//! refused while it is opened, and what was opened is then asked whether it is a regular file.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::system::{self, Directory};
use super::{Error, listing};

pub(super) struct Sandbox {
    roots: Vec<Root>,
}

struct Root {
    directory: Directory,
    /// The spellings under which a caller may name this directory in an absolute path.
    prefixes: [PathBuf; 2],
}

/// Why something is not opened.
pub(super) enum Refusal {
    Missing,
    Outside,
    NotAFile,
    Denied,
    Failed(io::Error),
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
            match system::open_regular(&root.directory, inner) {
                Ok(file) => return Ok(file),
                Err(refusal) => failures.push(refusal),
            }
        }
        let telling = failures.into_iter().max_by_key(|refusal| match refusal {
            Refusal::Missing => 0,
            Refusal::Outside => 1,
            _ => 2,
        });
        Err(explain(telling.unwrap_or(Refusal::Outside), path))
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
            let inner = system::with_slashes(inner);
            let glob = GlobBuilder::new(&inner).literal_separator(true).build().map_err(|_| BAD)?;
            let matcher = glob.compile_matcher();
            let start = before_pattern(&inner);
            let Ok(directory) = system::open_directory(&root.directory, Path::new(&start)) else {
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
            let [_, canonical] = &root.prefixes;
            let directory = system::real_path(&root.directory, canonical, parent)?;
            Some((directory, name.to_owned()))
        })
    }

    /// A path that two directories have is opened in the first, so it is listed once.
    pub(super) fn tables(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.roots.iter().flat_map(|root| listing::tables(&root.directory)).collect();
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

fn open_root(dir: &Path) -> io::Result<Root> {
    let directory = system::open_root(dir)?;
    Ok(Root { directory, prefixes: [std::path::absolute(dir)?, system::canonicalize(dir)?] })
}

/// The directories that a pattern names outright.
fn before_pattern(pattern: &str) -> String {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let directories = parts.split_last().map_or(&[][..], |(_, directories)| directories);
    let plain: Vec<&str> = directories.iter().copied().take_while(is_plain).collect();
    plain.join("/")
}

fn explain(refusal: Refusal, path: &str) -> Error {
    let path = path.to_owned();
    match refusal {
        Refusal::Missing => Error::NotFound { path },
        Refusal::Outside => Error::Outside { path },
        Refusal::NotAFile => Error::NotAFile { path },
        Refusal::Denied => Error::Denied { path },
        Refusal::Failed(cause) => Error::Read(cause),
    }
}
