//! A panic in a handler is a failure of that one request.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::registry::BoxFuture;

/// A handler's future, or the news that the handler panicked before there was one.
pub(crate) struct Caught<T, E> {
    work: Option<BoxFuture<Result<T, E>>>,
    on_panic: fn() -> E,
}

/// Starts a handler. The default panic hook has told standard error by the time `on_panic` says
/// what the client is told.
pub(crate) fn caught<T, E>(
    start: impl FnOnce() -> BoxFuture<Result<T, E>>,
    on_panic: fn() -> E,
) -> Caught<T, E> {
    // A handler's own state is dropped with it; what it shares is the server author's to guard.
    Caught { work: catch_unwind(AssertUnwindSafe(start)).ok(), on_panic }
}

impl<T, E> Future for Caught<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let on_panic = self.on_panic;
        let Some(work) = &mut self.work else {
            return Poll::Ready(Err(on_panic()));
        };
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(on_panic())))
    }
}
