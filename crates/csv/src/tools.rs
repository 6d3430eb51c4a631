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

use crate::backend::{Backend, DateOrder, Error, Input, Observer};

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

/// As [`reading`], for one file. Where the answer hangs on the order of day and month and nothing in
/// the file tells it, the person is asked; without an answer the model is told to say which.
async fn asking<R: Send + Sync + 'static, T: Send + 'static>(
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
    let retried = file.clone();
    let column = match attempt(file).await {
        Err(Error::AmbiguousDates { column }) => column,
        answer => return Ok(answer?),
    };
    match date_order(cx, &column).await {
        Some(order) => Ok(attempt(retried.with_dates(order)).await?),
        None => Err(Error::AmbiguousDates { column }.into()),
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
