//! What a request can be answered with: one superset of all revisions, without codes or names of
//! wire members. [`crate::wire`] writes it.

use std::sync::Arc;

use crate::ask::Question;
use crate::error::Error;
use crate::prompt::PromptMessage;
use crate::registry::{Item, List};
use crate::resource::{CacheHint, ResourceContents};
use crate::revision::Revision;
use crate::tasks::Task;
use crate::tool::Reply;

pub(crate) type Outcome = Result<Answer, Error>;

#[derive(Debug)]
pub(crate) enum Answer {
    /// Done; there is nothing to say.
    Done,
    Initialized(Revision),
    Discovered,
    Page(Page),
    Called(Reply),
    Read {
        contents: Vec<ResourceContents>,
        cache: CacheHint,
    },
    Prompted {
        description: Option<String>,
        messages: Vec<PromptMessage>,
    },
    Completed(Vec<String>),
    /// The handler waits for these answers, each under its key (2026-07-28).
    InputRequired {
        requests: Vec<(String, Question)>,
        state: String,
    },
    /// The call goes on as a task.
    TaskCreated(Arc<Task>),
    Task(Arc<Task>),
    /// What the call a task began as was answered with.
    TaskResult(Arc<Task>),
    Tasks {
        tasks: Vec<Arc<Task>>,
        next_cursor: Option<String>,
    },
    /// The server ends a `subscriptions/listen` stream.
    ListenEnded,
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) list: List,
    pub(crate) items: Arc<Vec<Item>>,
    /// Which of `items` are on this page.
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) next_cursor: Option<String>,
    pub(crate) cache: CacheHint,
}
