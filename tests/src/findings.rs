//! What passive watching of every connection of one revision has found, by check id.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// More than a few examples of the same fault add nothing.
const EXAMPLES_PER_CHECK: usize = 3;

/// A handle; clones write to the same record.
#[derive(Clone, Default)]
pub struct Findings(Rc<RefCell<Record>>);

#[derive(Default)]
struct Record {
    faults: BTreeMap<&'static str, Vec<String>>,
    judged: BTreeSet<&'static str>,
}

impl Findings {
    /// A message broke the rule `id`.
    pub fn fault(&self, id: &'static str, detail: String) {
        let mut record = self.0.borrow_mut();
        record.judged.insert(id);
        let faults = record.faults.entry(id).or_default();
        if faults.len() < EXAMPLES_PER_CHECK && !faults.contains(&detail) {
            faults.push(detail);
        }
    }

    /// A message came by that the rule `id` applies to.
    pub fn judged(&self, id: &'static str) {
        self.0.borrow_mut().judged.insert(id);
    }

    pub fn faults(&self, id: &str) -> Vec<String> {
        self.0.borrow().faults.get(id).cloned().unwrap_or_default()
    }

    pub fn was_judged(&self, id: &str) -> bool {
        self.0.borrow().judged.contains(id)
    }
}
