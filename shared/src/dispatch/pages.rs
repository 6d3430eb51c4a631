//! The four lists, page by page.

use std::sync::Arc;

use super::caught::caught;
use super::route::{Routed, offered, panicked, start};
use crate::answer::{Answer, Outcome, Page};
use crate::call::{Asks, Beginning, Kind, Origin};
use crate::error::Error;
use crate::params::{self, Meta, Params};
use crate::principal::Principal;
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
    let revision = origin.revision;
    let registry = Arc::clone(&origin.registry);
    let purpose = cursor_purpose(method, origin.principal.as_deref());
    let after = match params.cursor {
        None => None,
        cursor => Some(open_cursor(&registry, &purpose, &params::string(cursor, "cursor")?)?),
    };
    let pages = Pages { list, purpose, after };
    let Some(ask) = registry.list_resources.as_ref().filter(|_| list == List::Resources) else {
        let fixed = registry.items(list, revision);
        return Ok(Routed::Now(pages.page(&registry, fixed)));
    };
    let beginning = Beginning::of(Kind::List, method.to_owned(), "", meta)?;
    Ok(start(origin, beginning, Asks::None, |call| {
        let found = caught(|| ask(call, ()), panicked);
        let registry = Arc::clone(&registry);
        Box::pin(async move {
            let found = found.await?;
            let mut items = registry.encode_fixed_resources(revision);
            items.extend(found.iter().map(|resource| wire::resource_item(revision, resource)));
            pages.page(&registry, Arc::new(items))
        })
    }))
}

/// One walk through a list: which, what its cursors are sealed for, and the last item shown.
struct Pages {
    list: List,
    purpose: String,
    after: Option<String>,
}

impl Pages {
    fn page(&self, registry: &Registry, items: Arc<Vec<Item>>) -> Outcome {
        let start = match &self.after {
            None => 0,
            Some(key) => match items.iter().position(|item| item.key == *key) {
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
                    .seal(&self.purpose, last.key.as_bytes())
                    .ok_or_else(|| Error::internal("seal"))?,
            ),
            _ => None,
        };
        Ok(Answer::Page(Page {
            list: self.list,
            items,
            range: start..end,
            next_cursor,
            cache: registry.list_cache,
        }))
    }
}

/// A cursor is the sealed key of the last item shown: it stays right when items are added, and
/// any replica with the same key can go on.
pub(super) fn open_cursor(
    registry: &Registry,
    purpose: &str,
    cursor: &str,
) -> Result<String, Error> {
    let key = registry.seal.open(purpose, cursor).and_then(|key| String::from_utf8(key).ok());
    key.ok_or_else(|| Error::invalid_params("Invalid cursor"))
}

/// A cursor is good for one list, and for whom it was given to.
pub(super) fn cursor_purpose(method: &str, principal: Option<&Principal>) -> String {
    match principal {
        None => format!("cursor {method}"),
        Some(principal) => format!("cursor {method} of {}", principal.name),
    }
}
