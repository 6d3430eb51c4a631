//! Locking that goes on after a panic.
//!
//! What is locked here stays usable if a holder panicked: at worst one message or one entry is
//! half-written, and losing a whole connection over it would be worse.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
