//! What the model can call. A tool is an input struct, an output struct and a function; the doc
//! comments are all the description there is.

use std::time::Duration;

use mcp::{Context, Field, Form, Level, Reply, SampleRequest, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Error};

/// The resource that changes while countdowns run.
pub(crate) const COUNTDOWNS: &str = "calculator://countdowns";

/// A result of more digits is shown only to somebody who wants it.
const LONG_RESULT_DIGITS: usize = 30;

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
    Ok(Sum { sum: Backend::sum(input.a, input.b)? })
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

/// Raise a number to a power, with every digit. Asks before it shows a very long result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalculatePower {
    /// The number.
    base: u32,
    /// How often it is multiplied.
    #[schemars(range(max = 1000))]
    exponent: u32,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Power {
    /// All digits; more than a JSON number could hold.
    digits: String,
}

pub(crate) async fn calculate_power(
    cx: Context<Backend>,
    input: CalculatePower,
) -> ToolResult<Power> {
    let digits = Backend::power(input.base, input.exponent);
    if digits.len() > LONG_RESULT_DIGITS {
        let form = Form::new(format!("The result has {} digits. Show it?", digits.len()))
            .field("show", Field::boolean().default(false));
        let answer = cx.elicit("large", form).await?.accepted();
        if answer.and_then(|answer| answer.get("show")?.as_bool()) != Some(true) {
            return Err(ToolError::new("The user does not want to see a result this long."));
        }
    }
    Ok(Power { digits })
}

/// Have the client's model tell what is special about a number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainNumber {
    /// The number.
    number: f64,
}

pub(crate) async fn explain_number(
    cx: Context<Backend>,
    input: ExplainNumber,
) -> ToolResult<Reply> {
    let question = format!("In one sentence: what is special about {}?", input.number);
    let answer = cx.sample("special", SampleRequest::new(200).user(question)).await?;
    Ok(Reply::text(answer.text()))
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::new(error.to_string())
    }
}
