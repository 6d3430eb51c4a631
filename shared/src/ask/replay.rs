//! Questions in 2026-07-28, where a server keeps nothing between two requests.
//!
//! A handler that asks is run until nothing but questions holds it up, then dropped. The client
//! gets the questions and a sealed record of what is known so far; its retry brings the record and
//! the answers back, to this process or to another with the same key, and the handler runs again
//! from the start, each question it asks being answered from the record.
//!
//! The record is bound to the request it belongs to, to its sender and to a time. Whatever is wrong
//! with one that comes back, the client is told the same.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::spent::Spent;
use super::{AskError, Question};
use crate::answer::{Answer, Outcome};
use crate::error::Error;
use crate::seal::{Seal, digest};

/// How long a client may take to come back with answers, each time.
const LIFETIME: Duration = Duration::from_secs(600);

/// Questions after questions for one call; a handler or a client that goes on for longer is lost.
const MAX_ROUNDS: u32 = 16;

/// Longest record sent, sealed.
const MAX_STATE_BYTES: usize = 64 * 1024;

/// Longest arguments kept word by word while their call runs.
const MAX_KEPT_BYTES: usize = 1024;

const PURPOSE: &str = "request state";

/// Which request a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) server: String,
    pub(crate) method: String,
    /// The tool, prompt or URI.
    pub(crate) subject: String,
    /// Of the arguments in canonical form.
    pub(crate) arguments: String,
    /// Who sent it, where the transport knows.
    pub(crate) principal: Option<String>,
}

/// The arguments of a running call, by which a retry of it is told from another one. Few calls
/// ask, so short arguments are kept as they came and digested only when theirs does; of long ones,
/// which many calls at a time could fill the memory with, the digest is all that is kept.
#[derive(Debug)]
pub(crate) enum KeptArguments {
    Short(Box<str>),
    Digest(String),
}

impl KeptArguments {
    pub(crate) fn of(arguments: &str) -> Self {
        if arguments.len() <= MAX_KEPT_BYTES {
            Self::Short(arguments.into())
        } else {
            Self::Digest(digest_of_arguments(arguments))
        }
    }

    pub(crate) fn digest(&self) -> String {
        match self {
            Self::Short(arguments) => digest_of_arguments(arguments),
            Self::Digest(digest) => digest.clone(),
        }
    }
}

/// What travels through the client.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    identity: Option<Identity>,
    expires_at_secs: u64,
    round: u32,
    /// Digests of the questions that are out, by key.
    asked: BTreeMap<String, String>,
    answers: BTreeMap<String, Known>,
    /// Results of [`crate::Context::once`], by key.
    steps: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    /// The question this answers; if the handler asks another under the same key, it is asked.
    question: String,
    answer: Value,
}

/// One run of a handler with what is known so far.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    record: Record,
    has_state: bool,
    /// What this request brought, by key.
    responses: HashMap<String, Value>,
    /// Keys used in this run.
    used: HashSet<String>,
    /// Steps that have begun and are not done.
    steps_under_way: usize,
    pending: Vec<(String, Question)>,
    /// Digests of the pending questions, by key.
    asking: BTreeMap<String, String>,
    failure: Option<Error>,
}

