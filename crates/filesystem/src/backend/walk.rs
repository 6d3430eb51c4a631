//! Visits all that is below a directory, on several threads, never through a link: each directory
//! is opened by the kernel from the one where the walk began.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::entries::RawEntry;
use super::filter::{Filter, Ignores};
use super::root::READ;
use super::sandbox::{Opened, kind};
use super::{Observer, beneath};

/// Files of one directory are shared out to the threads in parts of this many.
const FILES_A_JOB: usize = 256;
const ENTRIES_BETWEEN_REPORTS: u64 = 2000;

pub(super) struct Walk<'a> {
    pub(super) start: &'a Opened,
    pub(super) filter: &'a Filter<'a>,
    pub(super) observer: &'a dyn Observer,
}

/// An entry on the way.
pub(super) struct Found<'a> {
    directory: &'a File,
    pub(super) name: &'a OsStr,
    pub(super) kind: FileType,
    /// As seen from where the walk began.
    pub(super) path: PathBuf,
}

impl Found<'_> {
    pub(super) fn stat(&self) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(self.directory, self.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The regular file, if it is still one.
    pub(super) fn open(&self) -> Result<File, Errno> {
        let flags = READ | OFlags::NOFOLLOW;
        let file = openat(self.directory, self.name, flags, Mode::empty())?;
        if kind(&file)? == FileType::RegularFile { Ok(file.into()) } else { Err(Errno::NXIO) }
    }
}

/// One thread's part of the work.
pub(super) trait Visitor: Send {
    fn visit(&mut self, found: &Found);
}

pub(super) struct Walked<V> {
    pub(super) visitors: Vec<V>,
    /// Directories that could not be opened.
    pub(super) unreadable: u64,
    pub(super) is_cancelled: bool,
}

struct Job {
    /// A directory, as seen from where the walk began.
    path: PathBuf,
    ignores: Ignores,
    /// Only these files of it, or else all of it.
    files: Option<(Arc<File>, Vec<RawEntry>)>,
}

impl Walk<'_> {
    pub(super) fn run<V: Visitor>(&self, new_visitor: impl Fn() -> V) -> Walked<V> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
        let ignores = self.filter.ignores_above(&self.start.real);
        let queue = Queue::new(Job { path: PathBuf::new(), ignores, files: None });
        let (visited, unreadable) = (AtomicU64::new(0), AtomicU64::new(0));
        let visitors = std::thread::scope(|scope| {
            let work = |mut visitor: V| {
                while let Some(job) = queue.next(self.observer) {
                    let done = self.work(&job, &mut visitor, &queue, &unreadable);
                    let before = visited.fetch_add(done, Ordering::Relaxed);
                    let after = before + done;
                    if before / ENTRIES_BETWEEN_REPORTS != after / ENTRIES_BETWEEN_REPORTS {
                        self.observer.progress(after, None, "entries");
                    }
                }
                visitor
            };
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let visitor = new_visitor();
                    scope.spawn(move || work(visitor))
                })
                .collect();
            let mut visitors = vec![work(new_visitor())];
            for other in others {
                match other.join() {
                    Ok(visitor) => visitors.push(visitor),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            visitors
        });
        Walked {
            visitors,
            unreadable: unreadable.into_inner(),
            is_cancelled: self.observer.is_cancelled(),
        }
    }

    /// How many entries were visited.
    fn work(
        &self,
        job: &Job,
        visitor: &mut impl Visitor,
        queue: &Queue,
        unreadable: &AtomicU64,
    ) -> u64 {
        let _busy = Busy(queue);
        if let Some((directory, files)) = &job.files {
            return self.visit(directory, &job.path, files, visitor);
        }
        let scanned = self.open(&job.path).and_then(|directory| {
            let at = self.start.real.join(&job.path);
            let (found, ignores) = self.filter.scan(&directory, &at, &job.path, &job.ignores)?;
            Ok((directory, found, ignores))
        });
        let Ok((directory, found, ignores)) = scanned else {
            unreadable.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let directory = Arc::new(directory);
        let new_job = |path: PathBuf, files| Job { path, ignores: ignores.clone(), files };
        for entry in found.iter().filter(|entry| entry.kind == FileType::Directory) {
            queue.push(new_job(job.path.join(&entry.name), None));
        }
        let mut mine = found;
        while mine.len() > FILES_A_JOB {
            let part = mine.split_off(mine.len() - FILES_A_JOB);
            queue.push(new_job(job.path.clone(), Some((Arc::clone(&directory), part))));
        }
        self.visit(&directory, &job.path, &mine, visitor)
    }

    fn visit(
        &self,
        directory: &File,
        path: &Path,
        files: &[RawEntry],
        visitor: &mut impl Visitor,
    ) -> u64 {
        for RawEntry { name, kind } in files {
            if self.observer.is_cancelled() {
                break;
            }
            visitor.visit(&Found { directory, name, kind: *kind, path: path.join(name) });
        }
        files.len() as u64
    }

    fn open(&self, path: &Path) -> Result<File, Errno> {
        beneath::open_directory(&self.start.file, path)
    }
}

/// What is still to be done. The newest first: that keeps the queue short.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    jobs: Vec<Job>,
    /// Threads that may still add jobs.
    busy: usize,
}

/// Counts as busy until it is dropped, even by a panic: the others would wait for ever.
struct Busy<'a>(&'a Queue);

impl Queue {
    fn new(first: Job) -> Self {
        let state = State { jobs: vec![first], busy: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn push(&self, job: Job) {
        self.lock().jobs.push(job);
        self.changed.notify_one();
    }

    /// `None` when all is done, or nobody wants it any more. The caller is busy from now on.
    fn next(&self, observer: &dyn Observer) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if observer.is_cancelled() {
                state.jobs.clear();
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.changed.notify_all();
    }
}
