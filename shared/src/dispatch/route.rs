//! From a method's name to its answer, or to the handler that will give it.

use std::future::ready;
use std::sync::{Arc, Mutex};

use super::caught::caught;
use super::complete::complete;
use super::pages::list;
use super::tasks;
use crate::answer::{Answer, Outcome};
use crate::ask;
use crate::ask::replay::{KeptArguments, Replay, digest_of_arguments};
use crate::call::{Asks, Beginning, Call, Kind, Origin};
use crate::error::{Error, ToolError};
use crate::params::{self, Meta, Params};
use crate::registry::{BoxFuture, List, Prompt};
use crate::tool::Reply;
use crate::validate::shortened;

/// A request is answered at once, or by a call that may take its time, or when the listen stream
/// it has opened ends.
pub(crate) enum Routed {
    Now(Outcome),
    Listening,
    Call(Arc<Call>, BoxFuture<Outcome>),
}

/// Methods of the handshake and of sessions, which [`super::session`] answers itself; they exist
/// in the stateful revisions only.
pub(crate) const STATEFUL_METHODS: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods that exist in 2026-07-28 only.
pub(crate) const STATELESS_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

const SHARED_METHODS: [&str; 8] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Methods of 2025-11-25 and of the extension of 2026-07-28.
const TASK_METHODS: [&str; 5] =
    ["tasks/get", "tasks/result", "tasks/list", "tasks/update", "tasks/cancel"];

/// Whether any revision has this method.
pub(crate) fn is_known(method: &str) -> bool {
    STATEFUL_METHODS.contains(&method)
        || STATELESS_METHODS.contains(&method)
        || SHARED_METHODS.contains(&method)
        || TASK_METHODS.contains(&method)
}

/// Serves the methods all revisions have.
pub(crate) fn route(method: &str, params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Routed {
    let routed = match method {
        "tools/call" => call_tool(params, meta, origin),
        "resources/read" => read_resource(params, meta, origin),
        "prompts/get" => get_prompt(params, meta, origin),
        "completion/complete" => complete(params, meta, origin),
        "tools/list" => list(List::Tools, params, meta, origin),
        "resources/list" => list(List::Resources, params, meta, origin),
        "resources/templates/list" => list(List::Templates, params, meta, origin),
        "prompts/list" => list(List::Prompts, params, meta, origin),
        _ if TASK_METHODS.contains(&method) => tasks::serve(method, params, meta, origin),
        _ => Err(Error::MethodNotFound(method.to_owned())),
    };
    routed.unwrap_or_else(|error| Routed::Now(Err(error)))
}

fn call_tool(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Tools, "tools/call")?;
    let name = params::string(params.name, "name")?;
    let arguments = params.arguments_object()?;
    let registry = Arc::clone(&origin.registry);
    let found = registry.tool(&name).ok_or_else(|| unknown("tool", &name)).and_then(|tool| {
        let task_plan = tasks::plan(tool, params, &origin)?;
        let single_use = tool.options.single_use;
        let asks = asks(&origin, "tools/call", &name, arguments, params, single_use)?;
        Ok((tool, task_plan, asks))
    });
    let beginning = Beginning::of(Kind::Tool, name.into_owned(), arguments, meta)?;
    let (tool, task_plan, asks) = match found {
        Ok(found) => found,
        Err(error) => return Ok(refuse(origin, beginning, error)),
    };
    let beginning = Beginning { task_plan, ..beginning };
    Ok(start(origin, beginning, asks, |call| {
        let reply = caught(|| (tool.run)(call, arguments), tool_panicked);
        Box::pin(async move {
            match reply.await.map_err(ToolError::into_request_error) {
                Ok(reply) => Ok(Answer::Called(reply)),
                Err(Ok(error)) => Err(error),
                Err(Err(error)) => Ok(Answer::Called(failed(error))),
            }
        })
    }))
}

/// The model gets the text it is meant to get, the log gets the cause. The text often quotes the
/// arguments, which may be secrets, so it is not for the log.
fn failed(error: ToolError) -> Reply {
    match error.cause() {
        Some(cause) => tracing::warn!(cause, "the tool failed"),
        None => tracing::debug!("the tool reported an error"),
    }
    Reply::from(error)
}

fn read_resource(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Resources, "resources/read")?;
    let uri = params::string(params.uri, "uri")?;
    let registry = Arc::clone(&origin.registry);
    let found = registry.reader(&uri).ok_or_else(|| Error::resource_not_found(uri.as_ref()));
    let found = found.and_then(|reader| {
        let asks = asks(&origin, "resources/read", &uri, "", params, false)?;
        Ok((reader, asks))
    });
    let beginning = Beginning::of(Kind::Resource, uri.into_owned(), "", meta)?;
    let ((read, variables, cache), asks) = match found {
        Ok(found) => found,
        Err(error) => return Ok(refuse(origin, beginning, error)),
    };
    Ok(start(origin, beginning, asks, |call| {
        let contents = caught(|| read(Arc::clone(&call), variables), panicked);
        Box::pin(async move {
            let contents = contents.await?;
            if contents.is_empty() {
                return Err(Error::resource_not_found(call.subject.as_str()));
            }
            Ok(Answer::Read { contents, cache })
        })
    }))
}

