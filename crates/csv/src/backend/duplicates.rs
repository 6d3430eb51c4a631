//! Finds what repeats in memory that does not depend on how long the repeated things are.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;

use super::oddities::Rows;
use super::reader::TableReader;

/// Compares by 128 bits of hash. The seeds are random, so nobody can prepare two rows that collide.
#[derive(Default)]
pub(super) struct Duplicates {
    seen: HashSet<u128, RandomState>,
    hashing: Fingerprints,
    pub(super) found: Option<Rows>,
    /// Rows compared before memory ran out.
    pub(super) looked_at: Option<u64>,
}

#[derive(Default)]
pub(super) struct Fingerprints([RandomState; 2]);

impl Duplicates {
    /// A hash, a control byte, and room to grow: 64 MiB at most.
    const MAX_ROWS: usize = 1_800_000;

    /// `true` if `part`, which belongs to the current row, is one of those before.
    pub(super) fn look_at(&mut self, part: impl Hash, table: &TableReader) -> bool {
        if self.looked_at.is_some() {
            return false;
        }
        if self.seen.len() == Self::MAX_ROWS {
            self.looked_at = Some(table.rows - 1);
            self.seen = HashSet::default();
            return false;
        }
        let is_new = self.seen.insert(self.hashing.of(part));
        if !is_new {
            Rows::note(&mut self.found, || table.records.line());
        }
        !is_new
    }
}

impl Fingerprints {
    pub(super) fn of(&self, part: impl Hash) -> u128 {
        let Self([left, right]) = self;
        u128::from(left.hash_one(&part)) << 64 | u128::from(right.hash_one(&part))
    }
}
