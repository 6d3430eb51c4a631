//! What the model can call, one file for each tool. A tool is an input struct, an output struct and
//! a function; the doc comments are all the description there is.

mod analyze_csv;
mod chart_csv;
mod describe_csv;
mod diff_csv;
mod frequency_csv;
mod group_csv;
mod handoff_csv;
mod join_csv;
mod query_rows;
mod validate_csv;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::{Context, Field, Form, ToolError, ToolResult};

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::backend::{
    Analysis, Backend, Chart, DateOrder, Error, Grouped, Input, Observer, Queried, UncertainMark,
};

pub(crate) use analyze_csv::analyze_csv;
pub(crate) use chart_csv::{ChartCsv, chart_csv};
pub(crate) use describe_csv::describe_csv;
pub(crate) use diff_csv::diff_csv;
pub(crate) use frequency_csv::frequency_csv;
pub(crate) use group_csv::group_csv;
pub(crate) use handoff_csv::handoff_csv;
pub(crate) use join_csv::join_csv;
pub(crate) use query_rows::query_rows;
pub(crate) use validate_csv::validate_csv;

async fn reading<T: Send + 'static>(
    cx: &Context<Backend>,
    deadline_ms: Option<u64>,
    work: impl FnOnce(&Backend, &Watch) -> Result<T, Error> + Send + 'static,
) -> ToolResult<T> {
    Ok(in_turn(cx, deadline_ms, work).await?)
}

/// Said once for all tools, because a model pays for every word.
fn as_in_analyze_csv(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "description": "As in analyze_csv."})
}

/// An answer that may have had to take something for granted that a person knows.
trait Answer: Send + 'static {
    fn uncertain_mark(&self) -> Option<&UncertainMark> {
        None
    }
}

impl Answer for Analysis {
    fn uncertain_mark(&self) -> Option<&UncertainMark> {
        self.uncertain_mark.as_ref()
    }
}

impl Answer for Grouped {
    fn uncertain_mark(&self) -> Option<&UncertainMark> {
        self.uncertain_mark.as_ref()
    }
}

impl Answer for Queried {}
impl Answer for (Chart, Vec<u8>) {}

/// As [`reading`], where a person may know more than the file. Without the order of day and month there
/// is no answer, and the model is told to say which. A mark that may be one of thousands is read as
/// that of decimals where nobody says otherwise, and the answer says so.
async fn asking<R: Send + Sync + 'static, T: Answer>(
    cx: &Context<Backend>,
    file: Input,
    request: R,
    deadline_ms: Option<u64>,
    work: impl Fn(&Backend, &Input, &R, &Watch) -> Result<T, Error> + Copy + Send + 'static,
) -> ToolResult<T> {
    let request = Arc::new(request);
    let attempt = async |file: Input| {
        let request = Arc::clone(&request);
        in_turn(cx, deadline_ms, move |backend, watch| work(backend, &file, &request, watch)).await
    };
    let mut file = file;
    let answer = match attempt(file.clone()).await {
        Err(Error::AmbiguousDates { column }) => match date_order(cx, &column).await {
            Some(order) => {
                file = file.with_dates(order);
                attempt(file.clone()).await?
            }
            None => return Err(Error::AmbiguousDates { column }.into()),
        },
        answer => answer?,
    };
    let Some(uncertain) = answer.uncertain_mark() else {
        return Ok(answer);
    };
    match is_of_thousands(cx, uncertain).await {
        Some(is_of_thousands) => {
            Ok(attempt(file.with_mark(uncertain.mark, is_of_thousands)).await?)
        }
        None => Ok(answer),
    }
}

async fn is_of_thousands(cx: &Context<Backend>, uncertain: &UncertainMark) -> Option<bool> {
    let UncertainMark { column, mark, example } = uncertain;
    let marks = [("decimals", "decimals: 1 and a bit"), ("thousands", "thousands: over 1000")];
    let question =
        format!("What does {mark:?} separate in the numbers of {column:?}, such as {example:?}?");
    let form = Form::new(question).field("separates", Field::titled_choice(marks));
    let answers = cx.elicit("decimal mark", form).await.ok()?.accepted()?;
    match answers.get("separates")?.as_str()? {
        "decimals" => Some(false),
        "thousands" => Some(true),
        _ => None,
    }
}

async fn date_order(cx: &Context<Backend>, column: &str) -> Option<DateOrder> {
    let orders = [("dmy", "the day: 1 February"), ("mdy", "the month: January 2")];
    let form = Form::new(format!("What comes first in the dates of {column:?}, such as 01/02?"))
        .field("first", Field::titled_choice(orders));
    let answers = cx.elicit("date order", form).await.ok()?.accepted()?;
    match answers.get("first")?.as_str()? {
        "dmy" => Some(DateOrder::Dmy),
        "mdy" => Some(DateOrder::Mdy),
        _ => None,
    }
}

/// Reads files on a thread of its own, telling the client how far it is. It waits for its turn.
pub(crate) async fn in_turn<T: Send + 'static>(
    cx: &Context<Backend>,
    deadline_ms: Option<u64>,
    work: impl FnOnce(&Backend, &Watch) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Held by the thread, which goes on for a moment after its call was cancelled.
    let slot = Arc::clone(&cx.state.slots).acquire_owned().await;
    let backend = Arc::clone(&cx.state);
    let deadline = deadline_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    let watch = Watch { cx: cx.clone(), started: Instant::now(), deadline };
    let work = move || {
        let _slot = slot;
        work(&backend, &watch)
    };
    cx.blocking(work).await
}

/// A scan reports to the client that asked for it.
pub(crate) struct Watch {
    cx: Context<Backend>,
    started: Instant,
    deadline: Option<Instant>,
}

impl Observer for Watch {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64) {
        let message = message(bytes_done, bytes_total, rows, self.started.elapsed());
        self.cx.progress(bytes_done, Some(bytes_total), &message);
    }

    fn cancelled(&self) -> bool {
        self.cx.is_cancelled()
    }

    fn out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The rows so far, and how long the rest takes if it is as the part before it.
pub(crate) fn message(bytes_done: u64, bytes_total: u64, rows: u64, elapsed: Duration) -> String {
    if bytes_done >= bytes_total || bytes_done == 0 {
        return format!("{rows} rows");
    }
    let share_left = (bytes_total - bytes_done) as f64 / bytes_done as f64;
    format!("{rows} rows, about {:.0} s left", (elapsed.as_secs_f64() * share_left).ceil())
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Read(cause) => Self::new(text).caused_by(&cause),
            // Nothing is behind these but arguments, which have no place in a log.
            _ => Self::new(text),
        }
    }
}
