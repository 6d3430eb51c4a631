//! From a method's name to its answer, or to the handler that will give it.

use std::sync::{Arc, Mutex};

use super::caught::caught;
use super::complete::complete;
use super::pages::list;
use crate::answer::{Answer, Outcome};
use crate::ask;
use crate::ask::replay::Replay;
use crate::call::{Asks, Call, Origin};
use crate::error::{Error, ToolError};
use crate::params::{self, Meta, Params};
use crate::registry::{BoxFuture, List};
use crate::tool::Reply;

/// A request is answered at once, or by a call that may take its time.
pub(crate) enum Routed {
    Now(Outcome),
    Call(Arc<Call>, BoxFuture<Outcome>),
}

impl From<Outcome> for Routed {
    fn from(outcome: Outcome) -> Self {
        Self::Now(outcome)
    }
}

/// Methods of the handshake and of sessions, which [`super::session`] answers itself; they exist
/// in the stateful revisions only.
pub(crate) const STATEFUL_METHODS: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

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

/// Whether any revision has this method.
pub(crate) fn is_known(method: &str) -> bool {
    STATEFUL_METHODS.contains(&method)
        || STATELESS_METHODS.contains(&method)
        || SHARED_METHODS.contains(&method)
}

/// Serves the methods all revisions have.
pub(crate) fn route(method: &str, params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Routed {
    let routed = match method {
        "tools/call" => call_tool(params, meta, origin),
        "resources/read" => read_resource(params, meta, origin),
        "prompts/get" => get_prompt(params, meta, origin),
        "completion/complete" => complete(params, origin),
        "tools/list" => list(List::Tools, params, origin),
        "resources/list" => list(List::Resources, params, origin),
        "resources/templates/list" => list(List::Templates, params, origin),
        "prompts/list" => list(List::Prompts, params, origin),
        _ => Err(Error::MethodNotFound(method.to_owned())),
    };
    routed.unwrap_or_else(|error| Routed::Now(Err(error)))
}

fn call_tool(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Tools, "tools/call")?;
    let name = params::string(params.name, "name")?;
    let arguments = params.arguments_object()?;
    let registry = Arc::clone(&origin.registry);
    let tool = registry
        .tool(&name)
        .ok_or_else(|| Error::invalid_params(format!("Unknown tool: {name}")))?;
    let asks = asks(&origin, "tools/call", &name, arguments, params)?;
    let call = Arc::new(Call::new(
        origin,
        name.into_owned(),
        meta.progress_token()?,
        asks,
    ));
    let reply = caught(
        || (tool.run)(Arc::clone(&call), arguments),
        || ToolError::new("The tool failed because of a mistake in its own code."),
    );
    let log = Arc::clone(&call);
    let outcome = async move {
        let reply = reply.await.unwrap_or_else(|error| {
            match error.cause() {
                Some(cause) => tracing::warn!(tool = log.subject, cause, "{error}"),
                None => tracing::debug!(tool = log.subject, "{error}"),
            }
            Reply::from(error)
        });
        Ok(Answer::Called(reply))
    };
    Ok(Routed::Call(call, Box::pin(outcome)))
}

fn read_resource(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Resources, "resources/read")?;
    let uri = params::string(params.uri, "uri")?;
    let registry = Arc::clone(&origin.registry);
    let Some((read, variables, cache)) = registry.reader(&uri) else {
        return Err(Error::resource_not_found(uri));
    };
    let asks = asks(&origin, "resources/read", &uri, "", params)?;
    let call = Arc::new(Call::new(
        origin,
        uri.into_owned(),
        meta.progress_token()?,
        asks,
    ));
    let contents = caught(|| read(Arc::clone(&call), variables), panicked);
    let subject = Arc::clone(&call);
    let outcome = async move {
        let contents = contents.await?;
        if contents.is_empty() {
            return Err(Error::resource_not_found(subject.subject.as_str()));
        }
        Ok(Answer::Read { contents, cache })
    };
    Ok(Routed::Call(call, Box::pin(outcome)))
}

fn get_prompt(params: &Params<'_>, meta: &Meta<'_>, origin: Origin) -> Result<Routed, Error> {
    offered(&origin, List::Prompts, "prompts/get")?;
    let name = params::string(params.name, "name")?;
    let registry = Arc::clone(&origin.registry);
    let prompt = registry
        .prompt(&name)
        .ok_or_else(|| Error::invalid_params(format!("Unknown prompt: {name}")))?;
    let arguments = params.arguments_strings()?;
    if let Some(missing) = prompt.arguments.iter().find(|argument| {
        argument.required && !arguments.iter().any(|(name, _)| *name == argument.name)
    }) {
        return Err(Error::invalid_params(format!(
            "Missing argument `{}`",
            missing.name
        )));
    }
    let asks = asks(
        &origin,
        "prompts/get",
        &name,
        params.arguments_object()?,
        params,
    )?;
    let call = Arc::new(Call::new(
        origin,
        name.into_owned(),
        meta.progress_token()?,
        asks,
    ));
    let messages = caught(|| (prompt.run)(Arc::clone(&call), arguments), panicked);
    let description = prompt.description.clone();
    let outcome = async move {
        Ok(Answer::Prompted {
            description,
            messages: messages.await?,
        })
    };
    Ok(Routed::Call(call, Box::pin(outcome)))
}

/// How a handler of this request can ask: by requests of ours, or by a state that comes back.
fn asks(
    origin: &Origin,
    method: &'static str,
    subject: &str,
    arguments: &str,
    params: &Params<'_>,
) -> Result<Asks, Error> {
    if let Some(channel) = &origin.back_channel {
        return Ok(Asks::Session(Arc::clone(channel)));
    }
    let registry = &origin.registry;
    let state = match params.request_state {
        None => None,
        state => Some(params::string(state, "requestState")?),
    };
    let identity = || ask::identity(&registry.name, method, subject, arguments);
    let replay = Replay::open(
        &registry.seal,
        state.as_deref(),
        params.input_responses,
        identity,
    )?;
    Ok(Asks::Replay {
        replay: Mutex::new(replay),
        method,
        arguments: arguments.into(),
    })
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
