//! The calls that run, and the last of those that have ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::job::Job;

/// Ended calls whose output can still be read.
const MAX_ENDED: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Jobs {
    last: AtomicU64,
    known: Mutex<BTreeMap<u64, Arc<Job>>>,
}

impl Jobs {
    pub(super) fn next_id(&self) -> String {
        (self.last.fetch_add(1, Ordering::Relaxed) + 1).to_string()
    }

    pub(super) fn add(&self, job: &Arc<Job>) {
        let mut known = self.lock();
        if let Ok(number) = job.id.parse() {
            known.insert(number, Arc::clone(job));
        }
        let ended = known.iter().filter(|(_, job)| job.end().is_some());
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        let too_many = ended.len().saturating_sub(MAX_ENDED);
        for number in ended.iter().take(too_many) {
            known.remove(number);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().get(&id.parse().ok()?).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Job>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
