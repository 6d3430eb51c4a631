//! From a method's name to its answer, or to the handler that will give it.

use std::sync::Arc;

use serde::Deserialize;

use super::caught::caught;
use crate::answer::{Answer, Outcome, Page};
use crate::call::{Call, Origin};
use crate::completion::Completing;
use crate::error::{Error, ToolError};
use crate::params::{self, Meta, Params};
use crate::registry::{BoxFuture, List, Reference, Registry};
use crate::revision::Revision;
use crate::tool::Reply;
use crate::wire;

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
    let call = Arc::new(Call::new(origin, name.into_owned(), meta.progress_token()?));
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
    let call = Arc::new(Call::new(origin, uri.into_owned(), meta.progress_token()?));
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
    let call = Arc::new(Call::new(origin, name.into_owned(), meta.progress_token()?));
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

fn complete(params: &Params<'_>, origin: Origin) -> Result<Routed, Error> {
    let registry = Arc::clone(&origin.registry);
    if registry.completions.is_empty() {
        return Err(Error::MethodNotFound("completion/complete".to_owned()));
    }
    let (reference, argument, typed) = read_completion(params)?;
    if !knows(&registry, &reference) {
        return Err(Error::invalid_params(format!(
            "Unknown reference: {reference:?}"
        )));
    }
    let Some(complete) = registry.completions.get(&(reference, argument.clone())) else {
        // Known, but without suggestions of its own.
        return Ok(Routed::Now(Ok(Answer::Completed(Vec::new()))));
    };
    let call = Arc::new(Call::new(origin, argument, None));
    let values = caught(|| complete(Arc::clone(&call), typed), panicked);
    Ok(Routed::Call(
        call,
        Box::pin(async move { Ok(Answer::Completed(values.await?)) }),
    ))
}

fn read_completion(params: &Params<'_>) -> Result<(Reference, String, Completing), Error> {
    #[derive(Deserialize)]
    #[serde(tag = "type")]
    enum Wire {
        #[serde(rename = "ref/prompt")]
        Prompt { name: String },
        #[serde(rename = "ref/resource")]
        Resource { uri: String },
    }
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    #[derive(Deserialize, Default)]
    struct Chosen {
        #[serde(default)]
        arguments: std::collections::BTreeMap<String, String>,
    }
    let reference = match params::required(params.reference, "ref")? {
        Wire::Prompt { name } => Reference::Prompt(name),
        Wire::Resource { uri } => Reference::Template(uri),
    };
    let argument: Argument = params::required(params.argument, "argument")?;
    let chosen: Chosen = match params.context {
        None => Chosen::default(),
        context => params::required(context, "context")?,
    };
    Ok((
        reference,
        argument.name,
        Completing {
            value: argument.value,
            arguments: chosen.arguments,
        },
    ))
}

fn knows(registry: &Registry, reference: &Reference) -> bool {
    match reference {
        Reference::Prompt(name) => registry.prompt(name).is_some(),
        Reference::Template(uri) => {
            registry
                .templates
                .iter()
                .any(|template| template.text == *uri)
                || registry.reader(uri).is_some()
        }
    }
}

fn list(list: List, params: &Params<'_>, origin: Origin) -> Result<Routed, Error> {
    let method = match list {
        List::Tools => "tools/list",
        List::Resources => "resources/list",
        List::Templates => "resources/templates/list",
        List::Prompts => "prompts/list",
    };
    offered(&origin, list, method)?;
    let after = match params.cursor {
        None => None,
        cursor => Some(open_cursor(
            &origin.registry,
            list,
            &params::string(cursor, "cursor")?,
        )?),
    };
    let fixed = origin.registry.items(list, origin.revision);
    let registry = Arc::clone(&origin.registry);
    let Some(ask) = registry
        .list_resources
        .as_ref()
        .filter(|_| list == List::Resources)
    else {
        return Ok(Routed::Now(page(&registry, list, fixed, after.as_deref())));
    };
    let revision: Revision = origin.revision;
    let call = Arc::new(Call::new(origin, method.to_owned(), None));
    let found = caught(|| ask(Arc::clone(&call), ()), panicked);
    let registry = Arc::clone(&registry);
    let outcome = async move {
        let found = found.await?;
        let mut items = registry.encode_fixed_resources(revision);
        items.extend(
            found
                .iter()
                .map(|resource| wire::resource_item(revision, resource)),
        );
        page(&registry, list, Arc::new(items), after.as_deref())
    };
    Ok(Routed::Call(call, Box::pin(outcome)))
}

fn page(
    registry: &Registry,
    list: List,
    items: Arc<Vec<crate::registry::Item>>,
    after: Option<&str>,
) -> Outcome {
    let start = match after {
        None => 0,
        Some(key) => match items.iter().position(|item| item.key == key) {
            Some(position) => position + 1,
            None => {
                return Err(Error::invalid_params(
                    "The list has changed; start again without a cursor",
                ));
            }
        },
    };
    let end = items.len().min(start + registry.page_size);
    let last = items.get(start..end).and_then(<[_]>::last);
    let next_cursor = match last {
        Some(last) if end < items.len() => Some(
            registry
                .seal
                .seal(cursor_purpose(list), last.key.as_bytes())
                .ok_or_else(|| Error::internal("seal"))?,
        ),
        _ => None,
    };
    Ok(Answer::Page(Page {
        list,
        items,
        range: start..end,
        next_cursor,
        cache: registry.list_cache,
    }))
}

/// A cursor is the sealed key of the last item shown: it stays right when items are added, and
/// any replica with the same key can go on.
fn open_cursor(registry: &Registry, list: List, cursor: &str) -> Result<String, Error> {
    registry
        .seal
        .open(cursor_purpose(list), cursor)
        .and_then(|key| String::from_utf8(key).ok())
        .ok_or_else(|| Error::invalid_params("Invalid cursor"))
}

fn cursor_purpose(list: List) -> &'static str {
    match list {
        List::Tools => "cursor tools",
        List::Resources => "cursor resources",
        List::Templates => "cursor templates",
        List::Prompts => "cursor prompts",
    }
}

fn panicked() -> Error {
    Error::internal("the handler panicked")
}

fn offered(origin: &Origin, list: List, method: &str) -> Result<(), Error> {
    if origin.registry.has_list(list) {
        Ok(())
    } else {
        Err(Error::MethodNotFound(method.to_owned()))
    }
}
