//! What can be done with a command that runs as a job, and with the output of one that has ended.

use std::sync::Arc;
use std::time::Duration;

use mcp::{Context, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::execute::watch;
use super::owner;
use super::report::{Report, SameReport, Status, status};
use crate::backend::{Backend, Cleaned, Job, SignalName, Stream};

/// List your commands that run as jobs, and the last ones that have ended. Oldest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListJobs {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobList {
    jobs: Vec<JobLine>,
}

#[derive(Serialize, JsonSchema)]
struct JobLine {
    job_id: String,
    /// The command line, shortened.
    command: String,
    status: Status,
    /// Since it was started.
    age_ms: u64,
    stdout_bytes: u64,
}

pub(crate) async fn list_jobs(cx: Context<Backend>, _: ListJobs) -> ToolResult<JobList> {
    let lines = cx.state.jobs(&owner(&cx)).into_iter().map(|job| JobLine {
        job_id: job.id.clone(),
        command: job.title.clone(),
        status: status(job.end().as_ref()),
        age_ms: u64::try_from(job.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        stdout_bytes: job.stdout.totals().bytes,
    });
    Ok(JobList { jobs: lines.collect() })
}

/// Read a part of what a job has printed: from a byte on, or its last lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadOutput {
    job_id: String,
    #[serde(default)]
    stream: StreamName,
    /// First byte wanted.
    #[serde(default)]
    offset_bytes: u64,
    /// Only this many lines from the end instead.
    #[serde(default)]
    #[schemars(range(min = 1))]
    tail_lines: Option<usize>,
    /// Only lines that hold this text.
    #[serde(default)]
    contains: Option<String>,
    /// Longest text to return.
    #[serde(default = "default_output_bytes")]
    #[schemars(range(min = 256, max = 1_000_000))]
    max_output_bytes: usize,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StreamName {
    #[default]
    Stdout,
    Stderr,
}

fn default_output_bytes() -> usize {
    32 * 1024
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OutputPart {
    text: String,
    /// Where it begins.
    offset_bytes: u64,
    /// Where to go on.
    next_offset_bytes: u64,
    total_bytes: u64,
    /// Nothing will be added.
    ended: bool,
    /// What was made harmless, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleaned: Option<Cleaned>,
}

pub(crate) async fn read_output(cx: Context<Backend>, input: ReadOutput) -> ToolResult<OutputPart> {
    let job = cx.state.job(&input.job_id, &owner(&cx))?;
    let name = match input.stream {
        StreamName::Stdout => "stdout",
        StreamName::Stderr => "stderr",
    };
    let no_stream = || ToolError::new("Its standard error is in its standard output.");
    let stream = job.stream(name).ok_or_else(no_stream)?;
    let state = Arc::clone(&cx.state);
    let part = cx.blocking(move || part(&state, &stream, &input)).await;
    Ok(part)
}

fn part(backend: &Backend, stream: &Stream, input: &ReadOutput) -> OutputPart {
    let totals = stream.totals();
    let offset = match input.tail_lines {
        Some(lines) => stream.start_of_last_lines(lines, input.max_output_bytes),
        None => input.offset_bytes,
    };
    let page = match &input.contains {
        Some(wanted) => backend.search(stream, offset, wanted, input.max_output_bytes),
        None => backend.page(stream, offset, input.max_output_bytes),
    };
    OutputPart {
        text: page.text,
        offset_bytes: page.offset,
        next_offset_bytes: page.next_offset,
        total_bytes: totals.bytes,
        ended: totals.ended,
        cleaned: (page.cleaned != Cleaned::default()).then_some(page.cleaned),
    }
}

/// Wait until a job has ended, or has printed something. Returns as execute_command does.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    job_id: String,
    /// Return once its standard output holds this text.
    #[serde(default)]
    until: Option<String>,
    /// Return after this many milliseconds whatever happens.
    #[serde(default = "default_wait_ms")]
    #[schemars(range(max = 50_000))]
    timeout_ms: u64,
    /// Longest text to return of each stream; of a longer one the start and the end.
    #[serde(default = "default_output_bytes")]
    #[schemars(range(min = 256, max = 1_000_000))]
    max_output_bytes: usize,
}

/// Below the time a call may take.
fn default_wait_ms() -> u64 {
    50_000
}

pub(crate) async fn wait(cx: Context<Backend>, input: Wait) -> ToolResult<SameReport> {
    let job = cx.state.job(&input.job_id, &owner(&cx))?;
    let wanted = input.until.as_deref();
    let event = async {
        tokio::select! {
            () = watch(&cx, &job) => {}
            () = printed(&job, wanted) => {}
        }
    };
    let _still_running = tokio::time::timeout(Duration::from_millis(input.timeout_ms), event).await;
    Ok(SameReport(Report::of(&cx.state, &job, input.max_output_bytes)?))
}

async fn printed(job: &Job, wanted: Option<&str>) {
    match wanted {
        Some(text) => job.stdout.holds(text.as_bytes()).await,
        None => std::future::pending().await,
    }
}

/// Give a job that was started with `open_stdin` more input.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteStdin {
    job_id: String,
    /// The text, line breaks included.
    #[serde(default)]
    data: String,
    /// This is the end of the input.
    #[serde(default)]
    eof: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Written {
    written_bytes: usize,
}

pub(crate) async fn write_stdin(cx: Context<Backend>, input: WriteStdin) -> ToolResult<Written> {
    let job = cx.state.job(&input.job_id, &owner(&cx))?;
    let written_bytes = input.data.len();
    job.write(input.data.into_bytes(), input.eof).await?;
    Ok(Written { written_bytes })
}

/// Send a signal to a job. Once its program has ended, so does everything it has started.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendSignal {
    job_id: String,
    #[serde(default)]
    signal: SignalName,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Sent {
    /// As it was just before.
    status: Status,
}

pub(crate) async fn signal(cx: Context<Backend>, input: SendSignal) -> ToolResult<Sent> {
    let job = cx.state.job(&input.job_id, &owner(&cx))?;
    let status = status(job.end().as_ref());
    job.signal(input.signal)?;
    Ok(Sent { status })
}
