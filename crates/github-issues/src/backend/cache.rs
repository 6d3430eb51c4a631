//! Answers kept with their ETags. GitHub does not count a request it answers with 304.
//!
//! One process has one token and asks for one media type, so the path is key enough. Whoever asks
//! holds the kept answer while they wait, so it cannot be evicted under them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

const MAX_ENTRIES: usize = 256;
const MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) etag: HeaderValue,
    /// For the links to further pages.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<String, Arc<Kept>>,
    /// Oldest first; each key once.
    order: VecDeque<String>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn get(&self, path: &str) -> Option<Arc<Kept>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = inner.entries.get(path).cloned()?;
        inner.order.retain(|key| key != path);
        inner.order.push_back(path.to_owned());
        Some(kept)
    }

    pub(crate) fn put(&self, path: &str, kept: Kept) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.remove(path);
        if kept.body.len() > MAX_BYTES / 4 {
            return;
        }
        inner.bytes += kept.body.len();
        inner.order.push_back(path.to_owned());
        inner.entries.insert(path.to_owned(), Arc::new(kept));
        while inner.bytes > MAX_BYTES || inner.order.len() > MAX_ENTRIES {
            let Some(oldest) = inner.order.front().cloned() else { break };
            inner.remove(&oldest);
        }
    }
}

impl Inner {
    fn remove(&mut self, path: &str) {
        if let Some(kept) = self.entries.remove(path) {
            self.bytes = self.bytes.saturating_sub(kept.body.len());
            self.order.retain(|key| key != path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: usize) -> Kept {
        let etag = HeaderValue::from_static("\"e\"");
        Kept { etag, headers: HeaderMap::new(), body: vec![0; bytes].into() }
    }

    #[test]
    fn it_stays_within_its_bounds_and_forgets_the_oldest() {
        let cache = Cache::default();
        for number in 0..MAX_ENTRIES {
            cache.put(&format!("/{number}"), kept(1));
        }
        assert!(cache.get("/0").is_some());
        cache.put("/new", kept(1));
        assert!(cache.get("/0").is_some() && cache.get("/1").is_none());
        for number in 0..5 {
            cache.put(&format!("/big/{number}"), kept(MAX_BYTES / 4));
        }
        let inner = cache.inner.lock().unwrap();
        assert!(inner.bytes <= MAX_BYTES && inner.order.len() == inner.entries.len());
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let cache = Cache::default();
        cache.put("/a", kept(1));
        cache.put("/a", kept(MAX_BYTES));
        assert!(cache.get("/a").is_none());
    }
}
