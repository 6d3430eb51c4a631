//! The calls that run, and the last of those that have ended, each for its owner alone.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::job::Job;

/// Ended calls of one owner whose output can still be read.
const MAX_ENDED: usize = 32;
/// And of all owners together.
const MAX_ENDED_OF_ALL: usize = 128;
/// Of a name nobody can guess.
const NAME_BYTES: usize = 12;

/// Whose a job is. Nobody else can see it, read it or end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// In any of its sessions.
    Principal(String),
    Session(u64),
    /// Whoever knows its name. It is not listed.
    Bearer,
}

#[derive(Debug, Default)]
pub(super) struct Jobs {
    last: AtomicU64,
    /// By age.
    known: Mutex<BTreeMap<u64, Arc<Job>>>,
}

impl Jobs {
    /// Short where the owner is known from elsewhere, for a model has to repeat it.
    pub(super) fn new_id(&self, owner: &Owner) -> io::Result<String> {
        if *owner != Owner::Bearer {
            return Ok((self.last.fetch_add(1, Ordering::Relaxed) + 1).to_string());
        }
        let mut bytes = [0; NAME_BYTES];
        orion::util::secure_rand_bytes(&mut bytes)
            .map_err(|_| io::Error::other("no random numbers"))?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) fn add(&self, job: &Arc<Job>) {
        let mut known = self.lock();
        let age = known.keys().next_back().map_or(0, |last| last + 1);
        known.insert(age, Arc::clone(job));
        forget(&mut known, MAX_ENDED, |other| other.owner == job.owner);
        forget(&mut known, MAX_ENDED_OF_ALL, |_| true);
    }

    pub(super) fn get(&self, id: &str, owner: &Owner) -> Option<Arc<Job>> {
        self.lock().values().find(|job| job.id == id && job.owner == *owner).cloned()
    }

    /// Oldest first. Of those that belong to whoever knows their names, none.
    pub(super) fn of(&self, owner: &Owner) -> Vec<Arc<Job>> {
        if *owner == Owner::Bearer {
            return Vec::new();
        }
        self.lock().values().filter(|job| job.owner == *owner).cloned().collect()
    }

    /// Stops those that run, and forgets them all.
    pub(super) fn end(&self, owner: &Owner) {
        self.lock().retain(|_, job| {
            let is_its_own = job.owner == *owner;
            if is_its_own {
                job.stop();
            }
            !is_its_own
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Job>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts as waiting until it is dropped.
pub(super) struct Waiting<'a> {
    count: &'a AtomicUsize,
    pub(super) before: usize,
}

impl<'a> Waiting<'a> {
    pub(super) fn enter(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Keeps the youngest `most` of the ended jobs that `count`.
fn forget(known: &mut BTreeMap<u64, Arc<Job>>, most: usize, count: impl Fn(&Job) -> bool) {
    let ended = known.iter().filter(|(_, job)| count(job) && job.end().is_some());
    let ended: Vec<u64> = ended.map(|(age, _)| *age).collect();
    let too_many = ended.len().saturating_sub(most);
    for age in ended.iter().take(too_many) {
        known.remove(age);
    }
}

/// A command line for people; no program reads it.
pub(super) fn title(commands: &[(String, Vec<String>)]) -> String {
    const MAX_CHARS: usize = 200;
    let commands = commands.iter().map(|(command, args)| {
        let words = std::iter::once(command).chain(args);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    });
    let title = commands.collect::<Vec<_>>().join(" | ");
    title.chars().take(MAX_CHARS).collect()
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("{word:?}") }
}
