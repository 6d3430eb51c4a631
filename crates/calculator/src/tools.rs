//! What the model can call. A tool is an input struct, an output struct and a function; the doc
//! comments are all the description there is.

use std::time::Duration;

use mcp::{Context, Level, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Error};

/// The resource that changes while countdowns run.
pub(crate) const COUNTDOWNS: &str = "calculator://countdowns";

/// Add two numbers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalculateSum {
    /// First number.
    a: f64,
    /// Second number.
    b: f64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Sum {
    /// a + b.
    sum: f64,
}

pub(crate) async fn calculate_sum(_: Context<Backend>, input: CalculateSum) -> ToolResult<Sum> {
    Ok(Sum {
        sum: Backend::sum(input.a, input.b)?,
    })
}

/// Count down to zero, reporting progress at every tick.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Countdown {
    /// How many ticks.
    #[schemars(range(min = 1, max = 3600))]
    from: u32,
    /// Milliseconds between two ticks.
    #[serde(default = "default_tick_ms")]
    #[schemars(range(min = 1, max = 1000))]
    tick_ms: u64,
}

fn default_tick_ms() -> u64 {
    1000
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Ticks {
    /// How many ticks there were.
    ticks: u32,
}

pub(crate) async fn countdown(cx: Context<Backend>, input: Countdown) -> ToolResult<Ticks> {
    // Dropped at the end, or when the client cancels and this function is dropped half-way.
    let _running = cx.state.start_countdown(input.from, {
        let changes = cx.changes().clone();
        move || changes.resource_updated(COUNTDOWNS)
    })?;
    cx.log(Level::Info, format!("counting down from {}", input.from));
    for tick in 1..=input.from {
        tokio::time::sleep(Duration::from_millis(input.tick_ms)).await;
        cx.progress(tick.into(), Some(input.from.into()), "tick");
    }
    cx.log(Level::Info, "countdown finished");
    Ok(Ticks { ticks: input.from })
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::new(error.to_string())
    }
}
