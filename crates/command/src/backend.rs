//! Runs programs so that nothing of them is left. Knows nothing of MCP.
//!
//! Reading order: `policy` and `arguments` (what may be run), `programs` and `places` (which files
//! and where), `plan` (a decision and what is run), `job` (a call as the server sees it), `wire`
//! (what is said to what owns its processes), `unix` or `windows` (that owner, and everything else
//! systems do differently); `stream`, `text` and `view` (what was printed), `probe` (the self-test),
//! `own` (this binary's other parts), `record` (the operator's log).

mod errors;
mod policy;
mod arguments;
mod programs;
mod places;
mod protect;
mod plan;
mod guarantees;
mod job;
mod jobs;
mod record;
mod ends;
mod wire;
mod own;
mod stream;
mod text;
mod view;
mod probe;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
pub(crate) mod windows_names;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

pub(crate) use errors::Error;
pub(crate) use guarantees::Guarantees;
pub(crate) use job::{Ended, How, Input, Job, SignalName};
pub(crate) use jobs::Owner;
pub(crate) use own::Part;
#[cfg(all(test, unix))]
pub(crate) use places::loaders;
pub(crate) use plan::Decision;
pub(crate) use policy::{Class, Policy};
pub(crate) use stream::Stream;
pub(crate) use system::PATH;
pub(crate) use text::{Cleaned, Secrets, clean};
pub(crate) use view::{Page, View};
pub(crate) use wire::{Exit, Failure, Limit};

use job::{Kept, Start};
use jobs::{Jobs, Waiting};
use places::{Roots, System};
use plan::Decider;
use probe::Proved;
use programs::Programs;
use protect::Protected;
use record::Record;
use system::Helpers;
use wire::{Ahead, Limits, Task};

/// Of what one process may write into a file.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// Of a pipeline.
const MAX_STAGES: usize = 16;

/// Variables and their values.
type Env = Vec<(String, String)>;

/// What to do where the kernel cannot confine a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SandboxMode {
    /// Confine nothing
    Off,
    /// Confine as far as the kernel can, and say in each result how far that is
    BestEffort,
    /// Run nothing that is not confined, and do not start if the self-test fails
    Required,
}

/// What an operator decides.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) policy: Option<PathBuf>,
    pub(crate) command_log: Option<PathBuf>,
    pub(crate) also_readable: Vec<PathBuf>,
    pub(crate) path: String,
    pub(crate) sandbox: SandboxMode,
    pub(crate) default_timeout: Duration,
    pub(crate) max_timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) max_running: usize,
    pub(crate) max_waiting: usize,
    pub(crate) max_processes: u64,
    pub(crate) max_memory_bytes: u64,
    pub(crate) max_output_bytes: u64,
}

/// What a model asks for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) owner: Owner,
    /// Program and arguments; several are a pipeline.
    pub(crate) commands: Vec<(String, Vec<String>)>,
    pub(crate) cwd: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) input: Input,
    pub(crate) timeout: Option<Duration>,
    pub(crate) merge_stderr: bool,
    pub(crate) tty: bool,
}

pub(crate) struct Backend {
    decider: Decider,
    protected: Arc<Protected>,
    jobs: Jobs,
    helpers: Arc<Helpers>,
    secrets: Secrets,
    record: Option<Arc<Record>>,
    sandbox: SandboxMode,
    proved: OnceCell<Proved>,
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
    default_timeout: Duration,
    max_timeout: Duration,
    max_output_bytes: u64,
    limits: Limits,
    /// Asking for it takes a while.
    processors: u64,
}

/// Plays another part than the server's, if that is what this process was started for.
pub(crate) fn run_as_helper() -> Option<ExitCode> {
    own::part().map(Part::play)
}

