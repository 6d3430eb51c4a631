//! Completion: suggesting values for a prompt's or a resource template's argument.

use std::collections::BTreeMap;

/// What the person has typed so far.
#[derive(Debug, Clone, Default)]
pub struct Completing {
    /// The beginning of the value.
    pub value: String,
    /// The arguments already chosen, by name (from 2025-06-18).
    pub arguments: BTreeMap<String, String>,
}

impl Completing {
    /// Those of `candidates` that begin with what was typed.
    pub fn filter<T: AsRef<str>>(&self, candidates: impl IntoIterator<Item = T>) -> Vec<String> {
        let matching =
            candidates.into_iter().filter(|candidate| candidate.as_ref().starts_with(&self.value));
        matching.map(|candidate| candidate.as_ref().to_owned()).collect()
    }
}
