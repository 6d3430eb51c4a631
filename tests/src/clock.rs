//! Time as this process lives it, and the bounds of waiting.
//!
//! A machine may stand still: suspended, frozen with its container, stopped by an operator, or so
//! busy that nobody gets to run. What was due meanwhile could not come, and is not late. So all
//! waiting here is measured by a clock that stands still as well: a thread that sleeps in short
//! steps, of which a step that took long counts as a short one.
//!
//! Two kinds of bounds are kept apart. What must come is waited for as long as [`PATIENCE`]: it
//! costs nothing where it comes. That nothing comes can only be seen by waiting in vain, which
//! every run pays for; a busy machine makes such a check milder, never red.

use std::ops::Add;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant as Wall};

/// The longest anything may take that must come, on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(30);

const STEP: Duration = Duration::from_millis(20);
/// A longer step was no waiting of ours.
const LONGEST_STEP: Duration = Duration::from_millis(200);

/// A moment in the life of this process, some 20 ms exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Instant {
        Instant(Duration::from_micros(lived().load(Ordering::Relaxed)))
    }

    pub fn elapsed(self) -> Duration {
        Instant::now().since(self)
    }

    pub fn since(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    fn left(self) -> Duration {
        self.since(Instant::now())
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

/// The microseconds so far. The first who asks starts the clock.
fn lived() -> &'static AtomicU64 {
    static LIVED: AtomicU64 = AtomicU64::new(0);
    static TICKING: OnceLock<()> = OnceLock::new();
    TICKING.get_or_init(|| {
        thread::spawn(|| {
            loop {
                let begun = Wall::now();
                thread::sleep(STEP);
                let step = begun.elapsed().min(LONGEST_STEP).as_micros();
                LIVED.fetch_add(u64::try_from(step).unwrap_or_default(), Ordering::Relaxed);
            }
        });
    });
    &LIVED
}

/// The next thing on a channel, waited for up to the deadline.
pub fn receive<T>(channel: &Receiver<T>, deadline: Instant) -> Result<T, RecvTimeoutError> {
    loop {
        match channel.recv_timeout(deadline.left()) {
            Err(RecvTimeoutError::Timeout) if !deadline.left().is_zero() => {}
            received => return received,
        }
    }
}

/// What a future comes to; `None` if it does not before the deadline.
pub async fn before<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    loop {
        match tokio::time::timeout(deadline.left(), future.as_mut()).await {
            Ok(value) => return Some(value),
            Err(_) if deadline.left().is_zero() => return None,
            Err(_) => {}
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::mpsc;

    /// Stops this very process, and lets it go on.
    fn stand_still(secs: u32) {
        let id = std::process::id();
        let script = format!("kill -STOP {id}; sleep {secs}; kill -CONT {id}");
        let told = Command::new("sh").args(["-c", &script]).status();
        assert!(told.is_ok_and(|status| status.success()));
    }

    #[test]
    fn what_is_due_while_nothing_runs_is_not_late() {
        let (begun, wall) = (Instant::now(), Wall::now());
        let deadline = begun + Duration::from_secs(2);
        let (sender, channel) = mpsc::channel();
        let waiting = thread::spawn(move || receive(&channel, deadline));
        stand_still(3);
        sender.send("late by every other clock").unwrap();
        assert!(waiting.join().unwrap().is_ok());
        assert!(wall.elapsed() >= Duration::from_secs(3));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }

    #[test]
    fn waiting_ends_in_time() {
        let wall = Wall::now();
        let (_sender, channel) = mpsc::channel::<()>();
        let waited = receive(&channel, Instant::now() + Duration::from_millis(300));
        assert_eq!(waited, Err(RecvTimeoutError::Timeout));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let never =
            before(Instant::now() + Duration::from_millis(300), std::future::pending::<()>());
        assert_eq!(runtime.block_on(never), None);
        assert!(wall.elapsed() >= Duration::from_millis(550), "{:?}", wall.elapsed());
    }
}
