//! `execute_command`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp::{Context, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::owner;
use super::report::Report;
use crate::backend::{Backend, Input, Job, Request};

/// When the client first hears of progress, and how often from then on.
const FIRST_PROGRESS: Duration = Duration::from_millis(200);
const PROGRESS: Duration = Duration::from_secs(1);

/// Run one program with arguments and return what it printed. There is no shell: no redirections,
/// globs or variables; each argument reaches the program as it is. describe_policy tells what may
/// be run. Nothing the program starts outlives it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteCommand {
    /// Name of the program, for example `git`.
    command: String,
    /// Its arguments, one each.
    #[serde(default)]
    args: Vec<String>,
    /// More programs, each reading what the one before it prints.
    #[serde(default)]
    pipeline: Vec<Piped>,
    /// Directory to run in, absolute or from the first root; that root if left out.
    #[serde(default)]
    cwd: Option<String>,
    /// Variables to set, of those the policy allows.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Standard input; empty if left out.
    #[serde(default)]
    stdin: Option<String>,
    /// Keep standard input open for write_stdin instead.
    #[serde(default)]
    open_stdin: bool,
    /// Milliseconds until it is ended.
    #[serde(default)]
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// Return after this many milliseconds although it still runs; it goes on as a job.
    #[serde(default = "default_yield_ms")]
    #[schemars(range(max = 50_000))]
    yield_ms: u64,
    /// Return at once and let it go on as a job.
    #[serde(default)]
    background: bool,
    /// Run it on a terminal of 80 columns, for programs that behave differently there.
    #[serde(default)]
    tty: bool,
    /// Longest text to return of each stream; of a longer one the start and the end.
    #[serde(default = "default_output_bytes")]
    #[schemars(range(min = 256, max = 1_000_000))]
    max_output_bytes: usize,
    /// Put standard error into standard output, in the order of printing.
    #[serde(default)]
    merge_stderr: bool,
}

/// A program of a pipeline.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Piped {
    command: String,
    #[serde(default)]
    args: Vec<String>,
}

fn default_output_bytes() -> usize {
    32 * 1024
}

/// Below the time a call may take.
fn default_yield_ms() -> u64 {
    50_000
}

pub(crate) async fn execute_command(
    cx: Context<Backend>,
    input: ExecuteCommand,
) -> ToolResult<Report> {
    let input_for_it = match (input.stdin, input.open_stdin) {
        (Some(_), true) => {
            return Err(ToolError::new("Give `stdin` or `open_stdin`, not both."));
        }
        (Some(text), false) => Input::Given(text.into_bytes()),
        (None, true) => Input::Open,
        (None, false) => Input::Nothing,
    };
    let rest = input.pipeline.into_iter().map(|piped| (piped.command, piped.args));
    let request = Request {
        owner: owner(&cx),
        commands: std::iter::once((input.command, input.args)).chain(rest).collect(),
        cwd: input.cwd,
        env: input.env,
        input: input_for_it,
        timeout: input.timeout_ms.map(Duration::from_millis),
        merge_stderr: input.merge_stderr,
        tty: input.tty,
    };
    let job = cx.state.begin(request).await?;
    // Dropped when the client cancels, and with it the program.
    let stop = StopWhenDropped(Some(Arc::clone(&job)));
    job.begun().await;
    if !input.background {
        let wait = Duration::from_millis(input.yield_ms);
        let _still_running = tokio::time::timeout(wait, watch(&cx, &job)).await;
    }
    let report = Report::of(&cx.state, &job, input.max_output_bytes);
    stop.let_it_run();
    report
}

/// Waits for the end and tells the client how far it is.
pub(super) async fn watch(cx: &Context<Backend>, job: &Job) {
    let ended = job.ended();
    tokio::pin!(ended);
    let mut pause = FIRST_PROGRESS;
    loop {
        tokio::select! {
            _ = &mut ended => return,
            () = tokio::time::sleep(pause) => {
                pause = PROGRESS;
                let printed = job.stdout.totals();
                cx.progress(printed.bytes, None, &cx.state.last_line(&job.stdout));
            }
        }
    }
}

/// Ends a call nobody waits for any more.
struct StopWhenDropped(Option<Arc<Job>>);

impl StopWhenDropped {
    fn let_it_run(mut self) {
        self.0 = None;
    }
}

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.stop();
        }
    }
}
