//! Everything a server offers, with the handlers' types erased.
//!
//! [`crate::Server`] fills it; the dispatcher reads it. Nothing here is generic over a server's
//! own types, which is what keeps a server's rebuild short.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::ask::spent::Spent;
use crate::call::Call;
use crate::changes::Changes;
use crate::completion::Completing;
use crate::error::{Error, ToolError};
use crate::limits::Limits;
use crate::lock::lock;
use crate::policy::Audit;
use crate::prompt::PromptMessage;
use crate::resource::{CacheHint, Resource, ResourceContents, ResourceOptions};
use crate::revision::Revision;
use crate::schema::{Property, Schema};
use crate::seal::Seal;
use crate::tasks::Tasks;
use crate::tool::{self, Reply, ToolOptions};
use crate::uri_template::UriTemplate;
use crate::validate::Arguments;
use crate::wire::{self, HeaderParameter};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Handler<I, T> = Box<dyn Fn(Arc<Call>, I) -> BoxFuture<T> + Send + Sync>;

/// Named strings: the variables of a URI, the arguments of a prompt.
pub(crate) type Strings = Vec<(String, String)>;

pub(crate) type ToolFn =
    Box<dyn Fn(Arc<Call>, &str) -> BoxFuture<Result<Reply, ToolError>> + Send + Sync>;
pub(crate) type ReadFn = Handler<Strings, Result<Vec<ResourceContents>, Error>>;
pub(crate) type ListResourcesFn = Handler<(), Result<Vec<Resource>, Error>>;
pub(crate) type PromptFn = Handler<Strings, Result<Vec<PromptMessage>, Error>>;
pub(crate) type CompleteFn = Handler<Completing, Result<Vec<String>, Error>>;

pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) options: ToolOptions,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Arc<Arguments>,
    pub(crate) output: Option<Schema>,
    /// Arguments that requests over HTTP repeat in headers (2026-07-28).
    pub(crate) header_parameters: Vec<HeaderParameter>,
    pub(crate) visible: AtomicBool,
    pub(crate) run: ToolFn,
}

pub(crate) struct StaticResource {
    pub(crate) resource: Resource,
    pub(crate) cache: CacheHint,
    pub(crate) read: ReadFn,
}

pub(crate) struct Template {
    pub(crate) text: String,
    pub(crate) pattern: UriTemplate,
    pub(crate) options: ResourceOptions,
    pub(crate) read: ReadFn,
}

pub(crate) struct Prompt {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Property>,
    pub(crate) visible: AtomicBool,
    pub(crate) run: PromptFn,
}

/// What `completion/complete` may ask about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Reference {
    Prompt(String),
    Template(String),
}

/// The four lists a client can page through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// A list item ready to send, and the key a cursor remembers it by.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) json: Box<RawValue>,
}

type EncodedLists = HashMap<(List, Revision), Arc<Vec<Item>>>;

pub(crate) struct Registry {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<StaticResource>,
    pub(crate) templates: Vec<Template>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) list_resources: Option<ListResourcesFn>,
    pub(crate) completions: HashMap<(Reference, String), CompleteFn>,
    pub(crate) list_cache: CacheHint,
    pub(crate) page_size: usize,
    pub(crate) changes: Changes,
    pub(crate) seal: Seal,
    pub(crate) spent: Spent,
    pub(crate) limits: Limits,
    pub(crate) audit: Option<Audit>,
    /// Turns for [`crate::Context::blocking`].
    pub(crate) blocking_threads: Arc<Semaphore>,
    pub(crate) tasks: Tasks,
    pub(crate) tools_change: bool,
    pub(crate) prompts_change: bool,
    pub(crate) session_ended: Option<Box<dyn Fn(u64) + Send + Sync>>,
    /// List items encoded once for each revision; emptied when a list changes.
    pub(crate) encoded: Mutex<EncodedLists>,
}

impl Registry {
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        // Servers have a handful of tools; comparing a few short names beats hashing.
        self.tools.iter().find(|tool| tool.name == name && tool.visible.load(Ordering::Relaxed))
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Prompt> {
        self.prompts
            .iter()
            .find(|prompt| prompt.name == name && prompt.visible.load(Ordering::Relaxed))
    }

    /// The handler that reads `uri`, with the variables its template found in it.
    pub(crate) fn reader(&self, uri: &str) -> Option<(&ReadFn, Strings, CacheHint)> {
        if let Some(fixed) = self.resources.iter().find(|fixed| fixed.resource.uri == uri) {
            return Some((&fixed.read, Vec::new(), fixed.cache));
        }
        self.templates.iter().find_map(|template| {
            let variables = template.pattern.matches(uri)?;
            let variables =
                variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Some((&template.read, variables, template.options.cache))
        })
    }

    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty() || self.list_resources.is_some()
    }

    /// Some tool's calls may go on as tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.options.tasks != tool::Tasks::Never)
    }

    pub(crate) fn has_list(&self, list: List) -> bool {
        match list {
            List::Tools => !self.tools.is_empty(),
            List::Resources | List::Templates => self.has_resources(),
            List::Prompts => !self.prompts.is_empty(),
        }
    }

    /// The items of a list in the form `revision` wants, in the order of registration.
    pub(crate) fn items(&self, list: List, revision: Revision) -> Arc<Vec<Item>> {
        let mut encoded = lock(&self.encoded);
        let items = encoded
            .entry((list, revision))
            .or_insert_with(|| Arc::new(self.encode(list, revision)));
        Arc::clone(items)
    }

    fn encode(&self, list: List, revision: Revision) -> Vec<Item> {
        match list {
            List::Tools => {
                let visible = self.tools.iter().filter(|tool| tool.visible.load(Ordering::Relaxed));
                visible.map(|tool| wire::tool_item(revision, tool)).collect()
            }
            List::Resources => self.encode_fixed_resources(revision),
            List::Templates => self
                .templates
                .iter()
                .map(|template| wire::template_item(revision, template))
                .collect(),
            List::Prompts => {
                let visible =
                    self.prompts.iter().filter(|prompt| prompt.visible.load(Ordering::Relaxed));
                visible.map(|prompt| wire::prompt_item(revision, prompt)).collect()
            }
        }
    }

    pub(crate) fn encode_fixed_resources(&self, revision: Revision) -> Vec<Item> {
        self.resources.iter().map(|fixed| wire::resource_item(revision, &fixed.resource)).collect()
    }

    pub(crate) fn show_tool(&self, name: &str, visible: bool) -> bool {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return false;
        };
        if tool.visible.swap(visible, Ordering::Relaxed) != visible {
            self.forget_encoded();
            self.changes.tool_list_changed();
        }
        true
    }

    pub(crate) fn show_prompt(&self, name: &str, visible: bool) -> bool {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.name == name) else {
            return false;
        };
        if prompt.visible.swap(visible, Ordering::Relaxed) != visible {
            self.forget_encoded();
            self.changes.prompt_list_changed();
        }
        true
    }

    fn forget_encoded(&self) {
        lock(&self.encoded).clear();
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("name", &self.name).finish_non_exhaustive()
    }
}
