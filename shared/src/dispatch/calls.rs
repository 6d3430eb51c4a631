//! What is in flight for one peer. Every request that gets here is answered, or cancelled, once.
//!
//! A handler is polled once where it stands: one that needs no waiting is answered at once, in
//! order, without a task. Only one that waits becomes a task and an entry in the table. Whoever
//! takes the entry out, the finished task or a cancellation, decides what the peer gets.

use std::collections::HashMap;
use std::future::{Future, poll_fn, ready};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::reply::ReplyTo;
use crate::answer::{Answer, Outcome};
use crate::call::{Call, Kind};
use crate::changes::Subscriber;
use crate::error::{Error, ToolError};
use crate::jsonrpc::Id;
use crate::limits::Limits;
use crate::lock::lock;
use crate::outbox::{End, Outbox};
use crate::policy::within;
use crate::registry::{BoxFuture, Registry};
use crate::revision::Revision;
use crate::tasks::{Begins, Status, TOO_MANY, Task, Tasks};
use crate::tool::Reply;
use crate::wire;

pub(crate) struct Calls {
    registry: Arc<Registry>,
    table: Mutex<Table>,
    /// Woken when the last call has left the table.
    idle: Notify,
}

#[derive(Default)]
struct Table {
    /// Tells an entry from an earlier one with the same id.
    last_serial: u64,
    calls: HashMap<Id<'static>, InFlight>,
    listens: HashMap<Id<'static>, Listening>,
}

struct Listening {
    subscriber: Arc<Subscriber>,
    /// How many resources and tasks it hears of.
    subjects: usize,
}

struct InFlight {
    serial: u64,
    call: Arc<Call>,
    reply_to: ReplyTo,
    task: AbortHandle,
}

