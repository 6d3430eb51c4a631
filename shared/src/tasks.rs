//! Calls that go on after their request has been answered: the client gets the name of a task, and
//! asks for it when it likes (2025-11-25, and the extension `io.modelcontextprotocol/tasks` of
//! 2026-07-28).
//!
//! A handler does not know. In 2026-07-28 a call becomes a task when it has to wait for anything
//! but answers of the client: what is asked before goes by `input_required` as ever, what is asked
//! later waits in the task. In 2025-11-25 the client says at the start that it wants a task.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::answer::Outcome;
use crate::ask::{AskError, Question};
use crate::call::Call;
use crate::changes::Changes;
use crate::error::Error;
use crate::lock::lock;
use crate::outbox::Outbox;
use crate::principal::Principal;
use crate::seal::random_token;

/// How often a client may ask for a task without being a nuisance.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A result that came at the last moment can still be asked for this long.
const GRACE: Duration = Duration::from_secs(60);

/// The answer where there is no room for one more task.
pub(crate) const TOO_MANY: Error = Error::Refused("Too many tasks; wait for some to end");

/// Whose a task is: the principal's, and where there is none, the session's. In 2026-07-28
/// without a principal, it is whoever's knows the id, which nobody can guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) principal: Option<Arc<Principal>>,
    /// `None` in 2026-07-28.
    pub(crate) session: Option<u64>,
}

/// How a call may turn into a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskPlan {
    pub(crate) owner: Owner,
    /// How long the client wants it kept, at most.
    pub(crate) ttl: Option<Duration>,
    pub(crate) begins: Begins,
    /// Where progress goes once the request is answered; in 2026-07-28 it becomes part of the
    /// status alone.
    pub(crate) standing: Option<Arc<Outbox>>,
}

/// When a call turns into a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// Before anything else: the client wants it so (2025-11-25).
    AtOnce,
    /// When it has to wait (2026-07-28).
    WhenItWaits,
    /// When it has to wait, or is done: the tool gives nothing but tasks (2026-07-28).
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) created_at: SystemTime,
    pub(crate) ttl: Duration,
    owner: Owner,
    begun: Instant,
    call: Weak<Call>,
    changes: Changes,
    state: Mutex<State>,
    /// Woken at each change.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    status: Status,
    message: Option<String>,
    updated_at: SystemTime,
    /// When it was over.
    ended: Option<Instant>,
    outcome: Option<Arc<Outcome>>,
    /// Out, by key.
    questions: BTreeMap<String, Asked>,
    last_question: u64,
    /// Where the client waits for the result, and so for questions (2025-11-25 over HTTP).
    result_stream: Option<Arc<Outbox>>,
    work: Option<AbortHandle>,
}

#[derive(Debug)]
struct Asked {
    question: Question,
    answer: oneshot::Sender<Value>,
}

/// A task at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) status: Status,
    pub(crate) message: Option<String>,
    pub(crate) updated_at: SystemTime,
    pub(crate) outcome: Option<Arc<Outcome>>,
    pub(crate) questions: Vec<(String, Question)>,
}

impl Task {
    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = lock(&self.state);
        let questions = state.questions.iter();
        Snapshot {
            status: state.status,
            message: state.message.clone(),
            updated_at: state.updated_at,
            outcome: state.outcome.clone(),
            questions: questions
                .map(|(key, asked)| (key.clone(), asked.question.clone()))
                .collect(),
        }
    }

    /// What a handler says of its progress; here it becomes part of the status.
    pub(crate) fn say(&self, message: &str) {
        let mut state = lock(&self.state);
        if !state.status.is_terminal() {
            state.message = Some(message.to_owned());
            state.updated_at = SystemTime::now();
            self.changes.task_changed(&self.id);
        }
    }

    /// The handler is done. A task that has been cancelled stays so.
    pub(crate) fn finish(&self, outcome: Outcome, status: Status) {
        let mut state = lock(&self.state);
        if !state.status.is_terminal() {
            state.message = None;
            state.outcome = Some(Arc::new(outcome));
            self.change(&mut state, status);
        }
    }

    /// Stops the work. `false` if there was nothing left to stop.
    pub(crate) fn cancel(&self) -> bool {
        let mut state = lock(&self.state);
        if state.status.is_terminal() {
            return false;
        }
        let work = state.work.take();
        self.change(&mut state, Status::Cancelled);
        drop(state);
        if let Some(call) = self.call.upgrade() {
            call.cancel();
            call.record("cancelled", 0);
        }
        work.inspect(AbortHandle::abort);
        true
    }

    fn change(&self, state: &mut State, status: Status) {
        state.status = status;
        state.updated_at = SystemTime::now();
        if status.is_terminal() {
            state.questions.clear();
            state.ended = Some(Instant::now());
        }
        self.changed.notify_waiters();
        self.changes.task_changed(&self.id);
    }

    /// Waits until the task is over.
    pub(crate) async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            if lock(&self.state).status.is_terminal() {
                return;
            }
            changed.await;
        }
    }

    /// From now on questions go to `stream`, where the client waits for the result.
    pub(crate) fn answer_on(&self, stream: Arc<Outbox>) {
        lock(&self.state).result_stream = Some(stream);
        self.changed.notify_waiters();
    }

    /// Where a question may go that has no other way (2025-11-25 over HTTP).
    pub(crate) async fn question_stream(&self) -> Arc<Outbox> {
        loop {
            let changed = self.changed.notified();
            if let Some(stream) = &lock(&self.state).result_stream {
                return Arc::clone(stream);
            }
            changed.await;
        }
    }

    /// The client has to act, from now on or no more (2025-11-25).
    pub(crate) fn needs_input(&self, is_needed: bool) {
        let mut state = lock(&self.state);
        if !state.status.is_terminal() {
            let status = if is_needed { Status::InputRequired } else { Status::Working };
            self.change(&mut state, status);
        }
    }

    /// Puts a question into the task and waits for the answer (2026-07-28). A key is used once in
    /// the life of a task, whatever the handler calls its questions.
    pub(crate) async fn ask(&self, key: &str, question: Question) -> Result<Value, AskError> {
        let (sender, answer) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            state.last_question += 1;
            let key = format!("{key}-{}", state.last_question);
            state.questions.insert(key, Asked { question, answer: sender });
            self.change(&mut state, Status::InputRequired);
        }
        answer.await.map_err(|_| AskError::Closed)
    }

    /// Hands over answers by key; those nobody asked for are ignored.
    pub(crate) fn update(&self, answers: Map<String, Value>) {
        let mut state = lock(&self.state);
        for (key, answer) in answers {
            if let Some(asked) = state.questions.remove(&key) {
                // The handler may have given up on it.
                let _ = asked.answer.send(answer);
            }
        }
        if state.status == Status::InputRequired && state.questions.is_empty() {
            self.change(&mut state, Status::Working);
        }
    }

    fn may_be_forgotten(&self) -> bool {
        let is_old = lock(&self.state).ended.is_some_and(|ended| ended.elapsed() > GRACE);
        is_old && self.begun.elapsed() > self.ttl
    }
}