impl Backend {
    /// Fails on anything an operator got wrong, so that it shows at start-up.
    pub(crate) fn open(settings: &Settings) -> Result<Self, Error> {
        let roots = Roots::open(&settings.roots)?;
        let policy = Policy::load(settings.policy.as_deref())?;
        let log = settings.command_log.as_ref();
        let record = log.map(|path| Record::open(path, &policy.digest)).transpose()?;
        for path in settings.policy.iter().chain(&settings.command_log) {
            if roots.holds(&system::canonicalize(path).unwrap_or_else(|_| path.clone())) {
                return Err(Error::OwnFileInRoot { path: path.clone() });
            }
        }
        let mut named = policy.programs.values().filter_map(|program| program.path.as_ref());
        named.try_for_each(|path| programs::check_place(path, &roots))?;
        tracing::info!("policy {}", policy.digest);
        // What is run must not find this process's environment under its number.
        system::hide_from_others();
        let system = System::find(&settings.also_readable);
        let programs = Programs::search(&settings.path, &roots);
        let decider = Decider { policy, programs, roots, system };
        let least = decider.least_confinement();
        let ahead = Ahead {
            max_processes: settings.max_processes,
            confinement: (settings.sandbox != SandboxMode::Off).then_some(least),
            scratch: PathBuf::new(),
        };
        let proved = OnceCell::new();
        if settings.sandbox == SandboxMode::Required {
            let found = probe::run_now(&ahead, &decider.least_confinement())?;
            let missing = found.missing(decider.policy.lets_write()).join(", ");
            if !missing.is_empty() {
                return Err(Error::NotProved { missing });
            }
            proved.set(found).ok();
        }
        Ok(Self {
            protected: Protected::new(decider.policy.protect.clone()),
            decider,
            jobs: Jobs::default(),
            helpers: Helpers::new(ahead),
            secrets: Secrets::of(std::env::vars_os().filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            })),
            record,
            sandbox: settings.sandbox,
            proved,
            running: Arc::new(Semaphore::new(settings.max_running.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            max_waiting: settings.max_waiting,
            default_timeout: settings.default_timeout.min(settings.max_timeout),
            max_timeout: settings.max_timeout,
            max_output_bytes: settings.max_output_bytes,
            processors: std::thread::available_parallelism().map_or(1, |it| it.get() as u64),
            limits: Limits {
                grace_ms: u64::try_from(settings.grace.as_millis()).unwrap_or(u64::MAX),
                cpu_secs: 0,
                file_bytes: MAX_FILE_BYTES,
                max_processes: settings.max_processes,
                max_memory_bytes: settings.max_memory_bytes,
            },
        })
    }

    /// Decides about a command without running it.
    pub(crate) fn decide(
        &self,
        command: &str,
        args: &[String],
        cwd: Option<&str>,
    ) -> Result<Decision, Error> {
        self.decider.decide(command, args, &self.decider.roots.directory(cwd)?)
    }

    /// Starts what is asked for, when it is its turn.
    pub(crate) async fn begin(&self, request: Request) -> Result<Arc<Job>, Error> {
        let cwd = self.decider.roots.directory(request.cwd.as_deref())?;
        let (decisions, env) = self.decide_all(&request, &cwd).inspect_err(|refusal| {
            if let Some(record) = &self.record {
                record.refused(&request.commands, &refusal.to_string());
            }
        })?;
        let proved = self.proved().await;
        let turn = self.turn().await?;
        let helper = self.helpers.take()?;
        let timeout = request.timeout.unwrap_or(self.default_timeout).min(self.max_timeout);
        let roots = self.writable(&decisions);
        let (mounts, held) = self.protected.hold(roots)?;
        let task = self.task(&decisions, &env, &cwd, helper.scratch(), timeout, request.tty);
        let scratch = (!roots.is_empty()).then(|| helper.scratch().to_owned());
        let writable = roots.iter().cloned().chain(scratch).collect();
        let task = Task { writable, mounts, placeholders: held.paths().to_vec(), ..task };
        let start = Start {
            id: self.jobs.new_id(&request.owner)?,
            owner: request.owner,
            title: jobs::title(&request.commands),
            decisions,
            cwd,
            proved,
            helper,
            task,
            input: request.input,
            merge_stderr: request.merge_stderr,
            timeout,
            max_output_bytes: self.max_output_bytes,
            kept: Kept { _held: held, _turn: turn },
        };
        let job = Job::start(start).await?;
        self.jobs.add(&job);
        if let Some(record) = &self.record {
            record.follow(&job, self.guarantees(proved, Some(&job)));
        }
        // Nothing may be awaited from here on: a caller that goes away must have the job to stop.
        Ok(job)
    }

    fn decide_all(&self, request: &Request, cwd: &Path) -> Result<(Vec<Decision>, Env), Error> {
        if request.commands.is_empty() || request.commands.len() > MAX_STAGES {
            return Err(Error::PipelineLength { max: MAX_STAGES });
        }
        if request.tty && !system::HAS_TERMINALS {
            return Err(Error::NoTerminal);
        }
        let env = self.decider.variables(&request.env)?;
        let decide =
            |(command, args): &(String, Vec<String>)| self.decider.decide(command, args, cwd);
        Ok((request.commands.iter().map(decide).collect::<Result<_, _>>()?, env))
    }