impl Calls {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self { registry, table: Mutex::default(), idle: Notify::new() }
    }

    pub(crate) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        let table = self.lock();
        table.calls.contains_key(id.as_str()) || table.listens.contains_key(id.as_str())
    }

    /// Starts a call: answers it now, or lets it go on as a task.
    pub(crate) fn start(
        self: &Arc<Self>,
        id: Id<'_>,
        call: Arc<Call>,
        mut work: BoxFuture<Outcome>,
        reply_to: ReplyTo,
    ) {
        if self.lock().calls.len() >= self.registry.limits.max_in_flight {
            let busy = "Too many requests in flight; wait for some to finish";
            return self.answer(&id, &call, &reply_to, &Err(Error::Refused(busy)));
        }
        let begins = call.task_plan.as_ref().map(|plan| plan.begins);
        let has_room = || self.registry.tasks.has_room(self.registry.limits.max_tasks);
        match begins {
            Some(Begins::AtOnce) => return self.start_task(&id, call, work, &reply_to),
            Some(Begins::Always) if !has_room() => {
                return self.answer(&id, &call, &reply_to, &Err(TOO_MANY));
            }
            _ => {}
        }
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(outcome) = poll_call(&call, &mut work, &mut context) {
            if begins == Some(Begins::Always) && matches!(outcome, Ok(Answer::Called(_))) {
                return self.start_task(&id, call, Box::pin(ready(outcome)), &reply_to);
            }
            return self.answer(&id, &call, &reply_to, &outcome);
        }
        if begins.is_some() && has_room() {
            return self.start_task(&id, call, work, &reply_to);
        }
        let mut table = self.lock();
        table.last_serial += 1;
        let serial = table.last_serial;
        let id = id.into_owned();
        let outcome = run(Arc::clone(&call), work, self.registry.limits.call_timeout);
        let task =
            tokio::spawn(Arc::clone(self).finish(id.clone(), serial, outcome)).abort_handle();
        table.calls.insert(id, InFlight { serial, call, reply_to, task });
    }

    /// Answers with a task, and lets the work go on in it.
    fn start_task(
        &self,
        id: &Id<'_>,
        call: Arc<Call>,
        work: BoxFuture<Outcome>,
        reply_to: &ReplyTo,
    ) {
        let Limits { max_tasks, task_ttl, .. } = self.registry.limits;
        let plan = call.task_plan.as_ref();
        let created = plan.map(|plan| self.registry.tasks.create(plan, &call, max_tasks, task_ttl));
        let task = match created {
            Some(Ok(task)) => task,
            Some(Err(error)) => return self.answer(id, &call, reply_to, &Err(error)),
            None => return,
        };
        call.become_task(Arc::clone(&task));
        let created = Ok(Answer::TaskCreated(Arc::clone(&task)));
        let write = |out: &mut Vec<u8>| {
            wire::write_outcome(out, &self.registry, call.revision, id, &created);
        };
        if call.revision.is_stateless() {
            reply_to.finish(&call, End::Answered(200), write);
        } else {
            // Its progress may still be told (2025-11-25).
            reply_to.answer(200, write);
        }
        let working = run_task(call, work, Arc::clone(&task), Arc::clone(&self.registry));
        Tasks::attach(&task, tokio::spawn(working).abort_handle());
    }

    async fn finish(
        self: Arc<Self>,
        id: Id<'static>,
        serial: u64,
        outcome: impl Future<Output = Outcome>,
    ) {
        let outcome = outcome.await;
        let mut table = self.lock();
        if table.calls.get(&id).is_none_or(|entry| entry.serial != serial) {
            return;
        }
        if let Some(entry) = table.calls.remove(&id) {
            // Under the lock, so that a cancellation comes either before the answer or too late.
            self.answer(&id, &entry.call, &entry.reply_to, &outcome);
        }
        self.notify_if_idle(&table);
    }

    fn answer(&self, id: &Id<'_>, call: &Call, reply_to: &ReplyTo, outcome: &Outcome) {
        if let Err(Error::Internal(cause)) = outcome {
            call.span().in_scope(|| tracing::error!(cause, "a request failed"));
        }
        let mut bytes_out = 0;
        let write = |out: &mut Vec<u8>| {
            let before = out.len();
            wire::write_outcome(out, &self.registry, call.revision, id, outcome);
            bytes_out = out.len() - before;
        };
        let end = End::Answered(wire::http_status(call.revision, outcome));
        reply_to.finish(call, end, write);
        call.record(word_for(outcome), bytes_out);
    }

    /// Ends a call or a listen stream at the client's wish. Unknown and finished ids are ignored:
    /// the cancellation and the answer may have passed each other.
    pub(crate) fn cancel(&self, id: &Id<'_>) {
        let mut table = self.lock();
        table.listens.remove(id.as_str());
        if let Some(entry) = table.calls.remove(id.as_str()) {
            entry.cancel();
            self.notify_if_idle(&table);
        }
    }

    /// Cancels all calls, without answers.
    pub(crate) fn cancel_all(&self) {
        let mut table = self.lock();
        table.calls.drain().for_each(|(_, entry)| entry.cancel());
        self.notify_if_idle(&table);
    }

    /// Opens a listen stream; `subjects` is how many resources and tasks it hears of. The limit is
    /// of all streams together.
    pub(crate) fn listen(
        &self,
        id: Id<'static>,
        subscriber: Arc<Subscriber>,
        subjects: usize,
    ) -> Result<(), Error> {
        let mut table = self.lock();
        let most = self.registry.limits.max_subscriptions;
        let others: usize = table.listens.values().map(|other| other.subjects).sum();
        if table.listens.len() >= most || others + subjects > most {
            return Err(Error::Refused("Too many subscriptions; end some first"));
        }
        table.listens.insert(id, Listening { subscriber, subjects });
        Ok(())
    }

    /// Tells each listen stream what has changed.
    pub(crate) fn flush_listens(&self, outbox: &Outbox) {
        for (id, listening) in &self.lock().listens {
            let changes = listening.subscriber.take_pending();
            if !changes.is_empty() {
                outbox.push(|out| wire::write_changes(out, &changes, Some(id)));
            }
            for task in changes.tasks.iter().filter_map(|task| self.registry.tasks.known(task)) {
                outbox.push(|out| wire::write_task(out, &self.registry, &task, id));
            }
        }
    }

    /// Ends all listen streams from our side. For stdio the specification names two ways, the
    /// notification and the result; clients that wait for either get it and ignore the other.
    pub(crate) fn end_listens(&self, outbox: &Outbox, over_http: bool) {
        for (id, _) in self.lock().listens.drain() {
            outbox.finish(End::Answered(200), |out| {
                if !over_http {
                    wire::write_listen_cancelled(out, &id);
                }
                let ended = Ok(Answer::ListenEnded);
                wire::write_outcome(out, &self.registry, Revision::V2026_07_28, &id, &ended);
            });
        }
    }

    #[cfg(feature = "http")]
    pub(crate) fn any(&self) -> bool {
        !self.lock().calls.is_empty()
    }

    /// Waits until no call is in flight.
    pub(crate) async fn idle(&self) {
        while !self.lock().calls.is_empty() {
            self.idle.notified().await;
        }
    }

    fn notify_if_idle(&self, table: &Table) {
        if table.calls.is_empty() {
            self.idle.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

/// The rest of a call that has to wait, within the time it has.
async fn run(call: Arc<Call>, mut work: BoxFuture<Outcome>, timeout: Duration) -> Outcome {
    let outcome = poll_fn(|context| poll_call(&call, &mut work, context));
    if let Some(outcome) = within(timeout, &call, outcome).await {
        return outcome;
    }
    call.cancel();
    call.span().in_scope(|| tracing::warn!("stopped after {} s", timeout.as_secs()));
    let late =
        format!("Stopped after {} s, the longest this server lets a call run.", timeout.as_secs());
    match call.kind {
        Kind::Tool => Ok(Answer::Called(Reply::from(ToolError::new(late)))),
        _ => Err(Error::TimedOut(late)),
    }
}

/// The work of a task, within the time it has.
async fn run_task(
    call: Arc<Call>,
    work: BoxFuture<Outcome>,
    task: Arc<Task>,
    registry: Arc<Registry>,
) {
    let outcome = run(Arc::clone(&call), work, task.ttl).await;
    if let Err(Error::Internal(cause)) = &outcome {
        call.span().in_scope(|| tracing::error!(cause, "a task failed"));
    }
    // The result is written when it is asked for; only an audit log wants its length before.
    if registry.audit.is_some() {
        let mut bytes = Vec::new();
        wire::write_outcome(&mut bytes, &registry, call.revision, &Id::none(), &outcome);
        call.record(word_for(&outcome), bytes.len());
    }
    let failed = match &outcome {
        Err(_) => true,
        // Only 2026-07-28 tells a tool that failed from a request that did.
        Ok(Answer::Called(reply)) => reply.is_error && !call.revision.is_stateless(),
        Ok(_) => false,
    };
    call.fall_silent();
    task.finish(outcome, if failed { Status::Failed } else { Status::Completed });
}

/// How the audit log calls an outcome.
fn word_for(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(Answer::Called(reply)) if reply.is_error => "tool_error",
        Ok(Answer::InputRequired { .. }) => "input_required",
        Ok(_) => "ok",
        Err(Error::Refused(_) | Error::RateLimited { .. }) => "refused",
        Err(Error::TimedOut(_)) => "timed_out",
        Err(_) => "error",
    }
}

/// A handler that waits for answers which are not here is over for this request. Before it is
/// dropped it is polled once more, so that questions asked side by side go out together.
fn poll_call(
    call: &Call,
    work: &mut BoxFuture<Outcome>,
    context: &mut Context<'_>,
) -> Poll<Outcome> {
    let _entered = call.span().enter();
    let mut polled = work.as_mut().poll(context);
    if polled.is_pending() && call.is_suspended() {
        polled = work.as_mut().poll(context);
    }
    // The second poll may have begun a step, which is not dropped half-way.
    if !call.is_suspended() {
        return polled;
    }
    if polled.is_ready() {
        tracing::warn!("the handler returned although its question has no answer");
    }
    let suspension = call.suspension();
    call.cancel();
    suspension.map_or(polled, Poll::Ready)
}

impl InFlight {
    fn cancel(self) {
        self.reply_to.finish(&self.call, End::Cancelled, |_| {});
        self.call.cancel();
        self.call.record("cancelled", 0);
        self.task.abort();
    }
}