/// The tasks of a server, each for as long as it is kept.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// Oldest first.
    table: Mutex<Vec<Arc<Task>>>,
    last_session: AtomicU64,
}

impl Tasks {
    /// A name for a session that may own tasks.
    pub(crate) fn session(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A task for `call`, which can be found from now on.
    pub(crate) fn create(
        &self,
        plan: &TaskPlan,
        call: &Arc<Call>,
        max: usize,
        longest: Duration,
    ) -> Result<Arc<Task>, Error> {
        let now = SystemTime::now();
        let task = Arc::new(Task {
            id: random_token().ok_or_else(|| Error::internal("no random numbers"))?,
            created_at: now,
            ttl: plan.ttl.map_or(longest, |ttl| ttl.min(longest)),
            owner: plan.owner.clone(),
            begun: Instant::now(),
            call: Arc::downgrade(call),
            changes: call.registry.changes.clone(),
            state: Mutex::new(State {
                status: Status::Working,
                message: None,
                updated_at: now,
                ended: None,
                outcome: None,
                questions: BTreeMap::new(),
                last_question: 0,
                result_stream: None,
                work: None,
            }),
            changed: Notify::new(),
        });
        let mut table = lock(&self.table);
        make_room(&mut table, max)?;
        table.push(Arc::clone(&task));
        Ok(task)
    }

    /// Whether one more can be created.
    pub(crate) fn has_room(&self, max: usize) -> bool {
        make_room(&mut lock(&self.table), max).is_ok()
    }

    /// What has to be stopped when the task is cancelled.
    pub(crate) fn attach(task: &Task, work: AbortHandle) {
        let mut state = lock(&task.state);
        if state.status.is_terminal() {
            work.abort();
        } else {
            state.work = Some(work);
        }
    }

    pub(crate) fn find(&self, id: &str, owner: &Owner) -> Result<Arc<Task>, Error> {
        let mut table = lock(&self.table);
        forget_old(&mut table);
        let found = table.iter().find(|task| task.id == id && task.owner == *owner);
        found.cloned().ok_or_else(|| Error::invalid_params("There is no such task"))
    }

    /// For who has been told the id already.
    pub(crate) fn known(&self, id: &str) -> Option<Arc<Task>> {
        lock(&self.table).iter().find(|task| task.id == id).cloned()
    }

    /// The tasks of one owner, oldest first.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Task>> {
        let mut table = lock(&self.table);
        forget_old(&mut table);
        table.iter().filter(|task| task.owner == *owner).cloned().collect()
    }

    /// A session has ended, and with it who could ask for its tasks.
    pub(crate) fn end_session(&self, session: u64) {
        let mut table = lock(&self.table);
        let (ended, left) = std::mem::take(&mut *table)
            .into_iter()
            .partition(|task| task.owner.session == Some(session));
        *table = left;
        drop(table);
        let ended: Vec<Arc<Task>> = ended;
        for task in ended {
            task.cancel();
        }
    }
}

/// Whoever has not asked for a result by now will rather miss it than a new client its task.
fn make_room(table: &mut Vec<Arc<Task>>, max: usize) -> Result<(), Error> {
    forget_old(table);
    if table.len() >= max {
        let over = table.iter().position(|task| lock(&task.state).status.is_terminal());
        let over = over.ok_or(TOO_MANY)?;
        table.remove(over);
    }
    Ok(())
}

/// A task that runs is never forgotten: it ends in time by itself.
fn forget_old(table: &mut Vec<Arc<Task>>) {
    table.retain(|task| !task.may_be_forgotten());
}