    /// The roots, for a call that may write in them and must not write elsewhere.
    fn writable(&self, decisions: &[Decision]) -> &[PathBuf] {
        let writes = decisions.iter().any(|decision| decision.class.writes());
        let confines = self.sandbox != SandboxMode::Off;
        if writes && confines && system::CAN_PROTECT { self.roots() } else { &[] }
    }

    fn task(
        &self,
        decisions: &[Decision],
        env: &[(String, String)],
        cwd: &Path,
        scratch: &Path,
        timeout: Duration,
        tty: bool,
    ) -> Task {
        let confine = self.sandbox != SandboxMode::Off;
        let stages = decisions.iter();
        let stages =
            stages.map(|decision| self.decider.stage(decision, env, scratch, confine, tty));
        // A program cannot use more than all processors for all of its time.
        let cpu_secs = timeout.as_secs().saturating_add(2).saturating_mul(self.processors);
        Task {
            stages: stages.collect(),
            cwd: cwd.to_owned(),
            limits: Limits { cpu_secs, ..self.limits },
            writable: Vec::new(),
            mounts: Vec::new(),
            placeholders: Vec::new(),
            tty,
            must_confine: self.sandbox == SandboxMode::Required,
        }
    }

    /// First come, first served.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        let waiting = Waiting::enter(&self.waiting);
        if waiting.before >= self.max_waiting {
            return Err(Error::Busy { waiting: waiting.before });
        }
        let permit = Arc::clone(&self.running).acquire_owned().await;
        permit.map_err(|_| Error::Busy { waiting: 0 })
    }

    /// What the self-test has proved; it runs once, when it is first needed.
    pub(crate) async fn proved(&self) -> Proved {
        let run = || async { probe::run(&self.helpers, &self.decider.least_confinement()).await };
        *self.proved.get_or_init(run).await
    }

    /// For a call, or for any program that is granted nothing.
    pub(crate) fn guarantees(&self, proved: Proved, job: Option<&Job>) -> Guarantees {
        Guarantees::of(self.sandbox, proved, job)
    }

    /// Somebody else's is not there.
    pub(crate) fn job(&self, id: &str, owner: &Owner) -> Result<Arc<Job>, Error> {
        self.jobs.get(id, owner).ok_or_else(|| Error::NoJob { id: id.to_owned() })
    }

    /// Oldest first.
    pub(crate) fn jobs(&self, owner: &Owner) -> Vec<Arc<Job>> {
        self.jobs.of(owner)
    }

    /// Ends what nobody can ask for any more. What belongs to a principal is there for its other
    /// sessions.
    pub(crate) fn end_session(&self, session: u64) {
        self.jobs.end(&Owner::Session(session));
    }

    /// Some bytes of a stream as text, how many there are, and where they begin.
    pub(crate) fn page(&self, stream: &Stream, offset: u64, max_bytes: usize) -> Page {
        view::page(stream, offset, max_bytes, &self.secrets)
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.decider.policy
    }

    pub(crate) fn roots(&self) -> &[PathBuf] {
        self.decider.roots.all()
    }

    /// The text of a stream within a budget.
    pub(crate) fn view(&self, stream: &Stream, max_bytes: usize) -> View {
        view::view(stream, max_bytes, &self.secrets)
    }

    /// The lines of a stream, from a byte on, that hold a text.
    pub(crate) fn search(&self, from: &Stream, offset: u64, text: &str, max_bytes: usize) -> Page {
        view::search(from, offset, text, max_bytes, &self.secrets)
    }

    /// The bytes as text, if there is nothing in them that must be shown differently, or not at
    /// all.
    pub(crate) fn harmless(&self, bytes: &[u8]) -> Option<String> {
        let (text, cleaned) = clean(bytes, &self.secrets);
        let untouched = cleaned == Cleaned::default() && text.as_bytes() == bytes;
        (untouched || cleaned.secrets > 0).then_some(text)
    }

    /// What a stream ends with at the moment.
    pub(crate) fn last_line(&self, stream: &Stream) -> String {
        view::last_line(stream, &self.secrets)
    }
}
