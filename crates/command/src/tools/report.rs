//! What the model is told about a command: data, and the same as a text that reads well.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcp::{Output, Reply, Schema, ToolError, ToolResult, WithText};
use schemars::JsonSchema;
use serde::Serialize;

use crate::backend::{
    Backend, Cleaned, Ended, Error, Exit, Failure, Guarantees, How, Job, Limit, View,
};

/// A result with its text. It is an error if the command was cut off.
pub(crate) struct Report {
    data: CommandResult,
    text: String,
    is_error: bool,
}

/// How a command went.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct CommandResult {
    status: Status,
    /// Of the last program.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that ended the last program.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// How each program of a pipeline ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pipeline: Vec<Exit>,
    /// For read_output and its like.
    job_id: String,
    duration_ms: u64,
    /// Of all processes together.
    cpu_ms: u64,
    /// Of the largest process.
    max_rss_bytes: u64,
    /// Processes that had to be ended.
    killed_processes: u64,
    stdout: Printed,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<Printed>,
    /// What was run.
    program: String,
    args: Vec<String>,
    cwd: String,
    /// The entry of the policy that allowed it.
    rule: String,
    /// What held; describe_policy tells what each means.
    #[schemars(with = "BTreeMap<String, String>")]
    sandbox: Guarantees,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Exited,
    Signaled,
    TimedOut,
    /// Somebody stopped it.
    Stopped,
    TooManyProcesses,
    TooMuchMemory,
    Lost,
    Running,
}

/// What came on one stream.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Printed {
    /// All of it, or its start.
    head: String,
    /// Its end, if something is left out between.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(default)]
    tail: String,
    total_bytes: u64,
    total_lines: u64,
    omitted_bytes: u64,
    /// Where all of it is, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    /// What was made harmless, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleaned: Option<Cleaned>,
}

