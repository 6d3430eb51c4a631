//! How a call asks, whichever way its revision has for it.

use std::future::{Future, pending};
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::back_channel::BackChannel;
use super::replay::{Identity, Replay};
use super::roots::{self, Root};
use super::{AskError, Question, undeclared};
use crate::answer::Outcome;
use crate::call::{Asks, Call};
use crate::lock::lock;
use crate::principal::Principal;
use crate::tasks::Task;
use crate::wire;

tokio::task_local! {
    /// Set while a step is being polled.
    static IN_STEP: ();
}

impl Call {
    /// Asks the client and reads the answer. In 2026-07-28 this returns only if the answer is
    /// known; otherwise the handler waits here until it is dropped.
    pub(crate) async fn ask<T>(
        &self,
        key: &str,
        question: Question,
        read: impl FnOnce(&Value) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        if IN_STEP.try_with(|()| ()).is_ok() {
            // The step would never end in 2026-07-28; better it fails in all revisions alike.
            return Err(AskError::Misused(format!("{key:?} is asked inside a `once`")));
        }
        match self.asks() {
            Asks::None => {
                Err(AskError::Unsupported("this kind of request has no questions".to_owned()))
            }
            Asks::Session(channel) => {
                let _waiting = self.waiting().begin();
                match self.task() {
                    Some(task) => read(&self.ask_for_task(channel, task, question).await?),
                    None => read(&channel.ask(&question, self.stream()).await?),
                }
            }
            Asks::Replay { .. } if let Some(task) = self.task() => {
                if !question.is_supported(&self.capabilities()) {
                    return Err(undeclared(&question));
                }
                let _waiting = self.waiting().begin();
                read(&task.ask(key, question).await?)
            }
            Asks::Replay { replay, .. } => {
                let known = lock(replay).ask(key, question, &self.capabilities())?;
                let Some(answer) = known else {
                    return pending().await;
                };
                match read(&answer) {
                    Err(reason @ AskError::Malformed(_)) => {
                        lock(replay).refuse_answer(key, &reason);
                        pending().await
                    }
                    other => other,
                }
            }
        }
    }

    /// A question of a task says which one it is of. Where the request that began the task had a
    /// stream of its own, that is over, and the question waits for one of `tasks/result`.
    async fn ask_for_task(
        &self,
        channel: &BackChannel,
        task: &Task,
        mut question: Question,
    ) -> Result<Value, AskError> {
        if let Some(params) = question.params.as_object_mut() {
            params.insert("_meta".to_owned(), wire::related_task(task));
        }
        task.needs_input(true);
        let answer = if self.stream().is_for_one_request() {
            channel.ask(&question, &*task.question_stream().await).await
        } else {
            channel.ask(&question, self.stream()).await
        };
        task.needs_input(false);
        answer
    }

    pub(crate) async fn ask_roots(&self, key: &str) -> Result<Vec<Root>, AskError> {
        let Asks::Session(channel) = self.asks() else {
            return self.ask(key, roots::question(), roots::read).await;
        };
        let (known, changes) = channel.known_roots();
        if let Some(roots) = known {
            return Ok(roots);
        }
        let roots = self.ask(key, roots::question(), roots::read).await?;
        channel.keep_roots(&roots, changes);
        Ok(roots)
    }

    /// Does a thing with effects once, however often the handler is run for this request.
    pub(crate) async fn once<T, E>(
        &self,
        key: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
    {
        let work = IN_STEP.scope((), work);
        let Asks::Replay { replay, .. } = self.asks() else {
            return work.await;
        };
        let misused = |error: serde_json::Error| E::from(AskError::Misused(error.to_string()));
        if let Some(recorded) = lock(replay).begin_step(key)? {
            return serde_json::from_value(recorded).map_err(misused);
        }
        let _under_way = UnderWay(replay);
        let value = work.await?;
        let recorded = serde_json::to_value(&value).map_err(misused)?;
        lock(replay).record_step(key, recorded);
        Ok(value)
    }

    /// What the client gets if the handler waits for answers that are not here.
    pub(crate) fn suspension(&self) -> Option<Outcome> {
        let Asks::Replay { replay, method, arguments } = self.asks() else {
            return None;
        };
        let identity = || {
            let principal = self.principal.as_deref();
            identity(&self.registry.name, method, &self.subject, arguments.digest(), principal)
        };
        let mut replay = lock(replay);
        replay.is_suspended().then(|| replay.suspend(&self.registry.seal, identity()))
    }

    pub(crate) fn is_suspended(&self) -> bool {
        matches!(self.asks(), Asks::Replay { replay, .. } if lock(replay).is_suspended())
    }

    fn capabilities(&self) -> Map<String, Value> {
        self.client.info().capabilities
    }
}

/// A step that has begun; dropped when it is done, has failed or is given up.
struct UnderWay<'a>(&'a Mutex<Box<Replay>>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(self.0).end_step();
    }
}

/// Names the request a state belongs to. `arguments` is their digest.
pub(crate) fn identity(
    server: &str,
    method: &str,
    subject: &str,
    arguments: String,
    principal: Option<&Principal>,
) -> Identity {
    Identity {
        server: server.to_owned(),
        method: method.to_owned(),
        subject: subject.to_owned(),
        arguments,
        principal: principal.map(|principal| principal.name.clone()),
    }
}