fn get_prompt(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Prompts, "prompts/get")?;
    let name = params::string(params.name, "name")?;
    let registry = Arc::clone(&origin.registry);
    let raw = params.arguments_object()?;
    let found = registry.prompt(&name).ok_or_else(|| unknown("prompt", &name)).and_then(|prompt| {
        let arguments = params.arguments_strings()?;
        all_given(prompt, &arguments)?;
        let asks = asks(&origin, "prompts/get", &name, raw, params, false)?;
        Ok((prompt, arguments, asks))
    });
    let beginning = Beginning::of(Kind::Prompt, name.into_owned(), raw, meta)?;
    let (prompt, arguments, asks) = match found {
        Ok(found) => found,
        Err(error) => return Ok(refuse(origin, beginning, error)),
    };
    let description = prompt.description.clone();
    Ok(start(origin, beginning, asks, |call| {
        let messages = caught(|| (prompt.run)(call, arguments), panicked);
        Box::pin(async move { Ok(Answer::Prompted { description, messages: messages.await? }) })
    }))
}

/// Every argument that is required is given, and none that the prompt does not know.
fn all_given(prompt: &Prompt, given: &[(String, String)]) -> Result<(), Error> {
    let is_given = |wanted: &str| given.iter().any(|(name, _)| name == wanted);
    let mut required = prompt.arguments.iter().filter(|argument| argument.required);
    if let Some(missing) = required.find(|argument| !is_given(&argument.name)) {
        return Err(Error::invalid_params(format!("Missing argument `{}`", missing.name)));
    }
    let is_known = |name: &str| prompt.arguments.iter().any(|argument| argument.name == name);
    match given.iter().find(|(name, _)| !is_known(name)) {
        Some((name, _)) => {
            Err(Error::invalid_params(format!("The prompt has no argument `{}`", shortened(name))))
        }
        None => Ok(()),
    }
}

fn unknown(what: &str, name: &str) -> Error {
    Error::invalid_params(format!("Unknown {what}: {}", shortened(name)))
}

/// A call that ends before its handler begins. It is a call all the same: it counts against the
/// rate of its peer, and the audit log has it.
fn refuse(origin: Origin, mut beginning: Beginning<'_>, error: Error) -> Routed {
    beginning.subject = shortened(&beginning.subject).into_owned();
    start(origin, beginning, Asks::None, |_| Box::pin(ready(Err(error))))
}

/// Begins a call: its handler is run if the peer has not used up its rate.
pub(super) fn start(
    origin: Origin,
    beginning: Beginning<'_>,
    asks: Asks,
    work: impl FnOnce(Arc<Call>) -> BoxFuture<Outcome>,
) -> Routed {
    let admitted = origin.rate_limit.as_ref().map_or(Ok(()), |limit| limit.admit());
    let call = Arc::new(Call::new(origin, beginning, asks));
    let work = match admitted {
        Ok(()) => work(Arc::clone(&call)),
        Err(refused) => Box::pin(ready(Err(refused))),
    };
    Routed::Call(call, work)
}

/// How a handler of this request can ask: by requests of ours, or by a state that comes back.
fn asks(
    origin: &Origin,
    method: &'static str,
    subject: &str,
    arguments: &str,
    params: &Params<'_>,
    is_single_use: bool,
) -> Result<Asks, Error> {
    if let Some(channel) = &origin.back_channel {
        return Ok(Asks::Session(Arc::clone(channel)));
    }
    let registry = &origin.registry;
    let state = match params.request_state {
        None => None,
        state => Some(params::string(state, "requestState")?),
    };
    let principal = origin.principal.as_deref();
    let identity = || {
        ask::identity(&registry.name, method, subject, digest_of_arguments(arguments), principal)
    };
    let spent = is_single_use.then_some(&registry.spent);
    let responses = params.input_responses;
    let replay = Replay::open(&registry.seal, spent, state.as_deref(), responses, identity)?;
    let arguments = KeptArguments::of(arguments);
    Ok(Asks::Replay { replay: Mutex::new(Box::new(replay)), method, arguments })
}

fn tool_panicked() -> ToolError {
    ToolError::new("The tool failed because of a mistake in its own code.")
}

pub(super) fn panicked() -> Error {
    Error::internal("the handler panicked")
}

pub(super) fn offered(origin: &Origin, list: List, method: &str) -> Result<(), Error> {
    if origin.registry.has_list(list) {
        Ok(())
    } else {
        Err(Error::MethodNotFound(method.to_owned()))
    }
}