impl Report {
    /// What is known of a job now; the text of each stream is at most `max_bytes` long.
    pub(super) fn of(backend: &Backend, job: &Job, max_bytes: usize) -> ToolResult<Self> {
        let ended = job.end();
        if let Some(Ended { how: How::NotStarted { stage, kind, reason }, .. }) = &ended {
            return Err(not_started(job, *stage, *kind, reason).into());
        }
        let status = status(ended.as_ref());
        let exits = ended.as_ref().map(|ended| ended.exits.as_slice()).unwrap_or_default();
        let (exit_code, signal) = numbers(exits.last());
        let shown = |name: &str, view: View| Printed::new(job, name, view, status);
        let stderr = job.stderr.as_ref().map(|it| shown("stderr", backend.view(it, max_bytes)));
        let last = job.decisions.last();
        let duration = ended.as_ref().map_or_else(|| job.started.elapsed(), |it| it.duration);
        let data = CommandResult {
            status,
            exit_code,
            signal,
            pipeline: if exits.len() > 1 { exits.to_vec() } else { Vec::new() },
            job_id: job.id.clone(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            cpu_ms: ended.as_ref().map_or(0, |ended| ended.cpu_ms),
            max_rss_bytes: ended.as_ref().map_or(0, |ended| ended.max_rss_bytes),
            killed_processes: ended.as_ref().map_or(0, |ended| ended.killed),
            stdout: shown("stdout", backend.view(&job.stdout, max_bytes)),
            stderr,
            program: last.map_or_else(String::new, |it| it.found.path.display().to_string()),
            args: last.map_or_else(Vec::new, |it| it.args.clone()),
            cwd: job.cwd.display().to_string(),
            rule: last.map_or_else(String::new, |it| it.rule.clone()),
            sandbox: backend.guarantees(job.proved, Some(job)),
        };
        let cut_off = !matches!(
            status,
            Status::Exited | Status::Signaled | Status::Stopped | Status::Running
        );
        Ok(Self { text: text(&data), data, is_error: cut_off })
    }
}

impl Output for Report {
    fn schema() -> Option<Schema> {
        <CommandResult as Output>::schema()
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        let reply = WithText { data: self.data, text: self.text }.into_reply()?;
        Ok(if self.is_error { reply.failed() } else { reply })
    }
}

/// The same from another tool. A model pays for every schema it is shown, so this one is not shown
/// again.
pub(crate) struct SameReport(pub(super) Report);

impl Output for SameReport {
    fn schema() -> Option<Schema> {
        None
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        self.0.into_reply()
    }
}

impl Printed {
    fn new(job: &Job, name: &str, view: View, status: Status) -> Self {
        let is_whole = view.omitted_bytes == 0 && status != Status::Running;
        Self {
            head: view.head,
            tail: view.tail,
            total_bytes: view.total_bytes,
            total_lines: view.total_lines,
            omitted_bytes: view.omitted_bytes,
            resource: (!is_whole).then(|| format!("command://jobs/{}/{name}", job.id)),
            cleaned: (view.cleaned != Cleaned::default()).then_some(view.cleaned),
        }
    }
}

fn numbers(exit: Option<&Exit>) -> (Option<i32>, Option<i32>) {
    match exit {
        Some(Exit::Code(code)) => (Some(*code), None),
        Some(Exit::Signal(signal)) => (None, Some(*signal)),
        Some(Exit::Unknown) | None => (None, None),
    }
}

pub(super) fn status(ended: Option<&Ended>) -> Status {
    let Some(ended) = ended else { return Status::Running };
    match &ended.how {
        How::Done if matches!(ended.exits.last(), Some(Exit::Signal(_))) => Status::Signaled,
        How::Done => Status::Exited,
        How::TimedOut => Status::TimedOut,
        How::Stopped => Status::Stopped,
        How::Over(Limit::Processes) => Status::TooManyProcesses,
        How::Over(Limit::Memory) => Status::TooMuchMemory,
        How::Lost | How::NotStarted { .. } => Status::Lost,
    }
}

fn not_started(job: &Job, stage: usize, kind: Failure, reason: &str) -> Error {
    let name = job.decisions.get(stage).map(|it| it.name.clone()).unwrap_or_default();
    match kind {
        Failure::NotFound => Error::NotFound { name },
        Failure::ArgumentsTooLong => Error::TooLong,
        Failure::NotConfined => Error::NotConfined,
        Failure::NotPermitted | Failure::Other => Error::Start { name, reason: reason.to_owned() },
    }
}

fn text(data: &CommandResult) -> String {
    let seconds = data.duration_ms / 1000;
    let millis = data.duration_ms % 1000;
    let after = format!("{seconds}.{millis:03} s");
    let mut text = match (data.status, data.exit_code, data.signal) {
        (Status::Exited, Some(code), _) => format!("exit {code} after {after}"),
        (Status::Signaled, _, Some(signal)) => format!("ended by signal {signal} after {after}"),
        (Status::TimedOut, ..) => format!("timed out after {after}, and was ended"),
        (Status::Stopped, ..) => format!("stopped after {after}"),
        (Status::TooManyProcesses, ..) => format!("killed after {after}: too many processes"),
        (Status::TooMuchMemory, ..) => format!("killed after {after}: too much memory"),
        (Status::Running, ..) => {
            format!("job {} is running, for {} s so far", data.job_id, data.duration_ms / 1000)
        }
        _ => format!("lost after {after}"),
    };
    text.push('\n');
    show(&mut text, "stdout", &data.stdout);
    if let Some(stderr) = &data.stderr {
        show(&mut text, "stderr", stderr);
    }
    text
}

fn show(text: &mut String, name: &str, printed: &Printed) {
    if printed.total_bytes == 0 {
        return;
    }
    let _infallible = writeln!(text, "[{name}: {} bytes]", printed.total_bytes);
    text.push_str(&printed.head);
    if printed.omitted_bytes > 0 {
        let _infallible =
            writeln!(text, "\n[{} bytes left out; read_output has them]", printed.omitted_bytes);
        text.push_str(&printed.tail);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
}