impl Replay {
    /// Takes up what the request brought. `identity` is computed only if it brought a state. `spent`
    /// is there if a state is good for one retry.
    pub(crate) fn open(
        seal: &Seal,
        spent: Option<&Spent>,
        state: Option<&str>,
        responses: Option<&RawValue>,
        identity: impl FnOnce() -> Identity,
    ) -> Result<Self, Error> {
        let refused = || Error::invalid_params("Invalid or expired `requestState`");
        let record = match state {
            None => Record::default(),
            Some(state) => open_state(seal, state, &identity()).ok_or_else(refused)?,
        };
        if let (Some(state), Some(spent)) = (state, spent)
            && !spent.spend(state, record.expires_at_secs, now_secs())?
        {
            return Err(refused());
        }
        let responses = match responses {
            None => HashMap::new(),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|_| Error::invalid_params("`params.inputResponses` must be an object"))?,
        };
        Ok(Self { record, has_state: state.is_some(), responses, ..Self::default() })
    }

    /// The answer to a question, if it is known. If not, the question is noted to be sent.
    pub(crate) fn ask(
        &mut self,
        key: &str,
        question: Question,
        capabilities: &Map<String, Value>,
    ) -> Result<Option<Value>, AskError> {
        self.use_key(key)?;
        let fingerprint = digest(format!("{} {}", question.method, question.params).as_bytes());
        if let Some(known) =
            self.record.answers.get(key).filter(|known| known.question == fingerprint)
        {
            return Ok(Some(known.answer.clone()));
        }
        let is_for_this = !self.has_state || self.record.asked.get(key) == Some(&fingerprint);
        if let Some(answer) = self.responses.remove(key).filter(|_| is_for_this) {
            let known = Known { question: fingerprint, answer: answer.clone() };
            self.record.answers.insert(key.to_owned(), known);
            return Ok(Some(answer));
        }
        if question.is_supported(capabilities) {
            self.asking.insert(key.to_owned(), fingerprint);
            self.pending.push((key.to_owned(), question));
        } else {
            self.failure = Some(Error::MissingCapability(question.required_capabilities()));
        }
        Ok(None)
    }

    /// An answer did not fit its question: the request is refused, so that the client can bring a
    /// better one.
    pub(crate) fn refuse_answer(&mut self, key: &str, reason: &AskError) {
        let message = format!("inputResponses: {key}: {reason}");
        self.failure = Some(Error::invalid_params(message));
    }

    /// What a step gave in an earlier run. If there is nothing, the step is under way until
    /// [`Replay::end_step`].
    pub(crate) fn begin_step(&mut self, key: &str) -> Result<Option<Value>, AskError> {
        self.use_key(key)?;
        let recorded = self.record.steps.get(key).cloned();
        self.steps_under_way += usize::from(recorded.is_none());
        Ok(recorded)
    }

    pub(crate) fn end_step(&mut self) {
        self.steps_under_way = self.steps_under_way.saturating_sub(1);
    }

    pub(crate) fn record_step(&mut self, key: &str, value: Value) {
        self.record.steps.insert(key.to_owned(), value);
    }

    /// The handler waits for answers, or can never have them. Not while a step is half-way: what
    /// it has done so far would be done again.
    pub(crate) fn is_suspended(&self) -> bool {
        self.steps_under_way == 0 && (!self.pending.is_empty() || self.failure.is_some())
    }

    /// What the client gets instead of a result.
    pub(crate) fn suspend(&mut self, seal: &Seal, identity: Identity) -> Outcome {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut record = std::mem::take(&mut self.record);
        let requests = std::mem::take(&mut self.pending);
        record.round += 1;
        if record.round > MAX_ROUNDS {
            return Err(Error::Refused("The tool has asked too many questions for one call"));
        }
        record.asked = std::mem::take(&mut self.asking);
        record.identity = Some(identity);
        record.expires_at_secs = now_secs() + LIFETIME.as_secs();
        let plain = serde_json::to_vec(&record).map_err(|error| Error::internal(&error))?;
        let state = seal.seal(PURPOSE, &plain).ok_or_else(|| Error::internal("sealing failed"))?;
        if state.len() > MAX_STATE_BYTES {
            return Err(Error::Refused("The answers so far are too long to carry on"));
        }
        Ok(Answer::InputRequired { requests, state })
    }

    fn use_key(&mut self, key: &str) -> Result<(), AskError> {
        if self.used.insert(key.to_owned()) {
            return Ok(());
        }
        Err(AskError::Misused(format!("the key {key:?} is used twice in one run")))
    }
}

fn open_state(seal: &Seal, state: &str, identity: &Identity) -> Option<Record> {
    let plain = seal.open(PURPOSE, state)?;
    let record: Record = serde_json::from_slice(&plain).ok()?;
    (record.identity.as_ref() == Some(identity) && record.expires_at_secs > now_secs())
        .then_some(record)
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The same for the same arguments, whatever the order of members and the white space.
pub(crate) fn digest_of_arguments(arguments: &str) -> String {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let members: BTreeMap<String, Value> =
                    map.into_iter().map(|(k, v)| (k, sorted(v))).collect();
                Value::Object(members.into_iter().collect())
            }
            Value::Array(items) => items.into_iter().map(sorted).collect(),
            other => other,
        }
    }
    // Arguments that are no JSON never reach a handler.
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    digest(sorted(value).to_string().as_bytes())
}
