//! The time hyper gives a peer, without what passed while this process stood still.
//!
//! A process that was stopped, or frozen with its container, finds every deadline passed when it
//! goes on, and with it the requests that came meanwhile. Its peers were not late: what is there is
//! read before anybody is sent away.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant as Deadline};

use hyper::rt;
use tokio::time::{Instant, Sleep, sleep_until};

/// Who is woken later than this was not waiting all the time, and waits as long again.
const STOOD_STILL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock;

impl rt::Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        self.sleep_until(Deadline::now() + duration)
    }

    fn sleep_until(&self, deadline: Deadline) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Patience::new(deadline.into()))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: Deadline) {
        match sleep.as_mut().downcast_mut_pin::<Patience>() {
            Some(patience) => patience.get_mut().reset(deadline.into()),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

struct Patience {
    deadline: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl Patience {
    fn new(deadline: Instant) -> Self {
        Self { deadline, sleep: Box::pin(sleep_until(deadline)) }
    }

    fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.sleep.as_mut().reset(deadline);
    }
}

impl Future for Patience {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.sleep.as_mut().poll(context));
        if self.deadline.elapsed() <= STOOD_STILL {
            return Poll::Ready(());
        }
        self.reset(Instant::now() + STOOD_STILL);
        self.sleep.as_mut().poll(context)
    }
}

impl rt::Sleep for Patience {}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};

    use super::*;

    async fn is_over(patience: &mut Pin<Box<Patience>>) -> bool {
        poll_fn(|context| Poll::Ready(patience.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_stopped_waits_on() {
        let minute = Duration::from_secs(60);
        for (slept, right) in [(59, false), (60, true), (61, true), (62, false), (600, false)] {
            let mut patience = Box::pin(Patience::new(Instant::now() + minute));
            assert!(!is_over(&mut patience).await);
            tokio::time::advance(Duration::from_secs(slept)).await;
            assert_eq!(is_over(&mut patience).await, right, "{slept} s");
            if !right {
                tokio::time::advance(STOOD_STILL).await;
                assert!(is_over(&mut patience).await, "{slept} s and another");
            }
        }
    }
}
