//! `completion/complete`: which argument of what is being filled in, and who suggests values.

use std::sync::Arc;

use serde::Deserialize;

use super::caught::caught;
use super::route::{Routed, panicked, start};
use crate::answer::Answer;
use crate::call::{Asks, Beginning, Kind, Origin};
use crate::completion::Completing;
use crate::error::Error;
use crate::params::{self, Meta, Params};
use crate::registry::{Reference, Registry};

pub(super) fn complete(
    params: &Params<'_>,
    meta: &Meta<'_>,
    origin: Origin,
) -> Result<Routed, Error> {
    let registry = Arc::clone(&origin.registry);
    if registry.completions.is_empty() {
        return Err(Error::MethodNotFound("completion/complete".to_owned()));
    }
    let (reference, argument, typed) = read_completion(params)?;
    if !knows(&registry, &reference) {
        return Err(Error::invalid_params(format!("Unknown reference: {reference:?}")));
    }
    let Some(complete) = registry.completions.get(&(reference, argument.clone())) else {
        // Known, but without suggestions of its own.
        return Ok(Routed::Now(Ok(Answer::Completed(Vec::new()))));
    };
    let beginning = Beginning::of(Kind::Completion, argument, "", meta)?;
    Ok(start(origin, beginning, Asks::None, |call| {
        let values = caught(|| complete(call, typed), panicked);
        Box::pin(async move { Ok(Answer::Completed(values.await?)) })
    }))
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
        Completing { value: argument.value, arguments: chosen.arguments },
    ))
}

fn knows(registry: &Registry, reference: &Reference) -> bool {
    match reference {
        Reference::Prompt(name) => registry.prompt(name).is_some(),
        Reference::Template(uri) => {
            registry.templates.iter().any(|template| template.text == *uri)
                || registry.reader(uri).is_some()
        }
    }
}
