//! The first part, in order, of results that come in any order, in bounded memory: whatever lies
//! behind what an answer can hold is counted and forgotten.

use std::collections::BTreeMap;
use std::ops::Bound;

pub(crate) struct Page<V> {
    kept: BTreeMap<String, (V, usize)>,
    size: PageSize,
    bytes: usize,
    total: u64,
    /// There is more behind this page.
    is_cut: bool,
}

/// What a page may hold, and where it begins.
#[derive(Clone)]
pub(crate) struct PageSize {
    pub(crate) max_items: usize,
    pub(crate) max_bytes: usize,
    pub(crate) start: Bound<String>,
}

impl PageSize {
    fn begins_before(&self, key: &str) -> bool {
        match &self.start {
            Bound::Unbounded => true,
            Bound::Included(start) => key >= start.as_str(),
            Bound::Excluded(start) => key > start.as_str(),
        }
    }
}

impl<V> Page<V> {
    pub(crate) fn new(size: PageSize) -> Self {
        Self { kept: BTreeMap::new(), size, bytes: 0, total: 0, is_cut: false }
    }

    /// Whether a result with this key would be kept.
    pub(crate) fn wants(&self, key: &str) -> bool {
        let has_room = !self.is_cut && !self.is_over();
        self.size.begins_before(key)
            && (has_room || self.kept.last_key_value().is_some_and(|(last, _)| key < last.as_str()))
    }

    /// `bytes` is about what the result takes in memory.
    pub(crate) fn add(&mut self, key: String, value: V, bytes: usize) {
        self.total += 1;
        if self.wants(&key) {
            self.bytes += bytes;
            self.kept.insert(key, (value, bytes));
            self.trim();
        } else {
            self.is_cut |= self.size.begins_before(&key);
        }
    }

    /// Both pages must be of the same size, and no key in both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        // Behind the last of a page that is cut anything may be missing.
        let end = [self.end(), other.end()].into_iter().flatten().min();
        self.kept.extend(other.kept);
        if let Some(end) = end {
            self.kept.retain(|key, _| *key <= end);
        }
        self.bytes = self.kept.values().map(|(_, bytes)| bytes).sum();
        self.total += other.total;
        self.is_cut |= other.is_cut;
        self.trim();
        self
    }

    fn trim(&mut self) {
        while self.is_over() && self.kept.len() > 1 {
            let last = self.kept.pop_last();
            self.bytes -= last.map_or(0, |(_, (_, bytes))| bytes);
            self.is_cut = true;
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether there are more results behind those kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn into_kept(self) -> BTreeMap<String, V> {
        self.kept.into_iter().map(|(key, (value, _))| (key, value)).collect()
    }

    fn end(&self) -> Option<String> {
        self.kept.last_key_value().filter(|_| self.is_cut).map(|(key, _)| key.clone())
    }

    fn is_over(&self) -> bool {
        self.kept.len() > self.size.max_items || self.bytes > self.size.max_bytes
    }
}
