//! The four lists, page by page.

use std::sync::Arc;

use super::caught::caught;
use super::route::{Routed, offered, panicked, start};
use crate::answer::{Answer, Outcome, Page};
use crate::call::{Asks, Beginning, Kind, Origin};
use crate::error::Error;
use crate::params::{self, Meta, Params};
use crate::registry::{Item, List, Registry};
use crate::wire;

pub(super) fn list(
    list: List,
    params: &Params<'_>,
    meta: &Meta<'_>,
    origin: Origin,
) -> Result<Routed, Error> {
    let method = match list {
        List::Tools => "tools/list",
        List::Resources => "resources/list",
        List::Templates => "resources/templates/list",
        List::Prompts => "prompts/list",
    };
    offered(&origin, list, method)?;
    let after = match params.cursor {
        None => None,
        cursor => Some(open_cursor(&origin.registry, list, &params::string(cursor, "cursor")?)?),
    };
    let revision = origin.revision;
    let registry = Arc::clone(&origin.registry);
    let Some(ask) = registry.list_resources.as_ref().filter(|_| list == List::Resources) else {
        let fixed = registry.items(list, revision);
        return Ok(Routed::Now(page(&registry, list, fixed, after.as_deref())));
    };
    let beginning = Beginning::of(Kind::List, method.to_owned(), "", meta)?;
    Ok(start(origin, beginning, Asks::None, |call| {
        let found = caught(|| ask(call, ()), panicked);
        let registry = Arc::clone(&registry);
        Box::pin(async move {
            let found = found.await?;
            let mut items = registry.encode_fixed_resources(revision);
            items.extend(found.iter().map(|resource| wire::resource_item(revision, resource)));
            page(&registry, list, Arc::new(items), after.as_deref())
        })
    }))
}

fn page(registry: &Registry, list: List, items: Arc<Vec<Item>>, after: Option<&str>) -> Outcome {
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
