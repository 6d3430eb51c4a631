//! What a client can read by URI.

use mcp::{Completing, Context, Error, ResourceContents, ResourceResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;

pub(crate) const TIMES_TABLE: &str = "calculator://times-table/{number}";

pub(crate) async fn countdowns(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    ResourceContents::json(cx.subject(), &cx.state.countdowns())
}

/// The first ten multiples of a number from 1 to 100.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct TimesTable {
    /// Which number.
    number: u32,
}

pub(crate) async fn times_table(
    cx: Context<Backend>,
    input: TimesTable,
) -> ResourceResult<ResourceContents> {
    let table = Backend::times_table(input.number)
        .ok_or_else(|| Error::resource_not_found(cx.subject()))?;
    Ok(ResourceContents::text(cx.subject(), "text/plain", table))
}

pub(crate) async fn complete_number(
    _: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    Ok(typed.filter(Backend::TIMES_TABLES.map(|number| number.to_string())))
}
