//! The builder a server's `main.rs` reads as a table of contents.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::ask::spent::Spent;
use crate::call::Call;
use crate::changes::Changes;
use crate::completion::Completing;
use crate::context::Context;
use crate::error::{Error, ToolResult};
use crate::limits::Limits;
use crate::prompt::PromptMessage;
use crate::registry::{BoxFuture, Prompt, Reference, Registry, StaticResource, Template, Tool};
use crate::resource::{CacheHint, Resource, ResourceContents, ResourceOptions};
use crate::schema;
use crate::seal::Seal;
use crate::strings;
use crate::tasks::Tasks;
use crate::tool::{Output, Reply, ToolOptions};
use crate::uri_template::UriTemplate;
use crate::validate::Arguments;
use crate::wire;

/// Enough to keep disks busy; each costs a stack.
const MAX_BLOCKING_THREADS: usize = 64;

/// A server: its name, its state, and what it offers. `S` is the state every handler can reach
/// through [`Context::state`].
///
/// Mistakes in the table (a name used twice, a completion for a prompt that does not exist) are
/// reported when the server starts.
pub struct Server<S> {
    state: Arc<S>,
    registry: Registry,
    mistakes: Vec<String>,
}

impl<S: Send + Sync + 'static> Server<S> {
    /// `name` and `version` are what clients see in `serverInfo`.
    pub fn new(name: &str, version: &str, state: S) -> Self {
        let registry = Registry {
            name: name.to_owned(),
            version: version.to_owned(),
            title: None,
            instructions: None,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            list_resources: None,
            completions: HashMap::new(),
            list_cache: CacheHint::default(),
            page_size: 100,
            changes: Changes::default(),
            seal: Seal::random(),
            spent: Spent::default(),
            limits: Limits::default(),
            audit: None,
            blocking_threads: Arc::new(Semaphore::new(MAX_BLOCKING_THREADS)),
            tasks: Tasks::default(),
            tools_change: false,
            prompts_change: false,
            session_ended: None,
            encoded: Mutex::default(),
        };
        Self { state: Arc::new(state), registry, mistakes: Vec::new() }
    }

    /// Name for people (from 2025-06-18).
    pub fn title(mut self, title: &str) -> Self {
        self.registry.title = Some(title.to_owned());
        self
    }

    /// How the model should use this server as a whole.
    pub fn instructions(mut self, instructions: &str) -> Self {
        self.registry.instructions = Some(instructions.to_owned());
        self
    }

    /// How long the lists may be kept (2026-07-28). Public only if every user sees the same.
    pub fn list_cache(mut self, cache: CacheHint) -> Self {
        self.registry.list_cache = cache;
        self
    }

    /// Items on a page of any list; 100 if not set.
    pub fn page_size(mut self, items: usize) -> Self {
        self.registry.page_size = items.max(1);
        self
    }

    /// Calls `handler` when a session has ended, by its client, for want of use or with the
    /// connection, with the number [`Context::session`] had: for a server that keeps something for
    /// its sessions. It must not block.
    pub fn when_session_ends(mut self, handler: impl Fn(&S, u64) + Send + Sync + 'static) -> Self {
        let state = Arc::clone(&self.state);
        self.registry.session_ended = Some(Box::new(move |session| handler(&state, session)));
        self
    }

    /// Offers a tool. The doc comment of `I` is the tool's description, its fields are the
    /// arguments; see [`Output`] for what the handler may return.
    pub fn tool<I, O, F, H>(mut self, name: &str, options: ToolOptions, handler: H) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Output,
        F: Future<Output = ToolResult<O>> + Send + 'static,
        H: Fn(Context<S>, I) -> F + Send + Sync + 'static,
    {
        let schema = schema::input::<I>();
        let checked = Arc::new(Arguments::new(schema.json));
        let output = O::schema();
        let wraps_structured = output.as_ref().is_some_and(|output| !output.is_object());
        let state = Arc::clone(&self.state);
        let run = {
            let checked = Arc::clone(&checked);
            move |call: Arc<Call>, arguments: &str| -> BoxFuture<_> {
                match checked.read(arguments) {
                    Ok(input) => {
                        let answer = handler(Context::new(Arc::clone(&state), call), input);
                        Box::pin(async move {
                            let reply = answer.await?.into_reply()?;
                            Ok(Reply { wraps_structured, ..reply })
                        })
                    }
                    Err(problem) => Box::pin(ready(Err(problem))),
                }
            }
        };
        self.registry.tools.push(Tool {
            name: name.to_owned(),
            options,
            description: schema.description,
            header_parameters: wire::header_parameters(checked.published()),
            arguments: checked,
            output,
            visible: AtomicBool::new(true),
            run: Box::new(run),
        });
        self
    }

    /// Offers a resource at a fixed URI.
    pub fn resource<R, F, H>(mut self, uri: &str, options: ResourceOptions, handler: H) -> Self
    where
        R: Into<Vec<ResourceContents>>,
        F: Future<Output = Result<R, Error>> + Send + 'static,
        H: Fn(Context<S>) -> F + Send + Sync + 'static,
    {
        let state = Arc::clone(&self.state);
        let read = move |call: Arc<Call>, _: Vec<(String, String)>| -> BoxFuture<_> {
            let contents = handler(Context::new(Arc::clone(&state), call));
            Box::pin(async move { contents.await.map(Into::into) })
        };
        let resource = Resource {
            uri: uri.to_owned(),
            name: options.name,
            title: options.title,
            description: options.description,
            mime_type: options.mime_type,
            ..Resource::default()
        };
        self.registry.resources.push(StaticResource {
            resource,
            cache: options.cache,
            read: Box::new(read),
        });
        self
    }

    /// Offers the resources whose URIs match a template such as `calculator://table/{number}`:
    /// `{name}` stands for one path segment, `{+name}` for several, both percent-decoded: a value
    /// may hold a `/` that the URI spells `%2F`. The variables are the fields
    /// of `P`, whose doc comment is the description.
    pub fn resource_template<P, R, F, H>(
        mut self,
        uri: &str,
        options: ResourceOptions,
        handler: H,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Into<Vec<ResourceContents>>,
        F: Future<Output = Result<R, Error>> + Send + 'static,
        H: Fn(Context<S>, P) -> F + Send + Sync + 'static,
    {
        let pattern = match UriTemplate::parse(uri) {
            Ok(pattern) => pattern,
            Err(mistake) => {
                self.mistakes.push(mistake);
                return self;
            }
        };
        let schema = schema::input::<P>();
        for variable in pattern.variables() {
            if !schema.properties().iter().any(|property| property.name == variable) {
                self.mistakes
                    .push(format!("{uri}: the handler's parameters have no field `{variable}`"));
            }
        }
        let state = Arc::clone(&self.state);
        let read = move |call: Arc<Call>, variables: Vec<(String, String)>| -> BoxFuture<_> {
            match strings::read(variables) {
                Ok(parameters) => {
                    let contents = handler(Context::new(Arc::clone(&state), call), parameters);
                    Box::pin(async move { contents.await.map(Into::into) })
                }
                // The pattern fits but the values cannot be: there is no such resource.
                Err(_) => {
                    Box::pin(async move { Err(Error::resource_not_found(call.subject.as_str())) })
                }
            }
        };
        let options =
            ResourceOptions { description: options.description.or(schema.description), ..options };
        let text = uri.to_owned();
        self.registry.templates.push(Template { text, pattern, options, read: Box::new(read) });
        self
    }

    /// Lists resources that are not known when the server is built, after the fixed ones. They
    /// are read through a [`Server::resource_template`].
    pub fn resource_list<F, H>(mut self, handler: H) -> Self
    where
        F: Future<Output = Result<Vec<Resource>, Error>> + Send + 'static,
        H: Fn(Context<S>) -> F + Send + Sync + 'static,
    {
        let state = Arc::clone(&self.state);
        self.registry.list_resources = Some(Box::new(move |call, ()| {
            Box::pin(handler(Context::new(Arc::clone(&state), call)))
        }));
        self
    }

    /// Offers a prompt. The doc comment of `I` is its description, its fields the arguments.
    pub fn prompt<I, F, H>(mut self, name: &str, handler: H) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = Result<Vec<PromptMessage>, Error>> + Send + 'static,
        H: Fn(Context<S>, I) -> F + Send + Sync + 'static,
    {
        let state = Arc::clone(&self.state);
        let run = move |call: Arc<Call>, arguments: Vec<(String, String)>| -> BoxFuture<_> {
            match strings::read(arguments) {
                Ok(input) => Box::pin(handler(Context::new(Arc::clone(&state), call), input)),
                Err(message) => Box::pin(async move { Err(Error::invalid_params(message)) }),
            }
        };
        let schema = schema::input::<I>();
        self.registry.prompts.push(Prompt {
            name: name.to_owned(),
            arguments: schema.properties(),
            description: schema.description,
            visible: AtomicBool::new(true),
            run: Box::new(run),
        });
        self
    }

    /// Suggests values for an argument of a prompt.
    pub fn complete_prompt<F, H>(self, prompt: &str, argument: &str, handler: H) -> Self
    where
        F: Future<Output = Result<Vec<String>, Error>> + Send + 'static,
        H: Fn(Context<S>, Completing) -> F + Send + Sync + 'static,
    {
        self.complete(Reference::Prompt(prompt.to_owned()), argument, handler)
    }

    /// Suggests values for a variable of a resource template.
    pub fn complete_template<F, H>(self, template: &str, variable: &str, handler: H) -> Self
    where
        F: Future<Output = Result<Vec<String>, Error>> + Send + 'static,
        H: Fn(Context<S>, Completing) -> F + Send + Sync + 'static,
    {
        self.complete(Reference::Template(template.to_owned()), variable, handler)
    }

    fn complete<F, H>(mut self, reference: Reference, argument: &str, handler: H) -> Self
    where
        F: Future<Output = Result<Vec<String>, Error>> + Send + 'static,
        H: Fn(Context<S>, Completing) -> F + Send + Sync + 'static,
    {
        let state = Arc::clone(&self.state);
        self.registry.completions.insert(
            (reference, argument.to_owned()),
            Box::new(move |call, typed| {
                Box::pin(handler(Context::new(Arc::clone(&state), call), typed))
            }),
        );
        self
    }

    /// Keeps a tool out of the list until [`Context::show_tool`]. A server with such a tool
    /// declares `tools.listChanged`.
    pub fn hide_tool(mut self, name: &str) -> Self {
        self.registry.tools_change = true;
        if !self.registry.show_tool(name, false) {
            self.mistakes.push(format!("hide_tool: there is no tool `{name}`"));
        }
        self
    }

    /// Keeps a prompt out of the list until [`Context::show_prompt`]. A server with such a prompt
    /// declares `prompts.listChanged`.
    pub fn hide_prompt(mut self, name: &str) -> Self {
        self.registry.prompts_change = true;
        if !self.registry.show_prompt(name, false) {
            self.mistakes.push(format!("hide_prompt: there is no prompt `{name}`"));
        }
        self
    }

    /// How much of everything one peer may use. The flags of [`crate::main`] come after this.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.registry.limits = limits;
        self
    }

    /// Keys for what travels through clients and comes back: cursors, and the state of calls that
    /// wait for answers. Servers that share them can go on with each other's. `text` holds one key
    /// a line, 32 bytes in base64; the first seals, each opens. Without this call a process has a
    /// random key of its own. Also the flag `--state-key-file`.
    ///
    /// # Errors
    /// If a line is not a key, or there is none.
    pub fn state_keys(mut self, text: &str) -> anyhow::Result<Self> {
        self.registry.seal = Seal::from_key_file(text)?;
        Ok(self)
    }

    /// The value given to [`Server::new`], for work outside a handler, for example a watcher.
    pub fn state(&self) -> Arc<S> {
        Arc::clone(&self.state)
    }

    /// Where to publish changes from outside a handler, for example from a file watcher.
    pub fn changes(&self) -> Changes {
        self.registry.changes.clone()
    }

    pub(crate) fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    pub(crate) fn into_registry(self) -> anyhow::Result<Arc<Registry>> {
        let mistakes = crate::mistakes::find(&self.registry, self.mistakes);
        anyhow::ensure!(
            mistakes.is_empty(),
            "the server is put together wrongly:\n  {}",
            mistakes.join("\n  ")
        );
        Ok(Arc::new(self.registry))
    }
}
