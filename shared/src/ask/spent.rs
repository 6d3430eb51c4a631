//! States that are good for one retry, where a tool wants that (2026-07-28, server requirements of
//! multi round-trip requests). A sealed state proves that it is ours and not that it is new: this is
//! the one thing about questions a process has to remember.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::error::Error;
use crate::lock::lock;
use crate::seal::digest;

/// Enough for 160 retries a second; each is forgotten when its state expires anyway.
const MAX_SPENT: usize = 100_000;

/// Digests of the states that have come back, with the second each expires.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    states: Mutex<HashMap<String, u64>>,
}

impl Spent {
    /// `false` if the state has come back before.
    ///
    /// # Errors
    /// If so many have that one more cannot be remembered: rather no retry than a second one.
    pub(super) fn spend(&self, state: &str, expires: u64, now: u64) -> Result<bool, Error> {
        let mut states = lock(&self.states);
        if states.len() >= MAX_SPENT {
            states.retain(|_, expires| *expires > now);
            if states.len() >= MAX_SPENT {
                return Err(Error::Refused("Too many calls have been taken up; try again later"));
            }
        }
        Ok(states.insert(digest(state.as_bytes()), expires).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_spent_once_and_only_so_many_are_remembered() {
        let spent = Spent::default();
        assert!(spent.spend("a", 20, 10).unwrap());
        assert!(!spent.spend("a", 20, 10).unwrap());
        assert!(spent.spend("b", 20, 10).unwrap());
        for number in 2..MAX_SPENT {
            assert!(spent.spend(&number.to_string(), 30, 10).unwrap());
        }
        // Two of them have expired, then none has.
        assert!(spent.spend("c", 30, 20).unwrap());
        assert!(spent.spend("d", 30, 20).unwrap());
        assert!(spent.spend("e", 30, 20).is_err());
        assert_eq!(lock(&spent.states).len(), MAX_SPENT);
    }
}
